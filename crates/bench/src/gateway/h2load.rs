//! h2load from Debian's package `nghttp2-client`: an HTTP/2 client that repeats one request.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::race::Done;
use crate::serving::{Speaks, request};

/// Client threads: one per core of the machine of the published figures.
const THREADS: usize = 2;

pub(crate) struct H2Load {
    body: PathBuf,
    headers: Vec<String>,
    url: String,
    connections: usize,
    streams: usize,
}

impl H2Load {
    pub(crate) fn new(to: SocketAddr, connections: usize, streams: usize, params: &Value) -> Result<Self> {
        let (head, body) = request(to, Speaks::Modern, "tools/call", params);
        let file = std::env::temp_dir().join(format!("toolcrib-bench-h2-{}-{to}", std::process::id()));
        std::fs::write(&file, body.with(1))?;
        let headers =
            head.lines().skip(1).filter(|line| !line.starts_with("Host:")).map(ToOwned::to_owned).collect();
        Ok(Self { body: file, headers, url: format!("https://{to}/mcp"), connections, streams })
    }

    #[allow(clippy::panic, reason = "a server that fails under load has lost; there is nothing to measure")]
    pub(crate) fn run(&self, given: Duration) -> Done {
        self.try_run(given).unwrap_or_else(|error| panic!("the server failed under load: {error:#}"))
    }

    fn try_run(&self, given: Duration) -> Result<Done> {
        let mut command = Command::new("h2load");
        command.args([
            format!("-t{THREADS}"),
            format!("-c{}", self.connections),
            format!("-m{}", self.streams),
            format!("-D{}", given.as_secs()),
        ]);
        for header in &self.headers {
            command.arg("-H").arg(header);
        }
        let output = command
            .arg("-d")
            .arg(&self.body)
            .arg(&self.url)
            .output()
            .context("h2load (apt-get install nghttp2-client)")?;
        let text = String::from_utf8_lossy(&output.stdout);
        // "requests: 9 total, 9 started, 9 done, 9 succeeded, 0 failed, 0 errored, 0 timeout"
        let counts = text.lines().find_map(|line| line.strip_prefix("requests: "));
        let counts = counts.with_context(|| format!("h2load says no end: {text}"))?;
        let count = |name: &str| {
            let part = counts.split(", ").find_map(|part| part.strip_suffix(name));
            part.and_then(|part| part.trim().parse::<f64>().ok()).context("an unreadable count")
        };
        let (succeeded, failed) = (count("succeeded")?, count("failed")?);
        ensure!(failed == 0.0 && succeeded > 0.0, "h2load says {counts}");
        Ok(Done { things: succeeded, time: given })
    }
}

impl Drop for H2Load {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.body);
    }
}
