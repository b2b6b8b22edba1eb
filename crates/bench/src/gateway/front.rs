//! The gateway with its checks, without a log and without gate and audit, whose cost `bench safety` measures.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use toolcrib::{HttpOptions, Server};
use toolcrib_gateway::{Gateway, Source};
use toolcrib_upstream::Spec;

/// As many as the machine of the published figures has.
const THREADS: usize = 2;
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn serve(
    url: Option<&str>,
    command: &[String],
    announce: impl FnOnce(SocketAddr) -> std::io::Result<()>,
) -> Result<()> {
    let server = Server::new("gateway", "1.0.0")?;
    let sources = match (url, command.split_first()) {
        (Some(url), None) => vec![Source::new(Spec::url("server", url), false)],
        (None, Some((count, words))) => {
            let count: usize = count.parse().context("how many servers")?;
            let prefixed = count > 1;
            (0..count)
                .filter_map(|number| Spec::command(&format!("s{number}"), words))
                .map(|spec| Source::new(spec, prefixed))
                .collect()
        }
        _ => anyhow::bail!("either a URL or a number and a command"),
    };
    let bound = server.bind_http("127.0.0.1:0", HttpOptions::default()).await?;
    let gateway = Gateway::start(server.engine().clone(), sources)?;
    gateway.settled(PATIENCE).await;
    for status in gateway.status() {
        anyhow::ensure!(status.state == "ready", "{status:?}");
    }
    announce(bound.address()?)?;
    Ok(bound.on_threads(THREADS).serve(std::future::pending()).await?)
}
