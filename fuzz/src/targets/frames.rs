//! Fuzz target for messages of a client, valid and invalid, over both transports.
//!
//! Properties: no input makes the server panic or hang, and the next valid request is answered.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use toolcrib::serde_json::{Value, json};
use toolcrib::{Context, HttpOptions, Server, ToolError};
use toolcrib_server::{Endpoint, listener, stdio};

use crate::script::runtime;
use crate::target::{Memory, Shape, Target};

pub(super) const HTTP: Target = Target {
    name: "frames_http",
    seeds: http_seeds,
    heavy: Vec::new,
    dictionary: WORDS,
    bytes_max: 4_096,
    cpu_max: Duration::from_millis(500),
    memory_max: Memory { factor: 256, constant: 4 * 1024 * 1024 },
    run: over_http,
};

pub(super) const STDIO: Target = Target {
    name: "frames_stdio",
    seeds: stdio_seeds,
    heavy: Vec::new,
    dictionary: WORDS,
    bytes_max: 4_096,
    cpu_max: Duration::from_millis(500),
    memory_max: Memory { factor: 256, constant: 4 * 1024 * 1024 },
    run: over_stdio,
};

const WORDS: &[&str] = &[
    "\"jsonrpc\":\"2.0\"",
    "\"id\":1",
    "\"id\":null",
    "\"method\":",
    "\"params\":{}",
    "tools/call",
    "tools/list",
    "initialize",
    "server/discover",
    "subscriptions/listen",
    "notifications/cancelled",
    "\"requestState\":\"\"",
    "\"inputResponses\":{}",
    "\"cursor\":\"\"",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
    "2026-07-28",
    "2025-11-25",
    "Mcp-Session-Id: x\r\n",
    "MCP-Protocol-Version: 2026-07-28\r\n",
    "Mcp-Method: =?base64?",
    "Last-Event-ID: 0-1\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Content-Length: 3\r\n",
    "Expect: 100-continue\r\n",
    "Connection: close\r\n",
    " HTTP/1.0\r\n",
    "\r\n\r\n",
    "3;x=y\r\n",
    "\r\n0\r\n\r\n",
    "GET /mcp HTTP/1.1\r\nHost: localhost\r\n",
    "\n",
    "[",
    "]",
];

/// How long one input may keep the server busy before it counts as a hang.
const PATIENCE: Duration = Duration::from_secs(3);
const GOOD: &str = r#"{"jsonrpc":"2.0","id":"good","method":"tools/call","params":{"name":"echo","arguments":{"a":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}"#;

fn bodies() -> Vec<String> {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    let request =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    vec![
        GOOD.to_owned(),
        request("server/discover", json!({"_meta": meta})).to_string(),
        request("tools/list", json!({"cursor": "AAAA", "_meta": meta})).to_string(),
        request("tools/call", json!({"name": "ask", "requestState": "AAAA", "inputResponses": {"v": {"action": "accept"}}, "_meta": meta})).to_string(),
        request("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "f", "version": "1"}})).to_string(),
        request("tools/call", json!({"name": "echo"})).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}).to_string(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string(),
        format!("[{},{}]", request("ping", json!({})), request("tools/list", json!({}))),
    ]
}

fn http_seeds() -> Vec<Vec<u8>> {
    bodies().iter().map(|body| http_request(body)).collect()
}

fn http_request(body: &str) -> Vec<u8> {
    let modern = if body.contains("_meta") { "MCP-Protocol-Version: 2026-07-28\r\n" } else { "" };
    let method = body.split("\"method\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("x");
    let name = body.split("\"name\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("x");
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{modern}Mcp-Method: {method}\r\nMcp-Name: {name}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn stdio_seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = bodies().into_iter().map(String::into_bytes).collect();
    seeds.push(bodies().join("\n").into_bytes());
    seeds
}

fn server() -> Server {
    let server = Server::new("fuzzed", "1").unwrap_or_else(|error| panic!("no server: {error}"));
    let object = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let echo = server.register("echo", "x", object.clone(), |a: Value, _: Context| async move {
        Ok::<_, ToolError>(a.to_string())
    });
    let asks = |_: Value, context: Context| async move {
        let schema = json!({"type": "object", "properties": {"v": {"type": "string"}}, "required": ["v"]});
        context.elicit("v", "?", &schema).await?;
        Ok::<_, ToolError>("")
    };
    assert!(echo.and_then(|server| server.register("ask", "x", object, asks)).is_ok(), "not registered");
    server
}

fn over_http(input: &[u8]) -> Shape {
    let runtime = runtime();
    let outcome = runtime.block_on(async {
        let endpoint = Endpoint::new(server().engine().clone(), HttpOptions::default());
        let first = exchange(&endpoint, input).await;
        let good = exchange(&endpoint, &http_request(GOOD)).await;
        assert!(good.contains("\"id\":\"good\",\"result\""), "the next request was not answered: {good}");
        first
    });
    let status = outcome.get(9..12).unwrap_or("none");
    let code = outcome.split("\"code\":").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("none");
    Shape::of(&["http", status, code])
}

/// Sends these bytes and returns everything that the server writes.
async fn exchange(endpoint: &Arc<Endpoint>, bytes: &[u8]) -> String {
    let (mut ours, theirs) = tokio::io::duplex(1 << 20);
    // Never set to true: the connection ends when the client closes its side.
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let serving = tokio::spawn(listener::serve_connection(theirs, endpoint.clone(), stopped, 200));
    let _ = ours.write_all(bytes).await;
    let mut said = Vec::new();
    // A stream that stays open is not a hang; the caller checks a server that wrote nothing.
    let _ = tokio::time::timeout(Duration::from_millis(250), ours.read_to_end(&mut said)).await;
    drop(ours);
    assert!(
        tokio::time::timeout(PATIENCE, serving).await.is_ok_and(|done| done.is_ok()),
        "the connection hangs"
    );
    drop(stop);
    String::from_utf8_lossy(&said).into_owned()
}

fn over_stdio(input: &[u8]) -> Shape {
    let mut bytes = input.to_vec();
    bytes.extend_from_slice(b"\n");
    bytes.extend_from_slice(GOOD.as_bytes());
    let runtime = runtime();
    let said = runtime.block_on(async {
        let (ours, mut read) = tokio::io::duplex(1 << 20);
        let engine = server().engine().clone();
        let serving =
            tokio::spawn(
                async move { stdio::serve_on(engine, BufReader::new(bytes.as_slice()), ours).await },
            );
        let mut said = Vec::new();
        let all = tokio::time::timeout(PATIENCE, read.read_to_end(&mut said)).await;
        assert!(all.is_ok(), "the server hangs");
        assert!(serving.await.is_ok_and(|served| served.is_ok()), "the server failed");
        String::from_utf8_lossy(&said).into_owned()
    });
    let mut words = vec!["stdio"];
    for line in said.lines() {
        let message: Value = toolcrib::serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("a line that is no message: {error}: {line}"));
        words.push(if message.get("error").is_some() { "error" } else { "other" });
    }
    assert!(said.contains("\"id\":\"good\",\"result\""), "the good request was not answered: {said}");
    words.truncate(6);
    Shape::of(&words)
}
