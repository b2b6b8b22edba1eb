//! Many clients that are independent of each other.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use toolcrib::HttpOptions;

use super::bed::{Bed, http, stdio};

const SESSIONS: usize = 10_000;
const CONNECTIONS: usize = 50;

/// Posts on a kept connection; returns head and body of the response.
async fn post(tcp: &mut TcpStream, session: Option<&str>, body: &str) -> (String, String) {
    let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
    let text = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2025-11-25\r\n{session}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    tcp.write_all(text.as_bytes()).await.unwrap();
    let mut read = Vec::new();
    loop {
        assert!(tcp.read_buf(&mut read).await.unwrap() > 0, "closed");
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_ascii_lowercase()
                .split("content-length: ")
                .nth(1)
                .unwrap()
                .lines()
                .next()
                .unwrap()
                .parse();
            if body.len() >= length.unwrap() {
                return (head.to_owned(), body.to_owned());
            }
        }
    }
}

/// R5.2: 10,000 sessions with identical request ids each see only their own answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_sessions_with_the_same_ids_see_only_their_own_answers() {
    let (_process, web) = http("web", "");
    let bed = Bed::new(vec![stdio("local", ""), web]).await;
    let bound = bed.server.bind_http("127.0.0.1:0", HttpOptions::default()).await.unwrap();
    let address = bound.address().unwrap();
    let serving = tokio::spawn(bound.serve(std::future::pending()));
    let seen = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..CONNECTIONS {
        let seen = seen.clone();
        clients.spawn(async move {
            // Uses four addresses, because one address may only have a share of all sessions.
            let from = std::net::Ipv4Addr::new(127, 0, 0, u8::try_from(client % 4).unwrap() + 1);
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind((from, 0).into()).unwrap();
            let mut tcp = socket.connect(address).await.unwrap();
            for number in 0..SESSIONS / CONNECTIONS {
                let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"swarm","version":"1"}}}"#;
                let (head, _) = post(&mut tcp, None, hello).await;
                let lower = head.to_ascii_lowercase();
                let session = lower.split("mcp-session-id: ").nth(1).unwrap().lines().next().unwrap().to_owned();
                let tool = if number % 2 == 0 { "local__echo" } else { "web__echo" };
                let mine = format!("c{client}n{number}e");
                let call = format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"mine":"{mine}"}}}}}}"#
                );
                let (_, answer) = post(&mut tcp, Some(&session), &call).await;
                assert!(answer.contains(&mine), "{mine}: {answer}");
                seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        });
    }
    clients.join_all().await;
    assert_eq!(seen.load(std::sync::atomic::Ordering::Relaxed), SESSIONS);
    serving.abort();
    bed.gateway.stop().await;
}
