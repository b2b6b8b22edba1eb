//! A client that costs little: blocking sockets, keep-alive, one request in flight on each connection.
//!
//! A connection's next request goes out as soon as its answer is in, while those of the other connections are under
//! way, until a turn has made all its calls; it ends with nothing in flight, so that turns of two servers do not
//! overlap.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::net::{self, AddressFamily, RecvFlags, SocketType, recv};
use serde_json::{Value, json};

use crate::race::Done;

/// Requests in one turn, for each connection.
const CALLS_EACH: usize = 16;
/// The same where a call takes microseconds: the end of a turn, when fewer and fewer are under way, counts for little.
const CALLS_EACH_LONG: usize = 64;
/// Takes a list of 200 tools, or a recorded answer of a real server, in one piece.
const BUFFER_BYTES: usize = 1 << 20;
/// Stands in parameters where each request has its id, so that no two calls are equal.
pub(crate) const ID: &str = "@id@";
/// Takes the head of an answer, and the whole of a short one.
const HEAD_BYTES: usize = 1 << 10;

/// The protocol a request is sent in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Modern,
    /// A legacy revision without a session.
    Legacy,
}

impl Speaks {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Modern => "2026-07-28",
            Self::Legacy => "2025-11-25",
        }
    }
}

/// One kind of request over and over, on several connections to one server.
pub(crate) struct Load {
    connections: Vec<Connection>,
    /// Says which of them have an answer.
    answered: OwnedFd,
    head: String,
    body: Body,
    last_id: u64,
    calls_each: usize,
}

impl Load {
    pub(crate) fn new(
        to: SocketAddr,
        count: usize,
        speaks: Speaks,
        method: &str,
        params: &Value,
    ) -> Result<Self> {
        let connections = (0..count).map(|_| Connection::open(to)).collect::<Result<Vec<_>>>()?;
        let answered = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (connection, number) in connections.iter().zip(0..) {
            let number = epoll::EventData::new_u64(number);
            epoll::add(&answered, &connection.tcp, number, epoll::EventFlags::IN)?;
        }
        let (head, body) = request(to, speaks, method, params);
        Ok(Self { connections, answered, head, body, last_id: 0, calls_each: CALLS_EACH })
    }

    /// With longer turns.
    pub(crate) fn long(self) -> Self {
        Self { calls_each: CALLS_EACH_LONG, ..self }
    }

    /// Calls in one turn.
    pub(crate) fn turn_calls(&self) -> usize {
        self.connections.len() * self.calls_each
    }

    /// How many calls were made.
    pub(crate) fn calls(&self) -> f64 {
        self.last_id as f64
    }

    #[allow(clippy::panic, reason = "a server that fails under load has lost; there is nothing to measure")]
    pub(crate) fn turn(&mut self) {
        if let Err(error) = self.try_turn(self.calls_each, false) {
            panic!("the server failed under load: {error:#}");
        }
    }

    /// Whole turns for at least the time that is given.
    pub(crate) fn run(&mut self, given: Duration) -> Done {
        let (begun, before) = (Instant::now(), self.calls());
        while begun.elapsed() < given {
            self.turn();
        }
        Done { things: self.calls() - before, time: begun.elapsed() }
    }

    fn try_turn(&mut self, calls_each: usize, keep: bool) -> Result<()> {
        let count = self.connections.len();
        // Beside the first of each connection.
        let mut left = count * calls_each.saturating_sub(1);
        let mut under_way = count;
        for number in 0..count {
            self.send(number)?;
        }
        let mut events = Vec::with_capacity(count);
        while under_way > 0 {
            epoll::wait(&self.answered, spare_capacity(&mut events), None)?;
            for event in events.drain(..) {
                let number = usize::try_from(event.data.u64())?;
                let Some(connection) = self.connections.get_mut(number) else {
                    bail!("an event of no connection");
                };
                connection.take_answer(keep)?;
                if left > 0 {
                    left -= 1;
                    self.send(number)?;
                } else {
                    under_way -= 1;
                }
            }
        }
        Ok(())
    }

    /// The next request, on a connection.
    fn send(&mut self, number: usize) -> Result<()> {
        let Some(connection) = self.connections.get_mut(number) else { return Ok(()) };
        self.last_id += 1;
        let body = self.body.with(self.last_id);
        connection.send(format_args!("{}Content-Length: {}\r\n\r\n{body}", self.head, body.len()))
    }

    /// One call on every connection.
    pub(crate) fn once(&mut self) -> Result<()> {
        self.try_turn(1, false)
    }

    /// One call on every connection, whose answer is looked at.
    pub(crate) fn check(&mut self, right: impl Fn(&Value) -> bool) -> Result<()> {
        self.try_turn(1, true)?;
        for (connection, id) in self.connections.iter().rev().zip((0..=self.last_id).rev()) {
            let answer: Value = serde_json::from_slice(connection.body()).context("the answer is no JSON")?;
            ensure!(answer.get("id").and_then(Value::as_u64) == Some(id), "not the answer to {id}: {answer}");
            ensure!(answer.get("result").is_some_and(&right), "a wrong answer: {answer}");
        }
        Ok(())
    }
}

/// Text of a request's body around the places where its id stands.
#[derive(Debug, Clone)]
pub(crate) struct Body(Vec<String>);

impl Body {
    pub(crate) fn with(&self, id: u64) -> String {
        self.0.join(&id.to_string())
    }

    /// The text between the ids.
    pub(crate) fn parts(&self) -> &[String] {
        &self.0
    }
}

/// Head of a request but for its length, and its body. Each [`ID`] in the parameters stands for the request's id.
pub(crate) fn request(to: SocketAddr, speaks: Speaks, method: &str, params: &Value) -> (String, Body) {
    let (params, headers) = dress(speaks, method, params);
    let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{ID},\"method\":\"{method}\",\"params\":{params}}}");
    (format!("{}{headers}", post(to)), Body(body.split(ID).map(ToOwned::to_owned).collect()))
}

/// The start of a POST, up to the headers of its revision.
pub(crate) fn post(to: SocketAddr) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {to}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n"
    )
}

/// What a revision wants in every request: `_meta`, and headers.
fn dress(speaks: Speaks, method: &str, params: &Value) -> (Value, String) {
    let version = speaks.name();
    let mut headers = format!("MCP-Protocol-Version: {version}\r\n");
    let mut params = params.clone();
    if speaks == Speaks::Modern {
        headers.push_str(&format!("Mcp-Method: {method}\r\n"));
        if let Some(name) = params.get("name").and_then(Value::as_str) {
            headers.push_str(&format!("Mcp-Name: {name}\r\n"));
        }
        if let Some(object) = params.as_object_mut() {
            object.insert(
                "_meta".to_owned(),
                json!({"io.modelcontextprotocol/protocolVersion": version,
                    "io.modelcontextprotocol/clientCapabilities": {},
                    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"}}),
            );
        }
    }
    (params, headers)
}

pub(crate) struct Connection {
    tcp: TcpStream,
    request: Vec<u8>,
    /// The last answer, and where its body stands in it.
    buffer: Vec<u8>,
    body: std::ops::Range<usize>,
}

impl Connection {
    pub(crate) fn open(to: SocketAddr) -> Result<Self> {
        Self::over(TcpStream::connect(to)?)
    }

    /// Opens a connection from one of this machine's addresses.
    pub(crate) fn open_from(from: Ipv4Addr, to: SocketAddr) -> Result<Self> {
        let socket = net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
        net::bind(&socket, &SocketAddr::from((from, 0)))?;
        net::connect(&socket, &to)?;
        Self::over(TcpStream::from(socket))
    }

    fn over(tcp: TcpStream) -> Result<Self> {
        tcp.set_nodelay(true)?;
        Ok(Self { tcp, request: Vec::new(), buffer: vec![0; BUFFER_BYTES], body: 0..0 })
    }

    /// Frees the buffers of a connection that stays idle from now on.
    pub(crate) fn shrink(&mut self) {
        (self.request, self.buffer) = (Vec::new(), Vec::new());
    }

    pub(crate) fn send(&mut self, request: std::fmt::Arguments<'_>) -> Result<()> {
        self.request.clear();
        self.request.write_fmt(request)?;
        Ok(self.tcp.write_all(&self.request)?)
    }

    /// Reads one answer that says its length and must be a success. Only the head is looked at; the rest of a long body
    /// is dropped inside the kernel unless it is kept, so that the client takes little from the servers.
    fn take_answer(&mut self, keep: bool) -> Result<()> {
        let mut have = 0;
        while !self.head_is_whole(have)? {
            let free = self.buffer.get_mut(have..HEAD_BYTES).context("a head over the size of the buffer")?;
            let read = self.tcp.read(free)?;
            ensure!(read > 0, "the connection ended");
            have += read;
        }
        ensure!(have <= self.body.end, "more came than one answer");
        while have < self.body.end {
            let free = self.buffer.get_mut(have..self.body.end).context("a body over the buffer")?;
            let read = if keep { self.tcp.read(free)? } else { recv(&self.tcp, free, RecvFlags::TRUNC)?.1 };
            ensure!(read > 0, "the connection ended");
            have += read;
        }
        Ok(())
    }

    /// Looks for the end of the head in the first bytes of the buffer and notes where the body stands.
    fn head_is_whole(&mut self, have: usize) -> Result<bool> {
        let so_far = self.buffer.get(..have).unwrap_or_default();
        let Some(end) = find(so_far, b"\r\n\r\n") else { return Ok(false) };
        let head = std::str::from_utf8(so_far.get(..end).unwrap_or_default())?;
        ensure!(head.starts_with("HTTP/1.1 200"), "answered: {head}");
        let Some(length) = header(head, "content-length") else { bail!("no length: {head}") };
        self.body = end + 4..end + 4 + length.parse::<usize>()?;
        Ok(true)
    }

    fn body(&self) -> &[u8] {
        self.buffer.get(self.body.clone()).unwrap_or_default()
    }

    /// Reads one answer of any form to its end and gives back its head.
    pub(crate) fn read_head(&mut self) -> Result<String> {
        Ok(self.read_any()?.0)
    }

    /// The same with its body, framing included.
    pub(crate) fn read_any(&mut self) -> Result<(String, Vec<u8>)> {
        let mut text = Vec::new();
        loop {
            let read = self.tcp.read(&mut self.buffer)?;
            ensure!(read > 0, "the connection ended");
            text.extend_from_slice(self.buffer.get(..read).unwrap_or_default());
            let Some(end) = find(&text, b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(text.get(..end).unwrap_or_default())?;
            ensure!(head.starts_with("HTTP/1.1 2"), "answered: {head}");
            let body = text.get(end + 4..).unwrap_or_default();
            let whole = match header(head, "content-length") {
                Some(length) => body.len() >= length.parse::<usize>()?,
                None => header(head, "transfer-encoding").is_none() || body.ends_with(b"0\r\n\r\n"),
            };
            if whole {
                return Ok((head.to_owned(), body.to_vec()));
            }
        }
    }
}

/// The value of a header in the text of a head.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}
