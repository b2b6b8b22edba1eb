//! Memory of idle legacy sessions: each client sends `initialize` and `notifications/initialized`, then nothing.

use anyhow::{Context as _, Result};
use serde_json::json;

use super::Which;
use super::client::{Connection, Speaks, header, post};
use super::process::Server;

const SESSIONS: usize = 1_000;

/// Prints the memory that the sessions added to each server.
pub(super) fn run() -> Result<()> {
    println!("\nresident memory of {SESSIONS} idle legacy sessions");
    for (name, which) in [("rmcp", Which::TheirsSessions), ("toolcrib", Which::Ours)] {
        let server = Server::start(which)?;
        let mut connection = Connection::open(server.address)?;
        // Warm-up: the first sessions allocate what all sessions share.
        open(&server, &mut connection, 10).with_context(|| name.to_owned())?;
        let before = server.resident_kib()?;
        open(&server, &mut connection, SESSIONS).with_context(|| name.to_owned())?;
        let kib = server.resident_kib()? - before;
        println!(
            "  {name:<36} {:>8.2} MiB, {:.1} KiB each; the whole process {:.1} MiB",
            kib / 1024.0,
            kib / SESSIONS as f64,
            (before + kib) / 1024.0
        );
    }
    Ok(())
}

fn open(server: &Server, connection: &mut Connection, count: usize) -> Result<()> {
    let version = Speaks::Legacy.name();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}})
    .to_string();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let post = post(server.address);
    for _ in 0..count {
        connection.send(format_args!("{post}Content-Length: {}\r\n\r\n{initialize}", initialize.len()))?;
        let head = connection.read_head()?;
        let id = header(&head, "mcp-session-id").context("no session was opened")?;
        connection.send(format_args!(
            "{post}MCP-Protocol-Version: {version}\r\nMcp-Session-Id: {id}\r\nContent-Length: {}\r\n\r\n{initialized}",
            initialized.len()
        ))?;
        connection.read_head()?;
    }
    Ok(())
}
