//! Malformed responses through nginx, which keeps its connections to the server that sends them and to our client.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use toolcrib_http1::client::ClientConnection;
use toolcrib_testkit::nginx::Nginx;

use crate::response_cases::{self, Expected, INNOCENT};
use crate::responses::next;

/// Times that the whole corpus is sent.
const ROUNDS: usize = 5;

/// How long the server waits for the next request on a connection.
const IDLE: Duration = Duration::from_millis(200);

/// Timeout of one response; nginx gives up earlier.
const SOON: Duration = Duration::from_secs(10);

/// Answers `/case/N` with the case of that number and a response that nobody requested, and other paths with the path.
async fn serve(stream: TcpStream) -> std::io::Result<()> {
    let cases = response_cases::all();
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            // nginx may wait for the rest of a response that is complete here.
            match tokio::time::timeout(IDLE, stream.read_line(&mut head)).await {
                Ok(Ok(1..)) => {}
                _ => return Ok(()),
            }
        }
        let path = head.split(' ').nth(1).unwrap();
        let case = path.strip_prefix("/case/").map(|number| &cases[number.parse::<usize>().unwrap()]);
        let answer = match case {
            Some(case) => [case.bytes.as_slice(), INNOCENT.as_bytes()].concat(),
            None => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{path}", path.len()).into_bytes(),
        };
        stream.write_all(&answer).await?;
        if case.is_some_and(|case| !matches!(case.expected, Expected::Kept(..))) {
            return stream.shutdown().await;
        }
    }
}

async fn connect(address: SocketAddr) -> ClientConnection<TcpStream> {
    ClientConnection::new(TcpStream::connect(address).await.unwrap())
}

async fn ask(conn: &mut ClientConnection<TcpStream>, path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    conn.send(|out| out.extend_from_slice(request.as_bytes())).await.unwrap();
}

/// R14.1: whatever response nginx got from the server, the next request is answered with its own response.
#[tokio::test(flavor = "multi_thread")]
async fn no_request_through_nginx_gets_the_rest_of_an_earlier_response() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let Some(nginx) = Nginx::start(listener.local_addr().unwrap()) else { return };
    let nginx = nginx.unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    let cases = response_cases::all();
    let mut conn = connect(nginx.address).await;
    let mut kept = 0;
    for at in 0..ROUNDS * cases.len() {
        let case = &cases[at % cases.len()];
        ask(&mut conn, &format!("/case/{}", at % cases.len())).await;
        let read = tokio::time::timeout(SOON, next(&mut conn, || 0)).await;
        let read = read.unwrap_or_else(|_| panic!("no end: {}", case.name()));
        if read.is_ok_and(|own| own.is_kept && own.left == 0) {
            kept += 1;
        } else {
            conn = connect(nginx.address).await;
        }
        let path = format!("/innocent/{at}");
        ask(&mut conn, &path).await;
        let own = tokio::time::timeout(SOON, next(&mut conn, || 0)).await.unwrap().unwrap();
        let body = String::from_utf8_lossy(&own.body);
        assert_eq!((own.status, &*body, own.left), (200, &*path, 0), "after {}", case.name());
    }
    assert!(kept > cases.len(), "only {kept} connections were used again");
}
