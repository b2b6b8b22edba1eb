//! The gateway with its checks, without log, gate and audit. `bench safety` measures the cost of gate and audit.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use toolcrib::{HttpOptions, Server};
use toolcrib_gateway::{Gateway, Source};
use toolcrib_upstream::Spec;

/// Worker threads: one per core of the machine of the published figures.
const THREADS: usize = 2;
/// Call deadline of the hostile second server, in milliseconds.
const BAD_MS_MAX: u64 = 500;
const PATIENCE: Duration = Duration::from_secs(60);

/// Serves over stdio in front of a command.
pub(crate) async fn serve_stdio(command: &[String]) -> Result<()> {
    let server = Server::new("gateway", "1.0.0")?;
    let gateway = Gateway::start(server.engine().clone(), commands(command)?)?;
    ready(&gateway).await?;
    Ok(server.serve_stdio().await?)
}

/// Returns as many sources of one command as the first word says.
fn commands(words: &[String]) -> Result<Vec<Source>> {
    let (count, words) = words.split_first().context("a number and a command")?;
    let count: usize = count.parse().context("how many servers")?;
    let prefixed = count > 1;
    Ok((0..count)
        .filter_map(|number| Spec::command(&format!("s{number}"), words))
        .map(|spec| Source::new(spec, prefixed))
        .collect())
}

async fn ready(gateway: &Gateway) -> Result<()> {
    gateway.settled(PATIENCE).await;
    for status in gateway.status() {
        anyhow::ensure!(status.state == "ready", "{status:?}");
    }
    Ok(())
}

pub(crate) async fn serve(
    url: Option<&str>,
    command: &[String],
    announce: impl FnOnce(SocketAddr) -> std::io::Result<()>,
) -> Result<()> {
    let server = Server::new("gateway", "1.0.0")?;
    let sources = match url {
        Some(urls) => {
            let (url, bad) = urls.split_once(',').map_or((urls, None), |(url, bad)| (url, Some(bad)));
            let bad = bad.map(|bad| {
                let mut spec = Spec::url("bad", bad);
                spec.call_ms_max = BAD_MS_MAX;
                Source::new(spec, true)
            });
            std::iter::once(Source::new(Spec::url("server", url), false)).chain(bad).collect()
        }
        None => commands(command)?,
    };
    let bound = server.bind_http("127.0.0.1:0", HttpOptions::default()).await?;
    let gateway = Gateway::start(server.engine().clone(), sources)?;
    ready(&gateway).await?;
    announce(bound.address()?)?;
    Ok(bound.on_threads(THREADS).serve(std::future::pending()).await?)
}
