//! Server in this process, and a client of plain TCP and HTTP/1.1 without any MCP code.

#![allow(dead_code, unreachable_pub)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::needless_pass_by_value
)]

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use toolcrib::{HttpOptions, Server};

pub const MODERN: &str = "2026-07-28";
pub const LEGACY: &str = "2025-11-25";

const PATIENCE: Duration = Duration::from_secs(10);

/// Running server; dropping it stops it.
pub struct Running {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    pub done: Option<tokio::task::JoinHandle<std::io::Result<()>>>,
}

impl Running {
    pub fn stop(&mut self) {
        self.stop.take();
    }
}

pub async fn serve(server: &Server) -> Running {
    serve_with(server, HttpOptions::default()).await
}

pub async fn serve_with(server: &Server, options: HttpOptions) -> Running {
    let bound = server.bind_http("127.0.0.1:0", options).await.unwrap();
    let address = bound.address().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let done = tokio::spawn(bound.serve(async {
        let _ = stopped.await;
    }));
    Running { address, stop: Some(stop), done: Some(done) }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {self:?}"))
    }

    pub fn result(&self) -> Value {
        let mut json = self.json();
        assert!(json.get("result").is_some(), "no result: {self:?}");
        json["result"].take()
    }

    pub fn header(&self, name: &str) -> Option<String> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    }

    /// Returns the messages of an event stream.
    pub fn events(&self) -> Vec<Value> {
        messages(&self.body)
    }
}

pub fn messages(text: &str) -> Vec<Value> {
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| !data.is_empty())
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// Open connection on which a request was sent.
pub struct Open {
    tcp: TcpStream,
    pub text: String,
}

impl Open {
    /// Reads until the text contains `wanted`.
    pub async fn until(&mut self, wanted: &str) -> String {
        self.until_count(wanted, 1).await
    }

    pub async fn until_count(&mut self, wanted: &str, count: usize) -> String {
        let mut buffer = [0u8; 4096];
        let reading = async {
            while self.text.matches(wanted).count() < count {
                let read = self.tcp.read(&mut buffer).await.unwrap();
                assert!(read > 0, "the stream ended without {wanted:?}: {}", self.text);
                self.text.push_str(&String::from_utf8_lossy(&buffer[..read]));
            }
        };
        if tokio::time::timeout(PATIENCE, reading).await.is_err() {
            panic!("no {wanted:?} came: {}", self.text);
        }
        self.text.clone()
    }

    /// Sends more text on the connection.
    pub async fn more(&mut self, text: &str) {
        self.tcp.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until the connection ends.
    pub async fn rest_of_it(&mut self) -> String {
        let mut bytes = Vec::new();
        tokio::time::timeout(PATIENCE, self.tcp.read_to_end(&mut bytes)).await.expect("no end came").unwrap();
        self.text.push_str(&String::from_utf8_lossy(&bytes));
        self.text.clone()
    }
}

pub async fn open(to: SocketAddr, method: &str, headers: &[(&str, &str)], body: &str) -> Open {
    let mut tcp = TcpStream::connect(to).await.unwrap();
    tcp.write_all(request_text(to, method, headers, body).as_bytes()).await.unwrap();
    Open { tcp, text: String::new() }
}

pub fn request_text(to: SocketAddr, method: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{method} /mcp HTTP/1.1\r\n");
    let defaults = [
        ("Host", to.to_string()),
        ("Content-Type", "application/json".to_owned()),
        ("Accept", "application/json, text/event-stream".to_owned()),
        ("Content-Length", body.len().to_string()),
        ("Connection", "close".to_owned()),
    ];
    for (name, value) in &defaults {
        if !headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name)) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    for (name, value) in headers.iter().filter(|(_, value)| *value != "-") {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text + "\r\n" + body
}

pub async fn send(to: SocketAddr, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let text = open(to, method, headers, body).await.rest_of_it().await;
    parse(&text)
}

pub fn parse(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap();
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { dechunk(body) } else { body.to_owned() };
    Answer { status, head: head.to_owned(), body }
}

fn dechunk(mut text: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        if size == 0 || rest.len() < size {
            break;
        }
        out.push_str(&rest[..size]);
        text = rest[size..].trim_start_matches("\r\n");
    }
    out
}

/// Returns the body of a modern request.
pub fn modern_body(id: u64, method: &str, params: Value) -> String {
    modern_body_with(id, method, params, json!({}))
}

pub fn modern_body_with(id: u64, method: &str, mut params: Value, capabilities: Value) -> String {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    if let Some(more) = params.get("_meta").and_then(Value::as_object) {
        meta.as_object_mut().unwrap().extend(more.clone());
    }
    params["_meta"] = meta;
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Returns the headers of a modern request.
pub fn modern_headers<'a>(method: &'a str, name: Option<&'a str>) -> Vec<(&'a str, &'a str)> {
    let mut headers = vec![("MCP-Protocol-Version", MODERN), ("Mcp-Method", method)];
    headers.extend(name.map(|name| ("Mcp-Name", name)));
    headers
}

pub async fn modern(to: SocketAddr, method: &str, params: Value) -> Answer {
    modern_with(to, method, params, json!({})).await
}

pub async fn modern_with(to: SocketAddr, method: &str, params: Value, capabilities: Value) -> Answer {
    let name = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str).map(str::to_owned);
    let body = modern_body_with(1, method, params, capabilities);
    send(to, "POST", &modern_headers(method, name.as_deref()), &body).await
}

/// Opens a legacy session; returns its id.
pub async fn initialize(to: SocketAddr, version: &str, capabilities: Value, more: &[(&str, &str)]) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "raw", "version": "0"}}});
    let answer = send(to, "POST", more, &body.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.result()["protocolVersion"], version);
    let session = answer.header("mcp-session-id").expect("a session id");
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let mut headers = vec![("Mcp-Session-Id", session.as_str())];
    headers.extend_from_slice(more);
    assert_eq!(send(to, "POST", &headers, &initialized).await.status, 202);
    session
}

pub fn legacy_body(id: u64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

pub async fn legacy(to: SocketAddr, session: &str, method: &str, params: Value) -> Answer {
    send(to, "POST", &[("Mcp-Session-Id", session)], &legacy_body(1, method, params)).await
}
