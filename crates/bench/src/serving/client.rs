//! A client that costs little: blocking sockets, keep-alive, one request in flight on each connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Child;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

pub(crate) const CONNECTIONS: usize = 16;
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
const VERSION: &str = "2026-07-28";

pub(crate) struct Load {
    connections: Vec<Connection>,
    head: String,
    body: (String, String),
    last_id: u64,
    failed: bool,
}

struct Connection {
    tcp: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

impl Load {
    pub(crate) fn new(to: SocketAddr, connections: usize, method: &str, params: &Value) -> Result<Self> {
        let connections = (0..connections)
            .map(|_| {
                let tcp = TcpStream::connect(to)?;
                tcp.set_nodelay(true)?;
                Ok(Connection { tcp, buffer: vec![0; ANSWER_BYTES_MAX], filled: 0 })
            })
            .collect::<Result<_>>()?;
        let mut params = params.clone();
        if let Some(object) = params.as_object_mut() {
            object.insert(
                "_meta".to_owned(),
                json!({"io.modelcontextprotocol/protocolVersion": VERSION,
                    "io.modelcontextprotocol/clientCapabilities": {},
                    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"}}),
            );
        }
        let name = match params.get("name").and_then(Value::as_str) {
            Some(name) => format!("Mcp-Name: {name}\r\n"),
            None => String::new(),
        };
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {to}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {VERSION}\r\n\
             Mcp-Method: {method}\r\n{name}"
        );
        let rest = format!(",\"method\":\"{method}\",\"params\":{params}}}");
        let body = ("{\"jsonrpc\":\"2.0\",\"id\":".to_owned(), rest);
        Ok(Self { connections, head, body, last_id: 0, failed: false })
    }

    /// One request on every connection, then every answer.
    pub(crate) fn turn(&mut self) {
        if let Err(error) = self.try_turn() {
            assert!(self.failed, "the server failed under load: {error:#}");
            self.failed = true;
        }
    }

    fn try_turn(&mut self) -> Result<()> {
        for connection in &mut self.connections {
            self.last_id += 1;
            let id = self.last_id.to_string();
            let length = self.body.0.len() + id.len() + self.body.1.len();
            let text =
                format!("{}Content-Length: {length}\r\n\r\n{}{id}{}", self.head, self.body.0, self.body.1);
            connection.tcp.write_all(text.as_bytes())?;
        }
        for connection in &mut self.connections {
            connection.answer()?;
        }
        Ok(())
    }

    /// A first turn whose answers are looked at.
    pub(crate) fn check(&mut self) -> Result<()> {
        self.try_turn()?;
        for connection in &self.connections {
            let text = String::from_utf8_lossy(connection.text());
            ensure!(text.starts_with("HTTP/1.1 200") && text.contains("\"result\""), "answered: {text}");
            ensure!(!text.contains("\"isError\":true"), "answered: {text}");
            ensure!(text.contains("\"structuredContent\"") || text.contains("tool_199"), "answered: {text}");
        }
        Ok(())
    }

    /// How many calls were made.
    pub(crate) fn calls(&self) -> f64 {
        self.last_id as f64
    }
}

impl Connection {
    /// Reads one answer, of a given length or in chunks. The head is read once and nothing is copied twice: the
    /// client shares its cores with the server it measures.
    fn answer(&mut self) -> Result<()> {
        self.filled = 0;
        let head_end = loop {
            self.read()?;
            if let Some(at) = find(self.text(), b"\r\n\r\n") {
                break at + 4;
            }
        };
        let head =
            String::from_utf8_lossy(self.text().get(..head_end).unwrap_or_default()).to_ascii_lowercase();
        let length =
            head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse::<usize>().ok());
        loop {
            let whole = match length {
                Some(length) => self.filled >= head_end + length,
                None => self.text().ends_with(b"0\r\n\r\n"),
            };
            if whole {
                return Ok(());
            }
            self.read()?;
        }
    }

    fn text(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }

    fn read(&mut self) -> Result<()> {
        let read = self.tcp.read(self.buffer.get_mut(self.filled..).unwrap_or_default())?;
        ensure!(read > 0, "the connection ended, or the answer is larger than the buffer");
        self.filled += read;
        Ok(())
    }
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

/// User and system time of a process so far.
pub(crate) fn cpu_seconds(child: &Child) -> Result<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks =
        |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).context("an unreadable stat");
    Ok((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
}
