//! Load shedding per caller: one caller cannot take the share of others, and memory stays bounded.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use toolcrib::engine::quota::{Bound, Bounds};
use toolcrib::{Context, HttpOptions, Server, ToolError};
use toolcrib_server::LoadLimits;

/// Longer than any wait of these tests takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the resident memory of this process, which includes the server, in bytes.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap_or_default() * 1024
}

/// Connects from this address of the loopback network.
async fn connect(from: &str, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
    socket.connect(to).await.unwrap()
}

/// Connects with a small receive buffer, so that unread answers stay in the server.
async fn connect_unread(to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.connect(to).await.unwrap()
}

/// Sends one request from this address and reads its answer.
async fn send_from(from: &str, to: SocketAddr, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut tcp = connect(from, to).await;
    tcp.write_all(request_text(to, "POST", headers, body).as_bytes()).await.unwrap();
    let mut text = Vec::new();
    tokio::time::timeout(PATIENCE, tcp.read_to_end(&mut text)).await.expect("no answer").unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.get(9..12).and_then(|status| status.parse().ok()).unwrap_or_default();
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// Reads the status of an answer and nothing more; 0 if none comes.
async fn status_of(tcp: &mut TcpStream, within: Duration) -> u16 {
    let mut start = [0; 12];
    match tokio::time::timeout(within, tcp.read_exact(&mut start)).await {
        Ok(Ok(_)) => String::from_utf8_lossy(&start[9..]).parse().unwrap_or_default(),
        _ => 0,
    }
}

async fn serve_within(load: LoadLimits, server: &Server) -> Running {
    serve_with(server, HttpOptions { load, ..HttpOptions::default() }).await
}

fn opening() -> String {
    let params =
        json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    legacy_body(1, "initialize", params)
}

/// Returns a server whose tool list has about this many bytes.
fn server_with_list(bytes: usize) -> Server {
    let server = Server::new("s", "1").unwrap();
    let tools = bytes.div_ceil(100_000);
    for number in 0..tools {
        let description = "x".repeat(bytes / tools);
        let handler = |_: Value, _: Context| async { Ok::<_, ToolError>("") };
        server.register(&format!("t{number}"), &description, json!({"type": "object"}), handler).unwrap();
    }
    server
}

/// `SESSIONS_PER_SHARE_MAX` and `SESSIONS_MAX`: a caller that opens sessions without end loses its own unused ones.
#[tokio::test]
async fn a_flood_of_sessions_ends_no_session_in_use_and_keeps_nobody_from_opening_one() {
    let bound = |name, max| Bound { name, max, counts: "sessions" };
    let sessions = Bounds { total: bound("SESSIONS_MAX", 400), share: bound("SESSIONS_PER_SHARE_MAX", 200) };
    let running =
        serve_within(LoadLimits { sessions, ..LoadLimits::default() }, &Server::new("s", "1").unwrap()).await;
    let to = running.address;
    let opened = send_from("127.0.0.1", to, &[], &opening()).await;
    let session = opened.header("mcp-session-id").expect("a session");
    let ping = legacy_body(2, "ping", json!({}));
    let mine = [("Mcp-Session-Id", session.as_str()), ("Mcp-Protocol-Version", LEGACY)];
    assert_eq!(send_from("127.0.0.1", to, &mine, &ping).await.status, 200);
    let one = request_text(to, "POST", &[("Connection", "keep-alive")], &opening());
    let (mut read, mut write) = connect("127.0.0.1", to).await.into_split();
    let floods = 1_000;
    let flood = tokio::spawn(async move {
        for _ in 0..floods / 100 {
            write.write_all(one.repeat(100).as_bytes()).await.unwrap();
        }
        write
    });
    let (mut text, mut answered) = (Vec::new(), 0);
    while answered < floods {
        let read =
            tokio::time::timeout(PATIENCE, read.read_buf(&mut text)).await.expect("no answer").unwrap();
        assert!(read > 0, "closed after {answered}");
        let heads = text.windows(13).enumerate().filter(|(_, piece)| piece == b"HTTP/1.1 200 ");
        let ends: Vec<usize> = heads.map(|(at, _)| at + 13).collect();
        answered += ends.len();
        text.drain(..ends.last().copied().unwrap_or_default());
    }
    drop(flood.await.unwrap());
    assert_eq!(send_from("127.0.0.1", to, &mine, &ping).await.status, 200, "it was used");
    for address in ["127.0.0.1", "127.0.0.2"] {
        let new = send_from(address, to, &[], &opening()).await;
        assert_eq!(new.status, 200, "{address}: {new:?}");
        let session = new.header("mcp-session-id").unwrap();
        let mine = [("Mcp-Session-Id", session.as_str()), ("Mcp-Protocol-Version", LEGACY)];
        assert_eq!(send_from(address, to, &mine, &ping).await.status, 200);
    }
}

/// `BODIES_BYTES_PER_SHARE_MAX` and `UNCOUNTED_BYTES_MAX`: unfinished bodies over a caller's share are refused with
/// `Retry-After`, while a small call and another address are served.
#[tokio::test]
async fn unfinished_bodies_take_no_more_than_their_callers_share() {
    let server = Server::new("s", "1").unwrap();
    server
        .register("takes", "x", json!({"type": "object"}), |_, _: Context| async {
            Ok::<_, ToolError>("taken")
        })
        .unwrap();
    let running = serve(&server).await;
    let to = running.address;
    let before = memory();
    let head = request_text(to, "POST", &[("Content-Length", "3900000")], "");
    let mut open = Vec::new();
    for _ in 0..100 {
        let mut tcp = connect("127.0.0.1", to).await;
        tcp.write_all(head.as_bytes()).await.unwrap();
        let _ = tcp.try_write(&[b' '; 500_000]);
        open.push(tcp);
    }
    let mut refused = 0;
    for tcp in &mut open {
        match status_of(tcp, Duration::from_millis(50)).await {
            429 => refused += 1,
            other => assert_eq!(other, 0),
        }
    }
    let admitted = 64 * 1024 * 1024 / 3_900_000;
    assert_eq!(refused, 100 - admitted, "of one address");
    assert!(memory() < before + 64 * 1024 * 1024, "{} over {before}", memory());
    assert_eq!(send_from("127.0.0.1", to, &[], &legacy_body(1, "ping", json!({}))).await.status, 200);
    let large =
        modern_body(1, "tools/call", json!({"name": "takes", "arguments": {"x": "y".repeat(1_000_000)}}));
    let headers = [("Mcp-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", "takes")];
    let shed = send_from("127.0.0.1", to, &headers, &large).await;
    assert_eq!((shed.status, shed.header("retry-after").as_deref()), (429, Some("1")), "{shed:?}");
    assert!(shed.body.contains("BODIES_BYTES_PER_SHARE_MAX"), "{shed:?}");
    assert_eq!(send_from("127.0.0.2", to, &headers, &large).await.status, 200);
    drop(open);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(send_from("127.0.0.1", to, &headers, &large).await.status, 200, "the share is given back");
}

/// `BATCH_ANSWER_BYTES_MAX`: a small batch that requests a long list a hundred times is answered up to the limit.
#[tokio::test]
async fn a_batch_of_long_lists_is_answered_up_to_a_limit_and_the_rest_refused_by_name() {
    let running = serve(&server_with_list(600_000)).await;
    let list = |id: u64| legacy_body(id, "tools/list", json!({}));
    let batch = format!("[{}]", (0..100).map(list).collect::<Vec<_>>().join(","));
    let before = memory();
    let mut unread = Vec::new();
    for _ in 0..20 {
        let mut tcp = connect_unread(running.address).await;
        tcp.write_all(request_text(running.address, "POST", &[], &batch).as_bytes()).await.unwrap();
        assert_eq!(status_of(&mut tcp, PATIENCE).await, 200);
        unread.push(tcp);
    }
    assert!(memory() < before + 64 * 1024 * 1024, "{} over {before}", memory());
    drop(unread);
    let answer = send_from("127.0.0.1", running.address, &[], &batch).await;
    assert!(answer.body.len() < 10 * 1024 * 1024, "{}", answer.body.len());
    let answers = answer.json();
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 100);
    let (listed, refused): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.get("result").is_some());
    assert_eq!(listed.len(), (8 * 1024 * 1024_usize).div_ceil(answer.body.len() / listed.len()));
    assert!(refused.iter().all(|answer| answer["error"]["data"]["limit"] == "BATCH_ANSWER_BYTES_MAX"));
}

/// `ANSWERS_BYTES_PER_SHARE_MAX`: a caller that leaves large answers unread is refused further ones; others are
/// served.
#[tokio::test]
async fn unread_answers_are_counted_for_their_caller_and_refuse_its_next_requests() {
    let server = Server::new("s", "1").unwrap();
    server
        .register("long", "x", json!({"type": "object"}), |_, _: Context| async {
            Ok::<_, ToolError>("x".repeat(6 * 1024 * 1024))
        })
        .unwrap();
    let bound = |name, mib: usize| Bound { name, max: mib * 1024 * 1024, counts: "bytes" };
    let answers =
        Bounds { total: bound("ANSWERS_BYTES_MAX", 72), share: bound("ANSWERS_BYTES_PER_SHARE_MAX", 24) };
    let running = serve_within(LoadLimits { answers, ..LoadLimits::default() }, &server).await;
    let to = running.address;
    let call = modern_body(1, "tools/call", json!({"name": "long"}));
    let headers = [("Mcp-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", "long")];
    let text = request_text(to, "POST", &headers, &call);
    let mut unread = Vec::new();
    let mut statuses = Vec::new();
    for _ in 0..5 {
        let mut tcp = connect_unread(to).await;
        tcp.write_all(text.as_bytes()).await.unwrap();
        statuses.push(status_of(&mut tcp, PATIENCE).await);
        unread.push(tcp);
    }
    let served = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(served, 2, "half of the share is used by the second: {statuses:?}");
    assert!(statuses[2..].iter().all(|status| *status == 429), "{statuses:?}");
    let refused = send_from("127.0.0.1", to, &[], &legacy_body(1, "ping", json!({}))).await;
    assert_eq!((refused.status, refused.header("retry-after").as_deref()), (429, Some("1")));
    assert!(refused.body.contains("ANSWERS_BYTES_PER_SHARE_MAX"), "{refused:?}");
    assert_eq!(send_from("127.0.0.2", to, &headers, &call).await.status, 200);
    drop(unread);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(send_from("127.0.0.1", to, &headers, &call).await.status, 200, "the share is given back");
}

#[tokio::test]
async fn a_long_list_that_many_leave_unread_is_in_memory_once() {
    let running = serve(&server_with_list(4 * 1024 * 1024)).await;
    let to = running.address;
    let list = legacy_body(1, "tools/list", json!({}));
    assert_eq!(send_from("127.0.0.1", to, &[], &list).await.status, 200);
    let before = memory();
    let mut unread = Vec::new();
    for number in 0..60 {
        let accept =
            if number % 2 == 0 { "application/json, text/event-stream" } else { "text/event-stream" };
        let mut tcp = connect_unread(to).await;
        tcp.write_all(request_text(to, "POST", &[("Accept", accept)], &list).as_bytes()).await.unwrap();
        assert_eq!(status_of(&mut tcp, PATIENCE).await, 200);
        unread.push(tcp);
    }
    assert!(memory() < before + 32 * 1024 * 1024, "{} over {before}", memory());
    let events = send_from("127.0.0.1", to, &[("Accept", "text/event-stream")], &list).await;
    assert_eq!(events.events()[0]["id"], 1);
}

/// `DETACHED_CALLS_MAX` and `DETACHED_CALLS_PER_SHARE_MAX`: legacy clients that call and disconnect.
#[tokio::test]
async fn calls_whose_legacy_clients_hung_up_run_on_up_to_a_bound() {
    let bound = |name, max| Bound { name, max, counts: "calls without a connection" };
    let detached =
        Bounds { total: bound("DETACHED_CALLS_MAX", 6), share: bound("DETACHED_CALLS_PER_SHARE_MAX", 4) };
    let server = Server::new("s", "1").unwrap();
    let running_calls = Arc::new(AtomicUsize::new(0));
    let counted = running_calls.clone();
    let handler = move |_: Value, _: Context| {
        let counted = counted.clone();
        async move {
            let _guard = Counted::new(counted);
            tokio::time::sleep(Duration::from_secs(600)).await;
            Ok::<_, ToolError>("")
        }
    };
    server.register("wait", "Waits.", json!({"type": "object"}), handler).unwrap();
    let running = serve_within(LoadLimits { detached, ..LoadLimits::default() }, &server).await;
    let call = legacy_body(1, "tools/call", json!({"name": "wait", "arguments": {}}));
    let headers = [("Mcp-Protocol-Version", LEGACY)];
    for (address, left) in [("127.0.0.1", 4), ("127.0.0.2", 6)] {
        let before = running_calls.load(Ordering::SeqCst);
        let mut clients = Vec::new();
        for _ in 0..20 {
            let mut tcp = connect(address, running.address).await;
            tcp.write_all(request_text(running.address, "POST", &headers, &call).as_bytes()).await.unwrap();
            clients.push(tcp);
        }
        until(&running_calls, |count| count == before + 20).await;
        drop(clients);
        until(&running_calls, |count| count <= left).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(running_calls.load(Ordering::SeqCst), left, "from {address}");
    }
    let ping = legacy_body(2, "ping", json!({}));
    assert_eq!(send_from("127.0.0.3", running.address, &headers, &ping).await.status, 200);
}

/// Increments a counter for as long as it lives.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn until(count: &AtomicUsize, is_reached: impl Fn(usize) -> bool) {
    let reached = async {
        while !is_reached(count.load(Ordering::SeqCst)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let seen = tokio::time::timeout(PATIENCE, reached).await;
    assert!(seen.is_ok(), "{} calls run", count.load(Ordering::SeqCst));
}
