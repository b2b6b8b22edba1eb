//! A client that uses little CPU: blocking sockets, keep-alive, one request in flight on each connection.
//!
//! A connection sends its next request as soon as its answer is in, while the others are in flight, until a turn has
//! made all its calls. A turn ends with nothing in flight, so that turns of two servers do not overlap.

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

/// Requests per connection in one turn.
const CALLS_EACH: usize = 16;
/// Requests per connection in a long turn, for calls that take microseconds: the end of a turn, when not all
/// connections are busy, then weighs less.
const CALLS_EACH_LONG: usize = 64;
/// Bytes of a connection's buffer: enough for a list of 200 tools or a recorded answer.
const BUFFER_BYTES: usize = 1 << 20;
/// Placeholder in parameters for the request's id, so that no two calls are equal.
pub(crate) const ID: &str = "@id@";
/// Maximum bytes of an answer's head; a short answer fits whole.
const HEAD_BYTES: usize = 1 << 10;

/// Era of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Modern,
    /// Legacy revision without a session.
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

/// Load generator: repeats one kind of request on several connections to one server.
pub(crate) struct Load {
    connections: Vec<Connection>,
    /// epoll instance that reports connections with an answer.
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

    /// Makes turns longer.
    pub(crate) fn long(self) -> Self {
        Self { calls_each: CALLS_EACH_LONG, ..self }
    }

    /// Calls in one turn.
    pub(crate) fn turn_calls(&self) -> usize {
        self.connections.len() * self.calls_each
    }

    /// Number of calls made so far.
    pub(crate) fn calls(&self) -> f64 {
        self.last_id as f64
    }

    #[allow(clippy::panic, reason = "a server that fails under load has lost; there is nothing to measure")]
    pub(crate) fn turn(&mut self) {
        if let Err(error) = self.try_turn(self.calls_each, false) {
            panic!("the server failed under load: {error:#}");
        }
    }

    /// Runs whole turns for at least the given time.
    pub(crate) fn run(&mut self, given: Duration) -> Done {
        let (begun, before) = (Instant::now(), self.calls());
        while begun.elapsed() < given {
            self.turn();
        }
        Done { things: self.calls() - before, time: begun.elapsed() }
    }

    fn try_turn(&mut self, calls_each: usize, keep: bool) -> Result<()> {
        let count = self.connections.len();
        // Calls after the first one of each connection.
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

    /// Sends the next request on a connection.
    fn send(&mut self, number: usize) -> Result<()> {
        let Some(connection) = self.connections.get_mut(number) else { return Ok(()) };
        self.last_id += 1;
        let body = self.body.with(self.last_id);
        connection.send(format_args!("{}Content-Length: {}\r\n\r\n{body}", self.head, body.len()))
    }

    /// Makes one call on every connection.
    pub(crate) fn once(&mut self) -> Result<()> {
        self.try_turn(1, false)
    }

    /// Makes one call on every connection and checks the results with `right`.
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

/// Text of a request's body, split at the places of its id.
#[derive(Debug, Clone)]
pub(crate) struct Body(Vec<String>);

impl Body {
    pub(crate) fn with(&self, id: u64) -> String {
        self.0.join(&id.to_string())
    }

    /// Texts around the ids.
    pub(crate) fn parts(&self) -> &[String] {
        &self.0
    }
}

/// Returns a request's head without `Content-Length`, and its body. Each [`ID`] in the parameters becomes the request's
/// id.
pub(crate) fn request(to: SocketAddr, speaks: Speaks, method: &str, params: &Value) -> (String, Body) {
    let (params, headers) = dress(speaks, method, params);
    let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{ID},\"method\":\"{method}\",\"params\":{params}}}");
    (format!("{}{headers}", post(to)), Body(body.split(ID).map(ToOwned::to_owned).collect()))
}

/// Returns the start of a POST, before the headers of its revision.
pub(crate) fn post(to: SocketAddr) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {to}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n"
    )
}

/// Adds the `_meta` and the headers that the revision requires in every request.
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
    /// The last answer; `body` is the range of its body.
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

    /// Reads one successful answer with a `Content-Length`. Only the head is examined. Unless `keep` is set, the kernel
    /// drops the rest of a long body without copying it, so that the client leaves more CPU to the servers.
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

    /// Returns `true` if the first `have` bytes contain a whole head, and stores the range of the body.
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

    /// Reads one answer of any form to its end; returns its head.
    pub(crate) fn read_head(&mut self) -> Result<String> {
        Ok(self.read_any()?.0)
    }

    /// Reads one answer of any form to its end; returns its head and its body, chunk framing included.
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
