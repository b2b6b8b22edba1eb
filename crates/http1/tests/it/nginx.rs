//! Malformed requests through nginx, which shares its connections to our server with innocent clients.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::net::TcpListener;
use tokio::sync::watch;
use toolcrib_http1::server::{Service, Unreadable, serve};
use toolcrib_http1::{RequestHead, Response};
use toolcrib_testkit::nginx::Nginx;

use crate::request_cases::{self, INNOCENT};
use crate::requests::BODY_BYTES_MAX;

/// Number of attempts to make nginx and our server disagree about where a request ends.
const TRIES: usize = 2_000;

/// Maximum connections of the attacker that stay open at the same time.
const HELD_MAX: usize = 16;

/// Server that answers each request with the path that it read.
struct Paths;

impl Service for Paths {
    type Admitted = ();
    type HeadRoom = ();

    fn head_room(&self, _: Option<&RequestHead>, _: Option<IpAddr>) -> Result<(), Response> {
        Ok(())
    }

    fn admit(&self, _: &RequestHead, _: Option<IpAddr>) -> Result<(), Response> {
        Ok(())
    }

    fn body_limits(&self) -> (usize, Duration) {
        (BODY_BYTES_MAX, Duration::from_secs(5))
    }

    fn reserve(&self, (): &mut (), _: usize) -> Result<(), Response> {
        Ok(())
    }

    fn unread(&self, (): (), _: Unreadable) -> Response {
        Response::empty(StatusCode::BAD_REQUEST)
    }

    async fn answer(self: &Arc<Self>, head: RequestHead, (): ()) -> Response {
        Response::json(StatusCode::OK, head.path_bytes().to_vec())
    }
}

async fn accept(listener: TcpListener) -> Infallible {
    let (_running, stopped) = watch::channel(false);
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let stopped = stopped.clone();
        tokio::spawn(async move {
            serve(stream, Arc::new(Paths), None, stopped, Duration::from_secs(30)).await;
        });
    }
}

/// Requests a path on a kept connection and returns the body of the response.
fn asked(connection: &mut TcpStream, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let (mut answer, mut buffer) = (String::new(), [0; 4096]);
    loop {
        let read = connection.read(&mut buffer).unwrap_or_else(|error| panic!("{path}: {error}: {answer}"));
        assert!(read > 0, "{path}: closed after {answer:?}");
        answer += std::str::from_utf8(&buffer[..read]).unwrap();
        let Some((head, body)) = answer.split_once("\r\n\r\n") else { continue };
        assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
        if body.len() >= length.parse().unwrap() {
            return body.to_owned();
        }
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    connection.set_nodelay(true).unwrap();
    connection
}

/// R14.2: no request that nginx forwards makes our server send another client a response that is not its own.
#[test]
fn no_client_behind_nginx_gets_an_answer_that_is_not_its_own() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let backend = listener.local_addr().unwrap();
    runtime.spawn(accept(listener));
    let Some(nginx) = Nginx::start(backend) else { return };
    let nginx = nginx.unwrap();
    let cases = request_cases::all();
    let mut victim = connect(nginx.address);
    let mut held = VecDeque::new();
    for attempt in 0..TRIES.max(cases.len()) {
        let case = &cases[attempt % cases.len()];
        let mut attacker = connect(nginx.address);
        let input = [case.bytes.as_slice(), INNOCENT.as_bytes()].concat();
        // nginx may refuse and close before it has read everything.
        let _ = attacker.write_all(&input);
        let path = format!("/victim/{attempt}");
        assert_eq!(asked(&mut victim, &path), path, "after {}", case.name());
        held.push_back(attacker);
        if held.len() > HELD_MAX {
            held.pop_front();
        }
        assert_eq!(asked(&mut victim, &path), path, "after a client left behind {}", case.name());
    }
}
