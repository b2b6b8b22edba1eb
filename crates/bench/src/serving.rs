//! `tools/call` of an echo with input and output validation, and `tools/list` of 200 tools, over HTTP, against the same
//! tools on rmcp's own server, which validates nothing. Same requests, same client, each server a process of its own.

mod client;
mod ours;
mod theirs;

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::race::{Claim, Effort, Race};
pub(crate) use client::{CONNECTIONS, Load, cpu_seconds};

/// Tools beside the echo.
pub(crate) const TOOLS: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Which {
    Ours,
    Theirs,
    /// The author's server over stdin and stdout.
    OursStdio,
    /// A server that answers everything from prepared bytes.
    Canned,
    /// A server of 10,000 tools.
    Many,
    /// The gateway in front of a URL, or of `--command`.
    Gateway,
    /// A proxy made of the official SDK's client and server.
    RmcpProxy,
}

/// The echo's schema, in and out.
pub(crate) fn echo_schema() -> Value {
    json!({"type": "object", "properties": {
        "text": {"type": "string", "maxLength": 1000},
        "count": {"type": "integer", "minimum": 0, "maximum": 100},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
        "mode": {"type": "string", "enum": ["plain", "loud"]}
    }, "required": ["text", "count"], "additionalProperties": false})
}

/// One of the listed tools, of a typical size.
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

/// A server in its own process.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start(which: Which) -> Result<Self> {
        Self::start_with(which, &[])
    }

    /// The same with further words on its command line.
    pub(crate) fn start_with(which: Which, words: &[&str]) -> Result<Self> {
        let value = clap::ValueEnum::to_possible_value(&which).context("no name")?;
        let name = value.get_name().to_owned();
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", &name]).args(words).env("TOOLCRIB_LOG", "warn");
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        let address = line.trim().parse().with_context(|| format!("{name} says {line:?}"))?;
        Ok(Self { child, address })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn serve(which: Which, url: Option<&str>, command: &[String]) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let announce = |address: SocketAddr| -> std::io::Result<()> {
        let mut out = std::io::stdout();
        writeln!(out, "{address}")?;
        out.flush()
    };
    match which {
        Which::Ours => runtime.block_on(ours::serve(announce)),
        Which::Theirs => runtime.block_on(theirs::serve(announce)),
        Which::OursStdio => runtime.block_on(ours::serve_stdio()),
        Which::Canned => runtime.block_on(crate::gateway::canned::serve(announce)),
        Which::Many => runtime.block_on(ours::serve_many(announce)),
        Which::Gateway => runtime.block_on(crate::gateway::front::serve(url, command, announce)),
        Which::RmcpProxy => runtime.block_on(crate::gateway::rmcp_proxy::serve(url, announce)),
    }
}

pub(crate) fn run(effort: Effort) -> Result<bool> {
    let theirs = Server::start(Which::Theirs)?;
    let ours = Server::start(Which::Ours)?;
    let arguments = json!({"text": "hello", "count": 3, "tags": ["a", "b"], "mode": "plain"});
    let call = json!({"name": "echo", "arguments": arguments});
    let mut holds = true;
    for (title, method, params, least) in [
        ("tools/call of an echo, 16 connections; ours checks arguments and answer", "tools/call", call, 1.5),
        ("tools/list of 200 tools, 16 connections", "tools/list", json!({}), 5.0),
    ] {
        let mut loads = [
            Load::new(theirs.address, CONNECTIONS, method, &params)?,
            Load::new(ours.address, CONNECTIONS, method, &params)?,
        ];
        for (load, name) in loads.iter_mut().zip(["rmcp", "toolcrib"]) {
            load.check().with_context(|| format!("{name}: {method}"))?;
        }
        let before = [cpu_seconds(&theirs.child)?, cpu_seconds(&ours.child)?];
        let [their_load, our_load] = &mut loads;
        holds &= Race::new(title)
            .with("rmcp", Claim::None, || their_load.turn())
            .with("toolcrib", Claim::FasterThanFirst(least), || our_load.turn())
            .run(effort);
        let after = [cpu_seconds(&theirs.child)?, cpu_seconds(&ours.child)?];
        for (index, name) in ["rmcp", "toolcrib"].into_iter().enumerate() {
            let (Some(before), Some(after), Some(load)) =
                (before.get(index), after.get(index), loads.get(index))
            else {
                continue;
            };
            println!("  {name:<36} {:>9.1} µs of CPU per call", (after - before) * 1e6 / load.calls());
        }
    }
    Ok(holds)
}
