//! wrk from Debian's packages as the client: a widely used load generator, in a process of its own. wrk keeps its
//! connections open, reads every answer whole, and sends the next request after each answer. Each request has a new id.

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

pub(crate) struct Wrk {
    script: PathBuf,
    url: String,
    connections: usize,
}

impl Wrk {
    /// Calls over HTTPS, without verifying the certificate.
    pub(crate) fn secure(to: SocketAddr, connections: usize, params: &Value) -> Result<Self> {
        let mut wrk = Self::new(to, connections, params)?;
        wrk.url = format!("https://{to}/mcp");
        Ok(wrk)
    }

    pub(crate) fn new(to: SocketAddr, connections: usize, params: &Value) -> Result<Self> {
        let (head, body) = request(to, Speaks::Modern, "tools/call", params);
        let script = std::env::temp_dir().join(format!("toolcrib-bench-wrk-{}-{to}.lua", std::process::id()));
        let head = Value::String(head);
        let parts: Vec<String> =
            body.parts().iter().map(|part| Value::from(part.as_str()).to_string()).collect();
        let parts = parts.join(", ");
        // Each thread has its own range of ids, below those that Lua would print with an exponent. The head and the
        // parts are written as JSON strings, which Lua reads.
        let text = format!(
            "local threads = 0\n\
             function setup(thread) threads = threads + 1; thread:set('id', threads * 1000000000) end\n\
             local head, parts = {head}, {{{parts}}}\n\
             function request()\n  \
               id = id + 1\n  \
               local body = table.concat(parts, id)\n  \
               return head .. 'Content-Length: ' .. #body .. '\\r\\n\\r\\n' .. body\n\
             end\n\
             function done(summary)\n  \
               local e = summary.errors\n  \
               local wrong = e.connect + e.read + e.write + e.status + e.timeout\n  \
               io.write(string.format('done %d %d %d\\n', summary.requests, summary.duration, wrong))\n\
             end\n"
        );
        std::fs::write(&script, text)?;
        Ok(Self { script, url: format!("http://{to}/mcp"), connections })
    }

    #[allow(clippy::panic, reason = "a server that fails under load has lost; there is nothing to measure")]
    pub(crate) fn run(&self, given: Duration) -> Done {
        self.try_run(given).unwrap_or_else(|error| panic!("the server failed under load: {error:#}"))
    }

    fn try_run(&self, given: Duration) -> Result<Done> {
        let output = Command::new("wrk")
            .args([
                format!("-t{THREADS}"),
                format!("-c{}", self.connections),
                format!("-d{}s", given.as_secs()),
            ])
            .arg("-s")
            .arg(&self.script)
            .arg(&self.url)
            .output()
            .context("wrk (apt-get install wrk)")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let last = text.lines().find_map(|line| line.strip_prefix("done "));
        let numbers = last.with_context(|| format!("wrk says no end: {text}"))?;
        let numbers: Vec<u64> = numbers.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let [calls, microseconds, wrong] = numbers[..] else { anyhow::bail!("wrk says {numbers:?}") };
        ensure!(wrong == 0 && calls > 0, "{wrong} of {calls} calls failed");
        Ok(Done { things: calls as f64, time: Duration::from_micros(microseconds) })
    }
}

impl Drop for Wrk {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.script);
    }
}
