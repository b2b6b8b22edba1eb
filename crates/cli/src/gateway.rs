//! The gateway as `serve` runs it: servers from the command line or a file, one endpoint, and a log on standard error.

mod access;
mod pages;
mod reload;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context as _;
use toolcrib::engine::trace::SpanSink;
use toolcrib::{BoundServer, Server, ServerBuilder, Tls, TrustedProxies};
use toolcrib_gateway::config::{Pins, ProcessEnvironment};
use toolcrib_gateway::telemetry::{Exporter, Settings};
use toolcrib_gateway::{Config, Drift, Gateway, Prefixing, Source};
use toolcrib_upstream::oauth::OAuth;
use toolcrib_upstream::{Spec, Transport};

use crate::Outcome;
use crate::exit::{Exit, Failure, print};
use crate::gateway::pages::Pages;
use crate::gateway::reload::Running;
use crate::log::Log;
use crate::progress::{Beside, Progress};
use crate::safe::Safe;
use crate::serve::{ADDRESS, Args, bind, signatures, stop};
use crate::terminal::counted;
use crate::toolsets::Toolsets;

/// Maximum wait for the servers' first tool lists before serving over stdio.
const STDIO_PATIENCE: Duration = Duration::from_secs(10);

/// Maximum wait before the greeting is printed; clients are served meanwhile.
const GREETING_PATIENCE: Duration = Duration::from_secs(60);

/// Interval between updates of the start-up progress.
const PROGRESS_LOOK: Duration = Duration::from_millis(100);

/// Maximum worker threads that serve connections.
const THREADS_MAX: usize = 16;

/// Maximum tools listed in the greeting.
const SHOWN_TOOLS_MAX: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Prefix {
    Always,
    Never,
}

/// Starts the span exporter if the file or the environment names a collector.
fn exporter(config: &Config) -> anyhow::Result<Option<Arc<Exporter>>> {
    let settings = Settings::read(config.otlp_endpoint.as_deref(), &ProcessEnvironment)?;
    Ok(settings.map(Exporter::start).transpose()?)
}

pub(crate) async fn run(args: &Args, config: Config, safe: &Safe) -> Outcome {
    let internal = |error: std::io::Error| Failure::new(Exit::Internal, error);
    let _log = log_to_stderr(args.log_json).map_err(internal)?;
    let usage = |error: anyhow::Error| Failure::new(Exit::Usage, error);
    reload::warn_of_two_policies(args, &config);
    let spans = exporter(&config).map_err(usage)?;
    let server = front(&config, &args.toolsets, |builder| {
        let builder =
            builder.options(|options| options.spans = spans.clone().map(|spans| spans as Arc<dyn SpanSink>));
        if args.bridge { builder } else { safe.apply(builder) }
    })?;
    let pages = Arc::new(Pages::new(server.engine().clone(), spans.clone()));
    let drift = config.pins.as_ref().map(pinned).transpose()?;
    // The address is bound first: no server is started if it is taken.
    let mut porter = None;
    let bound = match args.stdio {
        true => None,
        false => {
            let listen = args.listen.as_deref().or(config.listen.as_deref()).unwrap_or(ADDRESS);
            let (options, asks) = access::options(&config, safe.http(listen), &pages).map_err(usage)?;
            porter = Some(asks);
            let bound = bind(&server, listen, options).await?;
            Some(secured(bound, &config).map_err(usage)?)
        }
    };
    let gateway = Gateway::start_pinned(server.engine().clone(), config.sources.clone(), drift)
        .map_err(|error| usage(error.into()))?;
    pages.set_gateway(&gateway);
    let running = Running {
        args: args.clone(),
        engine: server.engine().clone(),
        gateway: gateway.clone(),
        pages,
        porter,
    };
    let reloading = args.config.is_some().then(|| tokio::spawn(running.follow(config)));
    match bound {
        None => {
            settled(&gateway, STDIO_PATIENCE).await;
            tokio::select! {
                served = server.serve_stdio() => served.map_err(internal)?,
                () = stop() => {}
            }
        }
        Some(bound) => {
            let origin = bound.origin().map_err(internal)?;
            let kept = safe.greeting(&origin).await?;
            let stop = stop();
            let greeting = tokio::spawn(greet(gateway.clone(), server.clone(), origin, kept));
            let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            bound.on_threads(threads.min(THREADS_MAX)).serve(stop).await.map_err(internal)?;
            greeting.abort();
        }
    }
    if let Some(reloading) = reloading {
        reloading.abort();
    }
    gateway.stop().await;
    if let Some(spans) = spans {
        spans.flush().await;
    }
    Ok(Exit::Nothing)
}

/// Applies the file's settings for TLS, HTTP/2 and reverse proxies.
fn secured(bound: BoundServer, config: &Config) -> anyhow::Result<BoundServer> {
    let peers = config.trusted_proxies.clone();
    let proxies = TrustedProxies::new(peers.networks, peers.unix);
    let bound = bound.http2_prior_knowledge(config.http2).trusted_proxies(proxies);
    match &config.tls {
        None => Ok(bound),
        Some(files) => Ok(bound.tls(Tls::load(&files.cert, &files.key).context("[tls]")?)),
    }
}

async fn greet(gateway: Arc<Gateway>, server: Server, origin: String, kept: String) {
    let url = format!("{origin}/mcp");
    settled(&gateway, GREETING_PATIENCE).await;
    let mut text = format!("toolcrib serves at {url}\n\n");
    for status in gateway.status() {
        let revision = status.revision.map(|revision| format!(", MCP {revision}")).unwrap_or_default();
        let reason = status.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        text.push_str(&format!(
            "  {:<20} {}{revision}, {}{reason}\n",
            status.name,
            status.state,
            counted(status.tools, "tool")
        ));
        for one in status.quarantined {
            text.push_str(&format!("    quarantined: {}: {}\n", one.tool, one.reason));
        }
    }
    let signatures = signatures(&server);
    let shown: Vec<&str> = signatures.lines().take(SHOWN_TOOLS_MAX).collect();
    text.push_str(&format!("\n{}\n", shown.join("\n")));
    if let Some(more) = signatures.lines().count().checked_sub(SHOWN_TOOLS_MAX).filter(|more| *more > 0) {
        text.push_str(&format!("  and {more} more\n"));
    }
    text.push_str(&format!("\n{kept}\nconnect\n{}\nstop with Ctrl-C\n", crate::greeting::lines(&url)));
    // A closed pipe is no error.
    let _ = print(&text);
}

/// Waits for the servers' first tool lists and shows progress.
async fn settled(gateway: &Gateway, patience: Duration) {
    let progress = Progress::new("starting servers", gateway.status().len());
    let (done, _) = progress.counters();
    let mut all = pin!(gateway.settled(patience));
    while tokio::time::timeout(PROGRESS_LOOK, &mut all).await.is_err() {
        let status = gateway.status();
        let waiting: Vec<&str> =
            status.iter().filter(|one| one.state == "starting").map(|one| one.name.as_str()).collect();
        progress.at(waiting.first().copied().unwrap_or_default());
        done.store(status.len().saturating_sub(waiting.len()), Ordering::Relaxed);
    }
}

/// Builds the gateway's own server for a configuration. Starts no upstream server.
pub(crate) fn front(
    config: &Config,
    toolsets: &Toolsets,
    safe: impl FnOnce(ServerBuilder) -> ServerBuilder,
) -> Result<Server, Failure> {
    let builder = Server::builder("toolcrib", env!("CARGO_PKG_VERSION"))
        .options(|options| (options.offers_prompts, options.offers_resources) = (true, true))
        .options(|options| config.select(&mut options.toolsets));
    let server =
        toolsets.apply(safe(builder))?.build().map_err(|error| Failure::new(Exit::Internal, error))?;
    crate::toolsets::check(&server)?;
    Ok(server)
}

/// Loads the lock that the servers are compared with.
pub(crate) fn pinned(pins: &Pins) -> Result<Drift, Failure> {
    Ok(Drift::new(crate::lock::load(&pins.lock)?, pins.classes))
}

/// Returns the configuration of the command line or its file. Starts nothing.
pub(crate) fn config(args: &Args) -> Result<Config, Failure> {
    let mut config = named(args).map_err(|error| Failure::new(Exit::Usage, error))?;
    config.keep_tokens_in(&args.data.tokens()?);
    Ok(config)
}

fn named(args: &Args) -> anyhow::Result<Config> {
    if let Some(path) = &args.config {
        let prefixing = match args.prefix {
            None => Prefixing::Default,
            Some(Prefix::Always) => Prefixing::Always,
            Some(Prefix::Never) => Prefixing::Never,
        };
        return Ok(Config::load(path, prefixing, &ProcessEnvironment)?);
    }
    let spec = match &args.url {
        Some(url) => {
            let mut spec = Spec::url("server", url);
            // `toolcrib auth URL` stores the tokens under the URL, not under the name.
            if let Transport::Http(endpoint) = &mut spec.transport {
                let known_as = Some(url.clone());
                endpoint.oauth = Some(OAuth { known_as, is_implicit: true, ..OAuth::default() });
            }
            spec
        }
        None => {
            Spec::command("server", &args.command).ok_or_else(|| anyhow::anyhow!("no command to start"))?
        }
    };
    let source = Source::new(spec, args.prefix == Some(Prefix::Always));
    Ok(Config { sources: vec![source], ..Config::default() })
}

/// Starts the log; what is left of it is written when the returned value is dropped.
fn log_to_stderr(json: bool) -> std::io::Result<Log> {
    let log = Log::start(Beside)?;
    let lines = log.lines();
    let builder = tracing_subscriber::fmt().with_writer(move || lines.clone()).with_max_level(level());
    // Fails only if a subscriber is already set, which nothing does before.
    let _ = if json { builder.json().try_init() } else { builder.with_ansi(false).try_init() };
    Ok(log)
}

/// Returns the log level of `TOOLCRIB_LOG`: error, warn, info, debug or trace; info by default.
fn level() -> tracing_subscriber::filter::LevelFilter {
    let wanted = std::env::var("TOOLCRIB_LOG").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(tracing_subscriber::filter::LevelFilter::INFO)
}
