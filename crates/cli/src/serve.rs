//! `toolcrib serve`: serves upstream servers, or the demonstration tools if none is named, at one endpoint, with gate,
//! emergency stop and audit.

use std::path::PathBuf;

use toolcrib::{HttpOptions, Server};

use crate::data::Data;
use crate::demonstration::{self, Subject};
use crate::exit::{Exit, Failure, print};
use crate::gateway::{self, Prefix};
use crate::safe::{self, Safe};
use crate::toolsets::Toolsets;
use crate::{Outcome, greeting};

pub(crate) const ADDRESS: &str = "127.0.0.1:7420";

#[derive(Debug, Default, Clone, clap::Args)]
pub(crate) struct Args {
    /// The URL of one MCP server to serve.
    #[arg(conflicts_with_all = ["config", "command"])]
    pub(crate) url: Option<String>,
    /// The servers to stand in front of: toolcrib.toml, or an mcpServers, VS Code or Codex file as it is.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub(crate) config: Option<PathBuf>,
    /// The address to listen at, or unix:PATH [default: 127.0.0.1:7420]. Any but loopback and unix sockets asks every
    /// client for a credential.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Serve standard input and output instead, for clients that start commands.
    #[arg(long)]
    pub(crate) stdio: bool,
    /// Whether tools carry their server's name [default: always with a file, never with one server].
    #[arg(long, value_enum)]
    pub(crate) prefix: Option<Prefix>,
    /// Log lines as JSON.
    #[arg(long)]
    pub(crate) log_json: bool,
    /// A file whose section `safety` says which calls have to be confirmed, instead of that of the configuration.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// The server at the URL is a toolcrib itself: gate, stop and audit are its own, and are not put before it twice.
    #[arg(long, requires_all = ["url", "stdio"])]
    pub(crate) bridge: bool,
    /// Demonstration server to serve if no server is named.
    #[arg(long, value_enum, hide = true, default_value_t = Subject::Desk)]
    pub(crate) demo: Subject,
    /// A command that starts one MCP server over stdio, to serve it.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    #[command(flatten)]
    pub(crate) data: Data,
    #[command(flatten)]
    pub(crate) toolsets: Toolsets,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let internal = |error: std::io::Error| Failure::new(Exit::Internal, error);
    let runtime = runtime(args).map_err(internal)?;
    let is_gateway = args.url.is_some() || args.config.is_some() || !args.command.is_empty();
    let config = is_gateway.then(|| gateway::config(args)).transpose()?;
    let section = config.as_ref().and_then(|config| config.safety.as_ref());
    let safe = Safe::open(&args.data, safe::policy(args.policy.as_deref(), section)?, &runtime)?;
    let served = runtime.block_on(async {
        if let Some(config) = config {
            return gateway::run(args, config, &safe).await;
        }
        let server = demonstration::server(args.demo, &args.toolsets, Some(&safe))?;
        if args.stdio {
            server.serve_stdio().await.map_err(internal)?;
            return Ok(Exit::Nothing);
        }
        let listen = args.listen.as_deref().unwrap_or(ADDRESS);
        let bound = bind(&server, listen, safe.http(listen)).await?;
        let origin = bound.origin().map_err(internal)?;
        let kept = safe.greeting(&origin).await?;
        let stop = stop();
        print(&greeting::text(&server, &origin, &kept).await)?;
        bound.serve(stop).await.map_err(internal)?;
        Ok(Exit::Nothing)
    });
    safe.close(&runtime);
    served
}

/// Returns a single-threaded runtime for stdio: one client's calls would cost less than handing them between threads.
fn runtime(args: &Args) -> std::io::Result<tokio::runtime::Runtime> {
    match args.stdio {
        true => tokio::runtime::Builder::new_current_thread().enable_all().build(),
        false => tokio::runtime::Runtime::new(),
    }
}

pub(crate) async fn bind(
    server: &Server,
    listen: &str,
    options: HttpOptions,
) -> Result<toolcrib::BoundServer, Failure> {
    server.bind_http(listen, options).await.map_err(|error| {
        let error = anyhow::Error::new(error).context(format!("cannot listen at {listen}"));
        Failure::new(Exit::Usage, error).hint("choose another address with --listen, such as 127.0.0.1:0")
    })
}

pub(crate) fn signatures(server: &Server) -> String {
    let (mut text, style) = (String::new(), crate::terminal::Style::of_stdout());
    let own = server.list(&toolcrib::Filter::default());
    for entry in own.iter().filter(|entry| entry.meta().is_none() && entry.safety().is_none()) {
        let contract = entry.contract();
        let signature = toolcrib_contract::signature(contract.definition());
        text.push_str(&format!("  {} {signature}\n", style.badge(contract.effect())));
    }
    text
}

/// Resolves at SIGINT or SIGTERM. The SIGTERM handler is installed at the call, so that none is missed after the
/// greeting.
pub(crate) fn stop() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let terminate = signal(SignalKind::terminate());
    async move {
        match terminate {
            Ok(mut terminate) => tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            },
            Err(_) => {
                let _ = tokio::signal::ctrl_c().await;
            }
        }
    }
}
