//! R2.8: stdin and stdout, both eras, one message per line.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::needless_pass_by_value
)]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use support::{LEGACY, MODERN, modern_body, modern_body_with};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use toolcrib::{Context, Elicited, Server, ToolError};

struct Pipe {
    write: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    served: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Pipe {
    fn start(server: &Server) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(ours);
        let (input, output) = tokio::io::split(theirs);
        let engine = server.engine().clone();
        let served = tokio::spawn(async move {
            toolcrib_server::stdio::serve_on(engine, BufReader::new(input), output).await
        });
        Self { write, lines: BufReader::new(read).lines(), served }
    }

    async fn say(&mut self, line: &str) {
        self.write.write_all(line.as_bytes()).await.unwrap();
        self.write.write_all(b"\n").await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(10), self.lines.next_line()).await;
        serde_json::from_str(&line.expect("nothing came").unwrap().expect("the stream ended")).unwrap()
    }

    async fn ask(&mut self, line: &str) -> Value {
        self.say(line).await;
        self.hear().await
    }
}

fn server() -> Server {
    let server = Server::new("pipe", "1").unwrap();
    let object = json!({"type": "object"});
    server
        .register("echo", "x", object.clone(), |a: Value, _: Context| async move {
            Ok::<_, ToolError>(a.to_string())
        })
        .unwrap();
    server
        .register("ask", "x", object.clone(), |_, context: Context| async move {
            let schema =
                json!({"type": "object", "properties": {"v": {"type": "string"}}, "required": ["v"]});
            match context.elicit("v", "Value?", &schema).await? {
                Elicited::Accepted(content) => Ok(content["v"].as_str().unwrap_or("?").to_owned()),
                _ => Err(ToolError::new("no")),
            }
        })
        .unwrap();
    server
        .register("waits", "x", object, |_, context: Context| async move {
            context.progress(1.0, None, None);
            std::future::pending::<()>().await;
            Ok::<_, ToolError>("never")
        })
        .unwrap();
    server
}

fn call(id: u64, name: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "_meta": {"progressToken": 1}}})
        .to_string()
}

fn initialize(capabilities: Value) -> String {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": capabilities, "clientInfo": {"name": "raw", "version": "0"}}})
    .to_string()
}

/// R2.8: a legacy client initializes, calls, is asked, cancels and is told of changes.
#[tokio::test]
async fn a_legacy_client_is_served_over_stdio() {
    let server = server();
    let mut pipe = Pipe::start(&server);
    let answer = pipe.ask(&initialize(json!({"elicitation": {}}))).await;
    assert_eq!(answer["result"]["protocolVersion"], LEGACY);
    pipe.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!(pipe.ask(&call(1, "echo")).await["result"]["content"][0]["text"], "{}");
    let question = pipe.ask(&call(2, "ask")).await;
    assert_eq!(question["method"], "elicitation/create");
    let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"v": "hi"}}});
    assert_eq!(pipe.ask(&reply.to_string()).await["result"]["content"][0]["text"], "hi");
    assert_eq!(pipe.ask(&call(3, "waits")).await["method"], "notifications/progress");
    pipe.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#).await;
    assert_eq!(pipe.ask(r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#).await["id"], 4, "3 is never answered");
    server.unregister("waits");
    assert_eq!(pipe.hear().await["method"], "notifications/tools/list_changed");
    assert_eq!(pipe.ask(&initialize(json!({}))).await["error"]["code"], -32600);
    assert!(pipe.ask(&modern_body(9, "tools/list", json!({}))).await["result"].get("ttlMs").is_some());
}

/// R2.8: a modern client discovers, calls, is asked in rounds, listens and cancels.
#[tokio::test]
async fn a_modern_client_is_served_over_stdio() {
    let server = server();
    let mut pipe = Pipe::start(&server);
    let discovered = pipe.ask(&modern_body(1, "server/discover", json!({}))).await;
    assert_eq!(discovered["result"]["supportedVersions"][0], MODERN);
    let called =
        pipe.ask(&modern_body(2, "tools/call", json!({"name": "echo", "arguments": {"a": 1}}))).await;
    assert_eq!(called["result"]["content"][0]["text"], r#"{"a":1}"#);
    let elicitation = json!({"elicitation": {}});
    let asked =
        pipe.ask(&modern_body_with(3, "tools/call", json!({"name": "ask"}), elicitation.clone())).await;
    let state = asked["result"]["requestState"].clone();
    let params = json!({"name": "ask", "requestState": state,
        "inputResponses": {"v": {"action": "accept", "content": {"v": "yes"}}}});
    let done = pipe.ask(&modern_body_with(4, "tools/call", params, elicitation)).await;
    assert_eq!(done["result"]["content"][0]["text"], "yes");
    let listen = json!({"notifications": {"toolsListChanged": true}});
    assert!(pipe.ask(&modern_body(5, "subscriptions/listen", listen)).await["params"]["_meta"].is_object());
    server.unregister("waits");
    let changed = pipe.hear().await;
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 5);
    pipe.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#).await;
    let missing = json!({"jsonrpc": "2.0", "id": 6, "method": "ping", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}}});
    assert_eq!(pipe.ask(&missing.to_string()).await["error"]["code"], -32601);
}

#[tokio::test]
async fn bad_lines_are_answered_and_the_rest_is_served() {
    let mut pipe = Pipe::start(&server());
    assert_eq!(pipe.ask("{").await["error"]["code"], -32700);
    assert_eq!(pipe.ask("7").await["error"]["code"], -32600);
    assert_eq!(pipe.ask(r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#).await["error"]["code"], -32600);
    let long = format!("\"{}\"", "x".repeat(toolcrib_server::limits::LINE_BYTES_MAX));
    assert_eq!(pipe.ask(&long).await["error"]["code"], -32600);
    pipe.say("").await;
    pipe.say("   ").await;
    assert_eq!(pipe.ask(&modern_body(1, "tools/call", json!({"name": "echo"}))).await["id"], 1);
}

#[tokio::test]
async fn what_is_under_way_finishes_when_stdin_ends() {
    let mut pipe = Pipe::start(&server());
    pipe.say(&modern_body(1, "tools/call", json!({"name": "echo"}))).await;
    let listen = json!({"notifications": {"toolsListChanged": true}});
    pipe.say(&modern_body(2, "subscriptions/listen", listen)).await;
    pipe.write.shutdown().await.unwrap();
    let mut ids = Vec::new();
    while let Ok(Some(line)) = pipe.lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        if message.get("result").is_some() {
            ids.push(message["id"].clone());
        }
    }
    ids.sort_by_key(serde_json::Value::as_u64);
    assert_eq!(ids, [json!(1), json!(2)]);
    pipe.served.await.unwrap().unwrap();
}
