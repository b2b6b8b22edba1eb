//! Races of the gateway as it is shipped: the echo, recorded answers of real servers, TLS and HTTP/2, and memory.
//!
//! Every call has different arguments: the loop guard, which is on by default, stops a caller that repeats a call.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::h2load::H2Load;
use super::nginx::{Nginx, Setup};
use super::recorded::Recording;
use super::shipped::Shipped;
use super::wrk::Wrk;
use super::{CONNECTIONS, Cell, Client, MANY_CONNECTIONS, Proxy, STARTS, measure};
use crate::race::{Claim, Effort, Measured, Race};
use crate::serving::{Connection, ID, Server, Speaks, Which, cpu_seconds, request};

const SHIPPED: &str = "toolcrib as shipped";

/// Connections from one address, below `CONNECTIONS_PER_ADDRESS_MAX`.
const CONNECTIONS_EACH: usize = 4_950;
const REST_MIB_MAX: f64 = 30.0;
const IDLE_CONNECTIONS_MIB_MAX: f64 = 64.0;

fn echo() -> Value {
    let text = format!("hello {ID}");
    json!({"name": "echo", "arguments": {"text": text, "count": 3, "tags": ["a", "b"], "mode": "plain"}})
}

/// Echo race against nginx with its package's configuration, without and with its access log.
pub(super) fn echoes(effort: Effort) -> Result<bool> {
    let mut holds = true;
    for (title, connections) in [
        ("as shipped: tools/call of an echo, 16 connections", CONNECTIONS),
        ("as shipped: tools/call of an echo, 64 connections", MANY_CONNECTIONS),
    ] {
        let params = echo();
        let cell = Cell { title, client: Client::Wrk, connections, params: &params, cpu_most: Some(1.4) };
        holds &= race(&cell, None, Claim::FasterThanFirst(0.9), effort.by_the_second())?;
    }
    Ok(holds)
}

/// Races with recorded answers of real servers, of 16 to 256 KiB.
pub(super) fn answers(effort: Effort) -> Result<bool> {
    let recording = Recording::make()?;
    let mut holds = true;
    for answer in &recording.answers {
        let title =
            format!("as shipped: {}, {:.0} KiB, 16 connections", answer.kind, answer.bytes() as f64 / 1024.0);
        let params = json!({"name": answer.name(), "arguments": answer.arguments});
        let cell = Cell {
            title: &title,
            client: Client::Wrk,
            connections: CONNECTIONS,
            params: &params,
            cpu_most: None,
        };
        let file = recording.file();
        // Seven races: half as many rounds each keep the whole part under ten minutes.
        holds &= race(&cell, Some(&file), Claim::FasterThanFirst(0.85), effort.by_the_second().part(2))?;
    }
    Ok(holds)
}

fn race(cell: &Cell<'_>, answers: Option<&str>, claim: Claim, effort: Effort) -> Result<bool> {
    let starts = if effort.judges() { STARTS } else { 1 };
    let mut whole: Option<Measured> = None;
    for _ in 0..starts {
        let canned = Server::start_with(Which::Canned, answers.as_slice())?;
        let nginx = Nginx::start(canned.address, Setup::Debian)?;
        let logging = Nginx::start(canned.address, Setup::Logging)?;
        let gateway = Shipped::start(canned.address)?.ready()?;
        let mut proxies: Vec<Proxy<'_>> = vec![
            ("nginx", nginx.address, &nginx.child, Claim::None),
            (SHIPPED, gateway.address, &gateway.child, claim),
        ];
        if answers.is_none() {
            proxies.push(("nginx with its access log", logging.address, &logging.child, Claim::None));
        }
        measure(cell, &proxies, canned.address, effort.part(usize::MAX))?;
        let part = measure(cell, &proxies, canned.address, effort.part(starts))?;
        whole = Some(match whole {
            Some(whole) => whole.and(part),
            None => part,
        });
    }
    Ok(whole.is_some_and(|whole| cell.judge(&whole, effort)))
}

/// Races over TLS beside nginx, each with its own certificate: HTTP/1.1 called by wrk, HTTP/2 by h2load. Not judged.
pub(super) fn secure(effort: Effort) -> Result<bool> {
    let effort = effort.by_the_second();
    let canned = Server::start(Which::Canned)?;
    let nginx = Nginx::start(canned.address, Setup::Secure)?;
    let gateway = Shipped::configured(|folder| {
        certificate(folder)?;
        let shown = folder.display();
        // h2load repeats one request, which the loop guard would stop.
        Ok(format!(
            "[servers.server]\nurl = \"http://{}/mcp\"\n[tls]\ncert = \"{shown}/cert.pem\"\nkey = \"{shown}/key.pem\"\n\
             [safety]\nrepeats_read_only_max = 0\n",
            canned.address
        ))
    })?;
    let proxies = [("nginx", nginx.address, &nginx.child), (SHIPPED, gateway.address, &gateway.child)];
    let params = echo();
    let mut race =
        Race::new("as shipped, HTTPS over HTTP/1.1: the echo, 16 connections (shown, not claimed)");
    for (name, address, child) in proxies {
        let wrk = Wrk::secure(address, CONNECTIONS, &params)?;
        race = race
            .with_program(name, Claim::None, move |given| wrk.run(given))
            .costing(|| cpu_seconds(child).unwrap_or(f64::NAN));
    }
    report(&race.measure(effort), effort);
    let params = json!({"name": "echo", "arguments": super::arguments()});
    let mut race =
        Race::new("as shipped, HTTP/2 over TLS: the echo, 4 connections of 4 streams (shown, not claimed)");
    for (name, address, child) in proxies {
        let h2load = H2Load::new(address, 4, 4, &params)?;
        race = race
            .with_program(name, Claim::None, move |given| h2load.run(given))
            .costing(|| cpu_seconds(child).unwrap_or(f64::NAN));
    }
    report(&race.measure(effort), effort);
    Ok(true)
}

fn report(measured: &Measured, effort: Effort) {
    let (_, costs) = measured.report(effort);
    for (name, seconds) in measured.names().zip(costs) {
        println!("  {name:<40} {:>9.1} µs of CPU per call", seconds * 1e6);
    }
}

/// Creates a self-signed certificate for 127.0.0.1 in `folder`.
pub(super) fn certificate(folder: &Path) -> Result<()> {
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout"])
        .arg(folder.join("key.pem"))
        .arg("-out")
        .arg(folder.join("cert.pem"))
        .output()
        .context("openssl (apt-get install openssl)")?;
    ensure!(made.status.success(), "openssl: {}", String::from_utf8_lossy(&made.stderr));
    Ok(())
}

/// Measures the memory of the program at rest, and with idle connections.
pub(super) fn memory(effort: Effort) -> Result<bool> {
    let canned = Server::start(Which::Canned)?;
    let gateway = Shipped::start(canned.address)?.ready()?;
    let rest = gateway.resident_kib()?;
    let mut idle = Vec::new();
    for last in [2, 3] {
        let from = Ipv4Addr::new(127, 0, 0, last);
        for _ in 0..CONNECTIONS_EACH {
            idle.push(called_once(from, gateway.address)?);
        }
    }
    let grown = gateway.resident_kib()?;
    println!("\nmemory of the gateway as shipped");
    let mut holds = true;
    let connections = format!("with {} idle connections", idle.len());
    for (what, kib, mib_max) in
        [("at rest", rest, REST_MIB_MAX), (connections.as_str(), grown, IDLE_CONNECTIONS_MIB_MAX)]
    {
        let kept = kib <= mib_max * 1024.0;
        holds &= kept;
        let verdict = if kept { "holds" } else { "MISSED" };
        println!("  {what:<36} {:>9.1} MiB  at most {mib_max} MiB  {verdict}", kib / 1024.0);
    }
    Ok(holds || !effort.judges())
}

/// Opens a connection from this address, makes one call and leaves the connection open.
fn called_once(from: Ipv4Addr, to: SocketAddr) -> Result<Connection> {
    static CALLS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let id = CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let mut connection = Connection::open_from(from, to)?;
    let (head, body) = request(to, Speaks::Modern, "tools/call", &echo());
    let body = body.with(id);
    connection.send(format_args!("{head}Content-Length: {}\r\n\r\n{body}", body.len()))?;
    connection.read_any()?;
    connection.shrink();
    Ok(connection)
}
