//! Memory of an idle gateway, of idle legacy sessions, and of many tools.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Result, ensure};

use crate::race::Effort;
use crate::serving::{Server, Which};

const SESSIONS: usize = 1_000;

pub(super) fn run(effort: Effort) -> Result<bool> {
    let canned = Server::start(Which::Canned)?;
    let gateway = Server::start_with(Which::Gateway, &[&format!("http://{}/mcp", canned.address)])?;
    let idle = gateway.resident_kib()?;
    // Warm-up: memory that the first connections touch stays resident, however many sessions follow.
    for _ in 0..SESSIONS / 10 {
        initialize(gateway.address)?;
    }
    let warm = gateway.resident_kib()?;
    for _ in 0..SESSIONS {
        initialize(gateway.address)?;
    }
    let sessions = gateway.resident_kib()? - warm;
    let many = Server::start(Which::Many)?;
    let gateway = Server::start_with(Which::Gateway, &[&format!("http://{}/mcp", many.address)])?;
    let tools = gateway.resident_kib()? - idle;
    println!("\nmemory of the gateway");
    let mut holds = true;
    for (what, kib, mib_max) in
        [("idle", idle, 20.0), ("1,000 idle legacy sessions", sessions, 2.0), ("10,000 tools", tools, 60.0)]
    {
        let kept = kib < mib_max * 1024.0;
        holds &= kept;
        let verdict = if kept { "holds" } else { "MISSED" };
        println!("  {what:<36} {:>9.1} MiB  under {mib_max} MiB  {verdict}", kib / 1024.0);
    }
    Ok(holds || !effort.judges())
}

/// Opens a session and closes the connection.
fn initialize(to: SocketAddr) -> Result<()> {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
    let mut tcp = TcpStream::connect(to)?;
    write!(
        tcp,
        "POST /mcp HTTP/1.1\r\nHost: {to}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut text = String::new();
    tcp.read_to_string(&mut text)?;
    ensure!(text.contains("mcp-session-id"), "answered: {text}");
    Ok(())
}
