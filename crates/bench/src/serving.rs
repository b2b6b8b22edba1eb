//! `tools/call` of an echo with input and output validation, and `tools/list` of 200 tools, over HTTP, against the same
//! tools on rmcp's own server, which validates nothing. Both get the same requests from the same client; each is a
//! process of its own with the same number of threads. Also prints the memory of idle legacy sessions.

pub(crate) mod client;
mod ours;
pub(crate) mod process;
mod sessions;
mod theirs;

use std::io::Write;
use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::race::{Claim, Effort, Race};
pub(crate) use client::{Connection, ID, Load, Speaks, header, request};
pub(crate) use process::{Server, cpu_seconds, resident_kib};

/// Threads of each server.
const WORKERS: usize = 2;
/// Number of tools besides the echo.
pub(crate) const TOOLS: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Which {
    Ours,
    /// rmcp's server in its fastest form: no sessions.
    Theirs,
    /// rmcp's server with a session for every legacy client, as ours has.
    TheirsSessions,
    /// The author's server over stdin and stdout.
    OursStdio,
    /// A server that answers everything from prepared bytes, and with the recorded answers of a file.
    Canned,
    /// A server of 10,000 tools.
    Many,
    /// The gateway in front of a URL, or of a command.
    Gateway,
    /// The gateway in front of a command, over stdin and stdout.
    GatewayStdio,
    /// A hostile server; the argument `url` names its behaviour.
    Hostile,
    /// A proxy made of the official SDK's client and server.
    RmcpProxy,
    /// A read-only echo without gate, journal and audit.
    Plain,
    /// A read-only echo with gate, journal and audit on.
    Watched,
}

/// Input and output schema of the echo.
pub(crate) fn echo_schema() -> Value {
    json!({"type": "object", "properties": {
        "text": {"type": "string", "maxLength": 1000},
        "count": {"type": "integer", "minimum": 0, "maximum": 100},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
        "mode": {"type": "string", "enum": ["plain", "loud"]}
    }, "required": ["text", "count"], "additionalProperties": false})
}

/// Name, description and input schema of a listed tool, about as long as a large public server's median definition.
pub(crate) fn listed(number: usize) -> (String, String, Value) {
    let description = format!(
        "Tool number {number}: reads the records of one department and returns those that match, newest first, with their \
         authors, their state and the links between them. Use it before any other tool of this group."
    );
    let property = |text: &str| json!({"type": "string", "description": text});
    let schema = json!({"type": "object", "properties": {
        "department": property("The department whose records are read, by its short name"),
        "query": property("Words that a record must contain, in any order"),
        "state": {"type": "string", "enum": ["open", "closed", "all"], "description": "Which records count"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many records at most"}
    }, "required": ["department"], "additionalProperties": false});
    (format!("tool_{number:03}"), description, schema)
}

pub(crate) fn serve(which: Which, url: Option<&str>, command: &[String]) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    let announce = |address: SocketAddr| -> std::io::Result<()> {
        let mut out = std::io::stdout();
        writeln!(out, "{address}")?;
        out.flush()
    };
    match which {
        Which::Ours => runtime.block_on(ours::serve(announce)),
        Which::Theirs => runtime.block_on(theirs::serve(announce, false)),
        Which::TheirsSessions => runtime.block_on(theirs::serve(announce, true)),
        Which::OursStdio => runtime.block_on(ours::serve_stdio()),
        Which::Canned => runtime.block_on(crate::gateway::canned::serve(url, announce)),
        Which::Many => runtime.block_on(ours::serve_many(announce)),
        Which::Gateway => runtime.block_on(crate::gateway::front::serve(url, command, announce)),
        Which::GatewayStdio => {
            let single = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            single.block_on(crate::gateway::front::serve_stdio(command))
        }
        Which::Hostile => crate::gateway::hostile::serve(url, announce),
        Which::RmcpProxy => runtime.block_on(crate::gateway::rmcp_proxy::serve(url, announce)),
        Which::Plain => runtime.block_on(crate::safety::serve(announce, false)),
        Which::Watched => runtime.block_on(crate::safety::serve(announce, true)),
    }
}

pub(crate) fn run(effort: Effort) -> Result<bool> {
    let effort = effort.steady();
    let theirs = Server::start(Which::Theirs)?;
    let ours = Server::start(Which::Ours)?;
    let mut holds = true;
    for speaks in [Speaks::Modern, Speaks::Legacy] {
        for connections in [16, 64] {
            holds &= Cell::call(speaks, connections).run(&theirs, &ours, effort)?;
            holds &= Cell::list(speaks, connections).run(&theirs, &ours, effort)?;
        }
    }
    drop((theirs, ours));
    sessions::run()?;
    Ok(holds)
}

/// One kind of request, measured on both servers in turns.
struct Cell {
    title: String,
    speaks: Speaks,
    connections: usize,
    method: &'static str,
    params: Value,
    /// Minimum of our throughput, as a multiple of theirs.
    least: f64,
    right: fn(&Value) -> bool,
}

fn arguments() -> Value {
    json!({"text": "hello", "count": 3, "tags": ["a", "b"], "mode": "plain"})
}

impl Cell {
    fn call(speaks: Speaks, connections: usize) -> Self {
        Self {
            title: format!(
                "tools/call of an echo, {}, {connections} connections; ours checks arguments and answer",
                speaks.name()
            ),
            speaks,
            connections,
            method: "tools/call",
            params: json!({"name": "echo", "arguments": arguments()}),
            least: 1.5,
            right: |result| result.get("structuredContent") == Some(&arguments()),
        }
    }

    fn list(speaks: Speaks, connections: usize) -> Self {
        Self {
            title: format!("tools/list of {TOOLS} tools, {}, {connections} connections", speaks.name()),
            speaks,
            connections,
            method: "tools/list",
            params: json!({}),
            least: 5.0,
            right: |result| {
                result.get("tools").and_then(Value::as_array).is_some_and(|tools| tools.len() == TOOLS + 1)
            },
        }
    }

    fn run(&self, theirs: &Server, ours: &Server, effort: Effort) -> Result<bool> {
        let load = |server: &Server, name: &str| -> Result<Load> {
            let mut load =
                Load::new(server.address, self.connections, self.speaks, self.method, &self.params)?;
            load.check(self.right).with_context(|| format!("{name}: {}", self.title))?;
            Ok(load)
        };
        let (mut their_load, mut our_load) = (load(theirs, "rmcp")?, load(ours, "toolcrib")?);
        let so_far = |server: &Server, load: &Load| -> Result<(f64, f64)> {
            Ok((server.cpu_seconds()?, load.calls()))
        };
        let before = [so_far(theirs, &their_load)?, so_far(ours, &our_load)?];
        let holds = Race::new(&self.title)
            .counting(their_load.turn_calls())
            .with("rmcp", Claim::None, || their_load.turn())
            .with("toolcrib", Claim::FasterThanFirst(self.least), || our_load.turn())
            .run(effort);
        let after = [so_far(theirs, &their_load)?, so_far(ours, &our_load)?];
        for (name, (before, after)) in ["rmcp", "toolcrib"].into_iter().zip(before.into_iter().zip(after)) {
            let cpu = (after.0 - before.0) * 1e6 / (after.1 - before.1);
            println!("  {name:<36} {cpu:>9.1} µs of CPU per call, the server's own");
        }
        Ok(holds)
    }
}
