//! `toolcrib serve`: the demonstration tools at one endpoint, for every client from 2024 to 2026.

use toolcrib::HttpOptions;

use crate::exit::{Exit, Failure, print};
use crate::toolsets::Toolsets;
use crate::{Outcome, demonstration};

const ADDRESS: &str = "127.0.0.1:7420";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address to listen at.
    #[arg(long, default_value = ADDRESS)]
    listen: String,
    /// Serve standard input and output instead, for clients that start commands.
    #[arg(long)]
    stdio: bool,
    #[command(flatten)]
    toolsets: Toolsets,
}

impl Default for Args {
    fn default() -> Self {
        Self { listen: ADDRESS.to_owned(), stdio: false, toolsets: Toolsets::default() }
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let internal = |error: std::io::Error| Failure::new(Exit::Internal, error);
    let runtime = tokio::runtime::Runtime::new().map_err(internal)?;
    runtime.block_on(async {
        let server = demonstration::server(&args.toolsets)?;
        if args.stdio {
            server.serve_stdio().await.map_err(internal)?;
            return Ok(Exit::Nothing);
        }
        let bound = server.bind_http(&args.listen, HttpOptions::default()).await.map_err(|error| {
            let error = anyhow::Error::new(error).context(format!("cannot listen at {}", args.listen));
            Failure::new(Exit::Usage, error).hint("choose another address with --listen, such as 127.0.0.1:0")
        })?;
        let address = bound.address().map_err(internal)?;
        print(&greeting(&server, &format!("http://{address}/mcp")))?;
        bound.serve(stop()).await.map_err(internal)?;
        Ok(Exit::Nothing)
    })
}

fn greeting(server: &toolcrib::Server, url: &str) -> String {
    let mut text = format!("toolcrib serves at {url}\n\n");
    for entry in server.list(&toolcrib::Filter::default()) {
        let contract = entry.contract();
        let signature = toolcrib_contract::signature(contract.definition());
        text.push_str(&format!("  {:<12} {signature}\n", crate::show::badge(contract.effect())));
    }
    text.push_str(&format!(
        "\nconnect a client: claude mcp add --transport http toolcrib {url}\nstop with Ctrl-C\n"
    ));
    text
}

async fn stop() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        },
        Err(_) => {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}
