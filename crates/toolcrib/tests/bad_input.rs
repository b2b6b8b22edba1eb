//! Every kind of bad input gets the code and status of the specification and a message, and the server serves on.

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
use support::*;
use tokio::io::AsyncWriteExt;
use toolcrib::{Context, HttpOptions, Server, ToolError, ToolSpec};

fn server() -> Server {
    let server = Server::builder("bad-input", "1").page_items(1).build().unwrap();
    let schema =
        json!({"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": "Text"}}});
    for name in ["echo", "other"] {
        server
            .register(name, "Says it again", schema.clone(), |arguments: Value, _: Context| async move {
                Ok::<_, ToolError>(arguments.to_string())
            })
            .unwrap();
    }
    server
}

async fn still_serves(to: std::net::SocketAddr) {
    let answer = modern(to, "tools/call", json!({"name": "echo"})).await;
    assert_eq!(answer.result()["content"][0]["text"], "{}");
}

#[tokio::test]
async fn unreadable_messages_are_refused_with_what_is_wrong() {
    let running = serve(&server()).await;
    let to = running.address;
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("nonsense", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} trailing"#, -32700),
        ("\"\\ud800\"", -32700),
        ("7", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":{}}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32602),
    ] {
        let answer = send(to, "POST", &[], body).await;
        assert_eq!((answer.status, answer.code()), (400, code), "{body}: {answer:?}");
        assert!(answer.json()["error"]["message"].as_str().unwrap().len() > 10, "{answer:?}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(send(to, "POST", &[], &deep).await.code(), -32700);
    still_serves(to).await;
}

#[tokio::test]
async fn wrong_parameters_are_minus_32602() {
    let running = serve(&server()).await;
    let to = running.address;
    for (method, params) in [
        ("tools/call", json!({})),
        ("tools/call", json!({"name": 7})),
        ("tools/call", json!({"name": "nobody"})),
        ("tools/list", json!({"cursor": 7})),
        ("subscriptions/listen", json!({})),
        ("subscriptions/listen", json!({"notifications": {"toolsListChanged": "yes"}})),
    ] {
        let answer = modern(to, method, params.clone()).await;
        assert_eq!(answer.code(), -32602, "{method} {params}: {answer:?}");
        assert_eq!(answer.json()["id"], 1);
    }
    let body = modern_body(1, "tools/call", json!({"name": "echo", "arguments": [1]}));
    let answer = send(to, "POST", &modern_headers("tools/call", Some("echo")), &body).await;
    assert_eq!(answer.code(), -32602);
    still_serves(to).await;
}

#[tokio::test]
async fn an_unknown_method_is_404_for_modern_and_an_error_for_legacy_clients() {
    let running = serve(&server()).await;
    let to = running.address;
    for method in ["no/such", "initialize", "ping", "logging/setLevel", "resources/subscribe", "prompts/list"]
    {
        let answer = modern(to, method, json!({})).await;
        assert_eq!((answer.status, answer.code()), (404, -32601), "{method}");
    }
    let session = initialize(to, LEGACY, json!({}), &[]).await;
    for method in ["no/such", "server/discover", "subscriptions/listen"] {
        let answer = legacy(to, &session, method, json!({})).await;
        assert_eq!((answer.status, answer.code()), (200, -32601), "{method}");
    }
}

#[tokio::test]
async fn an_unknown_version_is_told_with_the_supported_ones() {
    let running = serve(&server()).await;
    let to = running.address;
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2999-01-01"});
    let body = modern_body(5, "server/discover", json!({"_meta": meta}));
    let headers = [("MCP-Protocol-Version", "2999-01-01"), ("Mcp-Method", "server/discover")];
    let answer = send(to, "POST", &headers, &body).await;
    assert_eq!((answer.status, answer.code()), (400, -32022));
    let data = answer.json()["error"]["data"].clone();
    assert_eq!(data["requested"], "2999-01-01");
    let discovered = modern(to, "server/discover", json!({})).await.result();
    assert_eq!(data["supported"], discovered["supportedVersions"]);
    let answer =
        send(to, "POST", &[("MCP-Protocol-Version", "1999-01-01")], &legacy_body(1, "ping", json!({}))).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn missing_meta_is_400_and_minus_32602() {
    let running = serve(&server()).await;
    let to = running.address;
    let headers = modern_headers("tools/list", None);
    for params in [
        json!({}),
        json!({"_meta": {}}),
        json!({"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}),
        json!({"_meta": {"io.modelcontextprotocol/protocolVersion": 7, "io.modelcontextprotocol/clientCapabilities": {}}}),
    ] {
        let answer = send(to, "POST", &headers, &legacy_body(3, "tools/list", params.clone())).await;
        assert_eq!((answer.status, answer.code()), (400, -32602), "{params}");
        assert_eq!(answer.json()["id"], 3);
    }
}

#[tokio::test]
async fn headers_that_are_missing_or_contradict_the_body_are_400_and_minus_32020() {
    let running = serve(&server()).await;
    let to = running.address;
    let body = modern_body(1, "tools/call", json!({"name": "echo", "arguments": {"text": "a"}}));
    let version = ("MCP-Protocol-Version", MODERN);
    let method = ("Mcp-Method", "tools/call");
    let name = ("Mcp-Name", "echo");
    let text = ("Mcp-Param-Text", "a");
    assert_eq!(send(to, "POST", &[version, method, name, text], &body).await.status, 200);
    assert_eq!(
        send(to, "POST", &[version, method, name, ("mcp-param-text", "=?base64?YQ==?=")], &body).await.status,
        200
    );
    let wrong: [&[(&str, &str)]; 9] = [
        &[method, name, text],
        &[("MCP-Protocol-Version", "2025-11-25"), method, name, text],
        &[version, name, text],
        &[version, ("Mcp-Method", "tools/list"), name, text],
        &[version, method, text],
        &[version, method, ("Mcp-Name", "other"), text],
        &[version, method, name],
        &[version, method, name, ("Mcp-Param-Text", "b")],
        &[version, method, name, ("Mcp-Param-Text", "=?base64?Y?=")],
    ];
    for headers in wrong {
        let answer = send(to, "POST", headers, &body).await;
        assert_eq!((answer.status, answer.code()), (400, -32020), "{headers:?}");
    }
    let without = modern_body(1, "tools/call", json!({"name": "echo"}));
    let answer = send(to, "POST", &[version, method, name, text], &without).await;
    assert_eq!(answer.code(), -32020, "a header without its argument");
    still_serves(to).await;
}

#[tokio::test]
async fn the_transport_refuses_what_is_not_mcp() {
    let running = serve(&server()).await;
    let to = running.address;
    let ping = legacy_body(1, "ping", json!({}));
    let status = |method: &'static str, headers: Vec<(&'static str, &'static str)>| {
        let ping = ping.clone();
        async move { send(to, method, &headers, &ping).await.status }
    };
    assert_eq!(status("POST", vec![("Content-Type", "text/plain")]).await, 415);
    assert_eq!(status("POST", vec![("Accept", "text/html")]).await, 406);
    assert_eq!(status("PUT", vec![]).await, 405);
    assert_eq!(status("GET", vec![]).await, 405);
    assert_eq!(status("DELETE", vec![]).await, 405);
    assert_eq!(status("GET", vec![("MCP-Protocol-Version", MODERN)]).await, 405);
    assert_eq!(status("GET", vec![("Mcp-Session-Id", "nobody")]).await, 404);
    assert_eq!(status("DELETE", vec![("Mcp-Session-Id", "nobody")]).await, 404);
    assert_eq!(status("POST", vec![("Mcp-Session-Id", "nobody")]).await, 404);
    assert_eq!(status("POST", vec![("Host", "evil.example")]).await, 403);
    assert_eq!(status("POST", vec![("Origin", "http://evil.example")]).await, 403);
    assert_eq!(status("POST", vec![("Origin", "http://localhost:5173")]).await, 200);
    still_serves(to).await;
}

#[tokio::test]
async fn an_oversized_body_is_413_whether_it_is_announced_or_not() {
    let options = HttpOptions { body_bytes_max: 1_000, ..HttpOptions::default() };
    let running = serve_with(&server(), options).await;
    let to = running.address;
    let long = legacy_body(1, "ping", json!({"text": "x".repeat(2_000)}));
    assert_eq!(send(to, "POST", &[], &long).await.status, 413);
    let chunked = format!("{:x}\r\n{long}\r\n0\r\n\r\n", long.len());
    let headers = [("Transfer-Encoding", "chunked"), ("Content-Length", "-")];
    assert_eq!(send(to, "POST", &headers, &chunked).await.status, 413);
    still_serves(to).await;
}

/// `BODY_MS_MAX`, shortened.
#[tokio::test]
async fn a_body_that_never_comes_is_408() {
    let options = HttpOptions { body_ms_max: 50, ..HttpOptions::default() };
    let running = serve_with(&server(), options).await;
    let to = running.address;
    let answer = send(to, "POST", &[("Content-Length", "1000")], "{").await;
    assert_eq!(answer.status, 408);
    still_serves(to).await;
}

/// `HEAD_MS_MAX`, shortened.
#[tokio::test]
async fn a_head_that_never_ends_closes_the_connection() {
    let engine = server();
    let endpoint = toolcrib_server::Endpoint::new(engine.engine().clone(), HttpOptions::default());
    let listener = toolcrib_server::Listener::bind(endpoint, "127.0.0.1:0").await.unwrap().head_ms_max(50);
    let to = listener.address().unwrap();
    let served = tokio::spawn(listener.serve(std::future::pending()));
    let mut tcp = tokio::net::TcpStream::connect(to).await.unwrap();
    tcp.write_all(b"POST /mcp HTTP/1.1\r\nHost: ").await.unwrap();
    let mut rest = Vec::new();
    let ended = tokio::io::AsyncReadExt::read_to_end(&mut tcp, &mut rest);
    tokio::time::timeout(Duration::from_secs(5), ended).await.expect("the connection stays open").unwrap();
    still_serves(to).await;
    served.abort();
}

#[tokio::test]
async fn forged_cursors_are_minus_32602() {
    let running = serve(&server()).await;
    let to = running.address;
    let first = modern(to, "tools/list", json!({})).await.result();
    let cursor = first["nextCursor"].as_str().unwrap().to_owned();
    let second = modern(to, "tools/list", json!({"cursor": cursor})).await.result();
    assert_eq!(second["tools"][0]["name"], "other");
    let mut flipped = cursor.clone().into_bytes();
    flipped[10] = if flipped[10] == b'A' { b'B' } else { b'A' };
    let flipped = String::from_utf8(flipped).unwrap();
    for forged in ["", "1", "eyJvZmZzZXQiOjF9", flipped.as_str()] {
        let answer = modern(to, "tools/list", json!({"cursor": forged})).await;
        assert_eq!(answer.code(), -32602, "{forged}");
    }
    assert_eq!(modern(to, "prompts/list", json!({"cursor": cursor})).await.code(), -32601);
}

/// The era is decided by each message, not by earlier messages of the connection.
#[tokio::test]
async fn eras_interleave_on_one_endpoint() {
    let running = serve(&server()).await;
    let to = running.address;
    let session = initialize(to, LEGACY, json!({}), &[]).await;
    for _ in 0..3 {
        assert!(modern(to, "tools/list", json!({})).await.result().get("ttlMs").is_some());
        let old = legacy(to, &session, "tools/list", json!({})).await.result();
        assert!(old.get("resultType").is_none() && old.get("ttlMs").is_none());
    }
    let probe =
        json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let answer = modern(to, "initialize", probe).await;
    assert_eq!((answer.status, answer.code()), (404, -32601));
}

/// A tool whose schema has an illegal `x-mcp-header` is not registered.
#[tokio::test]
async fn an_illegal_header_mark_is_refused_at_registration() {
    let server = server();
    let spec = ToolSpec::new("marked", "x").input_schema(
        json!({"type": "object", "properties": {"n": {"type": "number", "x-mcp-header": "N"}}}),
    );
    let error = server.add(spec, |_: Value, _: Context| async { Ok::<_, ToolError>("") }).unwrap_err();
    assert!(error.to_string().contains("x-mcp-header"), "{error}");
    assert!(!server.has("marked"));
}
