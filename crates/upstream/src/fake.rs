//! MCP server over HTTP (2025-11-25) for tests; the test chooses its answers.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// One request to the fake server.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// `POST`, `GET` or `DELETE`.
    pub(crate) verb: String,
    /// Method of the message; empty if there is none.
    pub(crate) method: String,
    pub(crate) id: Value,
}

impl Asked {
    /// JSON answer with this result.
    pub(crate) fn result(&self, result: &Value) -> String {
        self.json(&json!({"jsonrpc": "2.0", "id": self.id, "result": result}))
    }

    fn json(&self, message: &Value) -> String {
        let text = message.to_string();
        let length = text.len();
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{text}")
    }

    /// Answer of a well-behaved server without tools.
    pub(crate) fn usual(&self) -> String {
        match (self.verb.as_str(), self.method.as_str()) {
            ("POST", "initialize") => self.result(&json!({"protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}}, "serverInfo": {"name": "fake", "version": "1"}})),
            ("POST", "tools/list") => self.result(&json!({"tools": []})),
            ("POST", method) if method.starts_with("notifications/") => {
                "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned()
            }
            ("POST", _) => self.json(&json!({"jsonrpc": "2.0", "id": self.id,
                "error": {"code": -32601, "message": "unknown"}})),
            _ => "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n".to_owned(),
        }
    }
}

/// Starts the server: answers each request with the return value of `answer` and closes the connection; `None` keeps
/// it open without an answer. Returns the URL.
pub(crate) async fn serve(answer: impl Fn(&Asked) -> Option<String> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let answer = std::sync::Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((mut visitor, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let asked = read(&mut visitor).await;
                match answer(&asked) {
                    Some(text) => drop(visitor.write_all(text.as_bytes()).await),
                    None => std::future::pending().await,
                }
            });
        }
    });
    url
}

async fn read(visitor: &mut TcpStream) -> Asked {
    let mut reader = BufReader::new(visitor);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).await.unwrap_or_default() > 0 {}
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).await.unwrap();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    Asked {
        verb: head.split(' ').next().unwrap_or_default().to_owned(),
        method: message["method"].as_str().unwrap_or_default().to_owned(),
        id: message["id"].clone(),
    }
}
