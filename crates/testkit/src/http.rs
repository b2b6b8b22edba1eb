//! HTTP/1.1 client that sends exactly the given request.
//!
//! Suits malformed requests as well as valid ones: adds only `Host`, `Content-Length` (each unless given) and
//! `Connection: close`, follows no redirect and retries nothing. Reads the response to its end, chunked or not, or
//! event by event for a stream that stays open.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use rustix::net::{self, AddressFamily, SocketType};

/// Timeout of a single read or write.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request that is built up and sent over a connection of its own.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    source: Option<Ipv4Addr>,
}

/// Status, headers with lower-case names in the order of arrival, and the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        let (method, target) = (method.to_owned(), target.to_owned());
        Self { method, target, headers: Vec::new(), body: Vec::new(), source: None }
    }

    #[must_use]
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// A JSON-RPC message, posted as Streamable HTTP requires.
    #[must_use]
    pub fn post_json(target: &str, body: &str) -> Self {
        Self::new("POST", target)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .body(body)
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets the source address, such as 127.0.0.2.
    #[must_use]
    pub fn from_address(mut self, source: Ipv4Addr) -> Self {
        self.source = Some(source);
        self
    }

    /// Sends the request and reads the whole response.
    pub fn send(&self, address: SocketAddr) -> io::Result<Response> {
        let mut stream = self.open(address)?;
        let mut body = Vec::new();
        while let Some(piece) = stream.piece()? {
            body.extend_from_slice(&piece);
        }
        Ok(Response { status: stream.status, headers: stream.headers, body })
    }

    /// Sends the request and reads nothing; dropping the returned connection closes it.
    pub fn begin(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let connection = match self.source {
            None => TcpStream::connect(address)?,
            Some(source) => connect_from(source, address)?,
        };
        connection.set_write_timeout(Some(PATIENCE))?;
        (&connection).write_all(&self.bytes(address))?;
        Ok(connection)
    }

    /// Sends the request and reads only the head; the body is read piece by piece or event by event.
    pub fn open(&self, address: SocketAddr) -> io::Result<Stream> {
        let connection = self.begin(address)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        Stream::read_head(connection)
    }

    fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let given = |wanted: &str| self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !given("host") {
            head.push_str(&format!("Host: {address}\r\n"));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !given("content-length")
            && !given("transfer-encoding")
            && (self.method == "POST" || !self.body.is_empty())
        {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        head.push_str("Connection: close\r\n\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// Connects from a chosen source address, which the standard library cannot do.
fn connect_from(source: Ipv4Addr, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    net::bind(&socket, &SocketAddr::from((source, 0)))?;
    net::connect(&socket, &address)?;
    Ok(socket.into())
}

impl Response {
    /// Returns the first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Parses the body as JSON; for an event stream, the JSON of its last event with data.
    pub fn json(&self) -> Result<serde_json::Value, serde_json::Error> {
        if self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let events = events(&self.text());
            let last = events.iter().rev().find(|event| !event.data.is_empty());
            return serde_json::from_str(last.map_or("", |event| &event.data));
        }
        serde_json::from_slice(&self.body)
    }

    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        events(&self.text())
    }
}

/// One server-sent event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    pub name: Option<String>,
    pub id: Option<String>,
    pub data: String,
}

/// A response that is being read.
#[derive(Debug)]
pub struct Stream {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
    framing: Framing,
    text: String,
}

#[derive(Debug)]
enum Framing {
    Chunked,
    Length(usize),
    UntilClose,
    Done,
}

impl Stream {
    fn read_head(connection: TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(connection);
        let status_line = line(&mut reader)?;
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| bad(&format!("not a status line: {status_line:?}")))?;
        let mut headers = Vec::new();
        loop {
            let text = line(&mut reader)?;
            if text.is_empty() {
                break;
            }
            let (name, value) =
                text.split_once(':').ok_or_else(|| bad(&format!("not a header: {text:?}")))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let framing = if find(&headers, "transfer-encoding").is_some_and(|coding| coding == "chunked") {
            Framing::Chunked
        } else if let Some(length) = find(&headers, "content-length") {
            Framing::Length(length.parse().map_err(|_| bad("content-length is no number"))?)
        } else if matches!(status, 204 | 304) {
            Framing::Done
        } else {
            Framing::UntilClose
        };
        Ok(Self { status, headers, reader, framing, text: String::new() })
    }

    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// Returns the next event, or `None` when the server has closed the stream. Comments (heartbeats) are skipped.
    pub fn event(&mut self) -> io::Result<Option<Event>> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                if let Some(event) = events(&block).pop() {
                    return Ok(Some(event));
                }
                continue;
            }
            let Some(piece) = self.piece()? else { return Ok(None) };
            self.text.push_str(&String::from_utf8_lossy(&piece).replace('\r', ""));
        }
    }

    /// Returns the next piece of the body.
    fn piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        match self.framing {
            Framing::Done => Ok(None),
            Framing::Chunked => {
                let size = line(&mut self.reader)?;
                let digits = size.split(';').next().unwrap_or_default().trim();
                let size = usize::from_str_radix(digits, 16).map_err(|_| bad("chunk size is no number"))?;
                let mut piece = vec![0; size];
                self.reader.read_exact(&mut piece)?;
                line(&mut self.reader)?;
                if size == 0 {
                    self.framing = Framing::Done;
                    return Ok(None);
                }
                Ok(Some(piece))
            }
            Framing::Length(length) => {
                let mut piece = vec![0; length];
                self.reader.read_exact(&mut piece)?;
                self.framing = Framing::Done;
                Ok(Some(piece))
            }
            Framing::UntilClose => {
                let piece = self.reader.fill_buf()?.to_vec();
                self.reader.consume(piece.len());
                Ok((!piece.is_empty()).then_some(piece))
            }
        }
    }
}

fn events(text: &str) -> Vec<Event> {
    let mut all = Vec::new();
    for block in text.replace("\r\n", "\n").replace('\r', "\n").split("\n\n") {
        let mut event = Event::default();
        let mut any = false;
        for line in block.lines() {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => event.name = Some(value.to_owned()),
                "id" => event.id = Some(value.to_owned()),
                "data" if event.data.is_empty() => event.data = value.to_owned(),
                "data" => event.data = format!("{}\n{value}", event.data),
                _ => continue,
            }
            any = true;
        }
        if any {
            all.push(event);
        }
    }
    all
}

fn line(reader: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut text = String::new();
    if reader.read_line(&mut text)? == 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"));
    }
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn find<'a>(headers: &'a [(String, String)], wanted: &str) -> Option<&'a str> {
    headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.as_str())
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Answers one connection with these bytes; the thread returns the request that it received.
    fn answering(bytes: &'static str) -> (SocketAddr, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let mut seen = vec![0; 4096];
            let length = connection.read(&mut seen).unwrap();
            connection.write_all(bytes.as_bytes()).unwrap();
            String::from_utf8_lossy(&seen[..length]).into_owned()
        });
        (address, server)
    }

    #[test]
    fn a_chunked_answer_is_put_together() {
        let (address, server) = answering(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        );
        let response = Request::post_json("/mcp", "{}").header("Host", "elsewhere").send(address).unwrap();
        assert_eq!((response.status, response.text().as_str()), (200, "abcde"));
        let sent = server.join().unwrap();
        assert!(sent.starts_with("POST /mcp HTTP/1.1\r\n"), "{sent}");
        assert!(sent.contains("Host: elsewhere\r\n") && !sent.contains(&address.to_string()), "{sent}");
        assert!(sent.contains("Content-Length: 2\r\n"), "{sent}");
    }

    #[test]
    fn events_come_one_by_one_without_comments() {
        let (address, server) = answering(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n\nid: 1\ndata: {\"a\":\ndata: 1}\n\nevent: end\ndata:\n\n",
        );
        let mut stream = Request::get("/mcp").open(address).unwrap();
        let first = stream.event().unwrap().unwrap();
        assert_eq!((first.id.as_deref(), first.data.as_str()), (Some("1"), "{\"a\":\n1}"));
        assert_eq!(stream.event().unwrap().unwrap().name.as_deref(), Some("end"));
        assert_eq!(stream.event().unwrap(), None);
        server.join().unwrap();
    }
}
