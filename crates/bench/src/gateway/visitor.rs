//! A client that accepts every form of answer: with or without a session, JSON or a stream, with a length or chunked.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::serving::{Connection, header};

/// Requests on each connection in one turn.
const CALLS_EACH: usize = 4;

/// Idle time after which connections are opened again.
const REST: Duration = Duration::from_secs(2);

pub(crate) struct Visitor {
    seats: Vec<Seat>,
    /// Text of a call's body before and after its id.
    body: (String, String),
    last_id: u64,
    to: SocketAddr,
    used: Instant,
}

struct Seat {
    connection: Connection,
    /// Request head up to the header `Content-Length`.
    head: String,
}

impl Visitor {
    /// Opens the connections; each sends `initialize`.
    pub(crate) fn new(to: SocketAddr, path: &str, count: usize, params: &Value) -> Result<Self> {
        let seats = (0..count).map(|_| Seat::open(to, path)).collect::<Result<_>>()?;
        let rest = format!(",\"method\":\"tools/call\",\"params\":{params}}}");
        let body = ("{\"jsonrpc\":\"2.0\",\"id\":".to_owned(), rest);
        Ok(Self { seats, body, last_id: 1, to, used: Instant::now() })
    }

    pub(crate) fn turn_calls(&self) -> usize {
        self.seats.len() * CALLS_EACH
    }

    #[allow(clippy::panic, reason = "a server that fails under load has lost; there is nothing to measure")]
    pub(crate) fn turn(&mut self) {
        if let Err(error) = self.try_turn(CALLS_EACH) {
            panic!("the proxy failed under load: {error:#}");
        }
    }

    /// Makes one call on every connection and checks its answer.
    pub(crate) fn check(&mut self) -> Result<()> {
        self.try_turn(1)
    }

    fn try_turn(&mut self, calls_each: usize) -> Result<()> {
        // Servers close idle connections, and the turn of a slow contender is long.
        if self.used.elapsed() > REST {
            for seat in &mut self.seats {
                seat.connection = Connection::open(self.to)?;
            }
        }
        for call in 0..=calls_each {
            for seat in &mut self.seats {
                if call > 0 {
                    let (_, body) = seat.connection.read_any()?;
                    let text = String::from_utf8_lossy(&body);
                    ensure!(text.contains("structuredContent"), "a wrong answer: {text}");
                }
                if call < calls_each {
                    self.last_id += 1;
                    let body = format!("{}{}{}", self.body.0, self.last_id, self.body.1);
                    seat.send(&body)?;
                }
            }
        }
        self.used = Instant::now();
        Ok(())
    }
}

impl Seat {
    fn open(to: SocketAddr, path: &str) -> Result<Self> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {to}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n"
        );
        let mut seat = Self { connection: Connection::open(to)?, head };
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
            "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}});
        seat.send(&hello.to_string())?;
        let (head, _) = seat.connection.read_any().context("initialize")?;
        seat.head.push_str("MCP-Protocol-Version: 2025-11-25\r\n");
        if let Some(session) = header(&head, "mcp-session-id") {
            seat.head.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
        }
        seat.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        seat.connection.read_any().context("notifications/initialized")?;
        Ok(seat)
    }

    fn send(&mut self, body: &str) -> Result<()> {
        self.connection.send(format_args!("{}Content-Length: {}\r\n\r\n{body}", self.head, body.len()))
    }
}
