//! HTTP servers for tests, each with one fixed behaviour.

use std::future::Future;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Answers with a body of `bytes` bytes; returns the URL.
pub(crate) async fn serve(bytes: usize) -> String {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
    say(head + &"x".repeat(bytes)).await
}

/// Answers every request with this text and closes the connection; returns the URL.
pub(crate) async fn say(text: String) -> String {
    act(move |mut visitor| {
        let text = text.clone();
        async move {
            let _ = visitor.write_all(text.as_bytes()).await;
        }
    })
    .await
}

/// Accepts requests and never answers; returns the URL.
pub(crate) async fn silent() -> String {
    act(|visitor| async move {
        std::future::pending::<()>().await;
        drop(visitor);
    })
    .await
}

/// Ways to send without completing a response, each with the expected error if no limit on body bytes is hit first.
pub(crate) const TALKS: [(Talk, &str); 5] = [
    (Talk::Drip, "did not answer within 300 ms"),
    (Talk::Repeat("", "HTTP/1.1 103 Early Hints\r\n\r\n"), "INTERIM_HEADS_MAX"),
    (Talk::Repeat(CHUNKED_END, "X: y\r\n"), "HEADERS_MAX"),
    (Talk::Repeat(CHUNKED, "1\r\n \r\n"), "did not answer within 300 ms"),
    (Talk::Repeat("HTTP/1.1 200 OK\r\n\r\n", " "), "did not answer within 300 ms"),
];

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const CHUNKED_END: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n";

#[derive(Debug, Clone, Copy)]
pub(crate) enum Talk {
    /// One byte of a body every 20 ms.
    Drip,
    /// The first text once, then the second one endlessly.
    Repeat(&'static str, &'static str),
}

/// Answers every request in this way until the client disconnects; returns the URL.
pub(crate) async fn talk(talk: Talk) -> String {
    act(move |mut visitor| async move {
        match talk {
            Talk::Drip => {
                let _ = visitor.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n").await;
                while visitor.write_all(b" ").await.is_ok() {
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
            }
            Talk::Repeat(first, then) => {
                let _ = visitor.write_all(first.as_bytes()).await;
                let piece = then.repeat(16 * 1024 / then.len());
                while visitor.write_all(piece.as_bytes()).await.is_ok() {}
            }
        }
    })
    .await
}

/// Passes each connection to `answer` after its first request was read; returns the URL.
pub(crate) async fn act<F: Future<Output = ()> + Send + 'static>(
    answer: impl Fn(TcpStream) -> F + Send + 'static,
) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut visitor, _)) = listener.accept().await {
            let _ = visitor.read(&mut [0; 4096]).await;
            tokio::spawn(answer(visitor));
        }
    });
    url
}
