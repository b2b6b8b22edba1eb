//! Requests over a limit are refused, and the server serves on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use support::*;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use toolcrib::engine::limits::{CALL_MS_MAX, LIST_TTL_MS, PAGE_ITEMS_MAX, STATE_BYTES_MAX};
use toolcrib::{Context, Question, Server, ToolError};
use toolcrib_http1::limits::{HEAD_BYTES_MAX, HEADERS_MAX};
use toolcrib_server::limits::{BATCH_MESSAGES_MAX, BODY_BYTES_MAX, STDIO_IN_FLIGHT_MAX};

fn object() -> Value {
    json!({"type": "object"})
}

#[tokio::test]
async fn a_body_over_body_bytes_max_is_413() {
    let running = serve(&Server::new("s", "1").unwrap()).await;
    let length = (BODY_BYTES_MAX + 1).to_string();
    assert_eq!(send(running.address, "POST", &[("Content-Length", &length)], "").await.status, 413);
}

#[tokio::test]
async fn a_head_over_head_bytes_max_or_headers_max_is_431() {
    let running = serve(&Server::new("s", "1").unwrap()).await;
    let to = running.address;
    let long = "x".repeat(HEAD_BYTES_MAX);
    assert_eq!(send(to, "POST", &[("X-Long", &long)], "").await.status, 431);
    let many: Vec<(String, &str)> = (0..=HEADERS_MAX).map(|number| (format!("X-{number}"), "x")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    assert_eq!(send(to, "POST", &many, "").await.status, 431);
    assert_eq!(send(to, "POST", &[], &legacy_body(1, "ping", json!({}))).await.status, 200);
}

#[tokio::test]
async fn a_batch_over_batch_messages_max_is_refused_whole() {
    let running = serve(&Server::new("s", "1").unwrap()).await;
    let ping = |id: usize| legacy_body(id as u64, "ping", json!({}));
    let batch = |count: usize| format!("[{}]", (0..count).map(ping).collect::<Vec<_>>().join(","));
    let most = send(running.address, "POST", &[], &batch(BATCH_MESSAGES_MAX)).await.json();
    assert_eq!(most.as_array().unwrap().len(), BATCH_MESSAGES_MAX);
    assert_eq!(send(running.address, "POST", &[], &batch(BATCH_MESSAGES_MAX + 1)).await.status, 400);
}

#[tokio::test]
async fn state_over_state_bytes_max_is_not_sealed() {
    let server = Server::new("s", "1").unwrap();
    server
        .register("hoards", "x", object(), |_, context: Context| async move {
            context.keep(&"x".repeat(STATE_BYTES_MAX))?;
            context.ask("r", Question::roots()).await?;
            Ok::<_, ToolError>("")
        })
        .unwrap();
    let running = serve(&server).await;
    let answer =
        modern_with(running.address, "tools/call", json!({"name": "hoards"}), json!({"roots": {}})).await;
    assert_eq!(answer.code(), -32603);
}

#[tokio::test]
async fn defaults_are_call_ms_max_page_items_max_and_list_ttl_ms() {
    let server = Server::new("s", "1").unwrap();
    let options = server.engine().options();
    assert_eq!((options.call_ms_max, options.page_items), (CALL_MS_MAX, PAGE_ITEMS_MAX));
    let running = serve(&server).await;
    assert_eq!(modern(running.address, "tools/list", json!({})).await.result()["ttlMs"], LIST_TTL_MS);
}

/// More than STDIO_IN_FLIGHT_MAX requests are refused and not queued; a client that reads late loses no answer.
#[tokio::test]
async fn every_request_over_stdio_gets_its_answer_even_from_a_client_that_reads_late() {
    let server = Server::new("s", "1").unwrap();
    server
        .register("waits", "x", object(), |_, _: Context| async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            Ok::<_, ToolError>("done")
        })
        .unwrap();
    let (ours, theirs) = tokio::io::duplex(1024);
    let (read, mut write) = tokio::io::split(ours);
    let (input, output) = tokio::io::split(theirs);
    let engine = server.engine().clone();
    tokio::spawn(
        async move { toolcrib_server::stdio::serve_on(engine, BufReader::new(input), output).await },
    );
    let count = STDIO_IN_FLIGHT_MAX + 2_000;
    tokio::spawn(async move {
        for id in 0..count {
            let line = modern_body(id as u64, "tools/call", json!({"name": "waits"})) + "\n";
            write.write_all(line.as_bytes()).await.unwrap();
        }
        // Keeps the pipe open until every answer is read.
        std::future::pending::<()>().await;
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut lines = BufReader::new(read).lines();
    let mut seen = std::collections::HashSet::new();
    let mut done = 0;
    while seen.len() < count {
        let line = tokio::time::timeout(Duration::from_secs(20), lines.next_line())
            .await
            .expect("an answer is lost");
        let message: Value = serde_json::from_str(&line.unwrap().unwrap()).unwrap();
        assert!(seen.insert(message["id"].as_u64().unwrap()));
        match message["error"]["code"].as_i64() {
            None => done += 1,
            Some(code) => assert_eq!(code, -32600),
        }
    }
    assert!(done >= STDIO_IN_FLIGHT_MAX, "{done}");
}
