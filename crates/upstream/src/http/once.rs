//! For tests: an HTTP server that answers one request.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Answers with so many bytes; the URL.
pub(crate) async fn serve(bytes: usize) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut visitor, _) = listener.accept().await.unwrap();
        let _ = visitor.read(&mut [0; 4096]).await;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
        let _ = visitor.write_all((head + &"x".repeat(bytes)).as_bytes()).await;
    });
    url
}
