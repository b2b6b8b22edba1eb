//! Blocking HTTP/1.1 client of the attackers and the neighbour: sends the given bytes, reads the response, never waits
//! longer than its timeout.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_recv_buffer_size, set_socket_timeout};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use serde_json::{Value, json};

/// Revision of stateless requests.
pub(crate) const MODERN: &str = "2026-07-28";
/// Revision of requests with a session.
pub(crate) const LEGACY: &str = "2025-11-25";
/// Maximum bytes of an answer; a longer one is an error.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// A POST to `/mcp`: headers in addition to the usual ones, and the body.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
}

impl Post {
    /// A modern request with the headers that it needs.
    pub(crate) fn modern(method: &str, params: &Value) -> Self {
        let mut params = params.clone();
        let meta = json!({"io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "campaign", "version": "1"}});
        let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(str::to_owned);
        if let Some(members) = params.as_object_mut() {
            members.insert("_meta".to_owned(), meta);
        }
        let mut headers = format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: {method}\r\n");
        if let Some(name) = name {
            headers.push_str(&format!("Mcp-Name: {name}\r\n"));
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        Self { headers, body: body.to_string().into_bytes() }
    }

    /// A tool call with this text as arguments, which need not be valid JSON.
    pub(crate) fn call_text(tool: &str, arguments: &str) -> Self {
        let mark = "\u{1}";
        let mut post = Self::modern("tools/call", &json!({"name": tool, "arguments": mark}));
        let text = String::from_utf8_lossy(&post.body).replace("\"\\u0001\"", arguments);
        post.body = text.into_bytes();
        post
    }

    /// A message in the legacy revision, without a session.
    pub(crate) fn legacy(body: impl Into<Vec<u8>>) -> Self {
        Self { headers: format!("MCP-Protocol-Version: {LEGACY}\r\n"), body: body.into() }
    }

    pub(crate) fn initialize() -> Self {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": LEGACY,
            "capabilities": {}, "clientInfo": {"name": "campaign", "version": "1"}}});
        Self { headers: String::new(), body: hello.to_string().into_bytes() }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    fn head(&self, to: SocketAddr) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {to}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{}Content-Length: {}\r\n\r\n",
            self.headers,
            self.body.len()
        )
    }
}

/// An answer that was read completely.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (own, value) = line.split_once(':')?;
            own.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns `true` if a call was answered without any error.
    pub(crate) fn is_success(&self) -> bool {
        let text = self.text();
        self.status == 200 && text.contains("\"result\"") && !text.contains("\"isError\":true")
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Wire {
    reader: BufReader<TcpStream>,
    to: SocketAddr,
}

impl Wire {
    /// Connects from `source`; every single read and write times out after `patience`.
    pub(crate) fn open(to: SocketAddr, source: Ipv4Addr, patience: Duration) -> io::Result<Self> {
        Self::connected(to, source, patience, None)
    }

    /// Connects with the smallest receive buffer that the system allows.
    pub(crate) fn narrow(to: SocketAddr, source: Ipv4Addr, patience: Duration) -> io::Result<Self> {
        Self::connected(to, source, patience, Some(1))
    }

    fn connected(
        to: SocketAddr,
        source: Ipv4Addr,
        patience: Duration,
        receive_bytes: Option<usize>,
    ) -> io::Result<Self> {
        let fd = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        if let Some(bytes) = receive_bytes {
            set_socket_recv_buffer_size(&fd, bytes)?;
        }
        if source != Ipv4Addr::LOCALHOST {
            bind(&fd, &SocketAddrV4::new(source, 0))?;
        }
        // On Linux this also limits the time to connect.
        set_socket_timeout(&fd, Timeout::Send, Some(patience))?;
        connect(&fd, &to)?;
        let tcp = TcpStream::from(fd);
        tcp.set_nodelay(true)?;
        tcp.set_read_timeout(Some(patience))?;
        Ok(Self { reader: BufReader::new(tcp), to })
    }

    pub(crate) fn send(&mut self, post: &Post) -> io::Result<()> {
        let mut bytes = post.head(self.to).into_bytes();
        bytes.extend_from_slice(&post.body);
        self.send_bytes(&bytes)
    }

    /// Sends the head of a request and only `body_bytes` bytes of its body.
    pub(crate) fn send_part(&mut self, post: &Post, body_bytes: usize) -> io::Result<()> {
        let mut bytes = post.head(self.to).into_bytes();
        bytes.extend(post.body.iter().take(body_bytes));
        self.send_bytes(&bytes)
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_ref().write_all(bytes)
    }

    pub(crate) fn ask(&mut self, post: &Post) -> io::Result<Answer> {
        self.send(post)?;
        self.answer()
    }

    /// Reads one answer: by its length, in chunks, or up to the end of the connection.
    pub(crate) fn answer(&mut self) -> io::Result<Answer> {
        let head = self.head()?;
        let mut answer = Answer { status: 0, head, body: Vec::new() };
        answer.status = answer.head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let length = answer.header("content-length").and_then(|value| value.parse::<u64>().ok());
        if answer.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
            self.chunks(&mut answer.body)?;
        } else if let Some(length) = length {
            let limited = length.min(ANSWER_BYTES_MAX);
            (&mut self.reader).take(limited).read_to_end(&mut answer.body)?;
            if answer.body.len() as u64 != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        } else if answer.status != 202 && answer.status != 204 {
            (&mut self.reader).take(ANSWER_BYTES_MAX).read_to_end(&mut answer.body)?;
        }
        Ok(answer)
    }

    /// Reads the head of an answer, which shows that a stream is open.
    pub(crate) fn head(&mut self) -> io::Result<String> {
        let mut head = String::new();
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if line.trim().is_empty() {
                return Ok(head);
            }
            head.push_str(&line);
        }
    }

    pub(crate) fn read_byte(&mut self) -> io::Result<()> {
        self.reader.get_ref().read_exact(&mut [0])
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            let size = u64::from_str_radix(line.trim(), 16).map_err(|_| io::ErrorKind::InvalidData)?;
            if size > ANSWER_BYTES_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let before = body.len() as u64;
            (&mut self.reader).take(size).read_to_end(body)?;
            if body.len() as u64 - before != size {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.reader.read_line(&mut line)?;
            if size == 0 {
                return Ok(());
            }
        }
    }
}

/// Sends a GET and reads the whole answer.
pub(crate) fn get(to: SocketAddr, path: &str, patience: Duration) -> io::Result<Answer> {
    let mut wire = Wire::open(to, Ipv4Addr::LOCALHOST, patience)?;
    wire.send_bytes(format!("GET {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n").as_bytes())?;
    wire.answer()
}
