//! Plain HTTP: a function from a whole request to a whole response, behind the same limits as everything else.
//!
//! Guarantees: the function sees only requests whose head, body and time are within their limits and whose Host and
//! Origin are expected; a panic in it ends that connection alone.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::accept::JSON;
use crate::body::ReplyBody;
use crate::http1::{self, Head, Response, Service, Unreadable};
use crate::limits::{
    ACCEPT_PAUSE_MS, BODY_BYTES_MAX, BODY_MS_MAX, CONNECTIONS_MAX, HEAD_MS_MAX, SHUTDOWN_MS_MAX,
};
use crate::rebinding::Expected;

/// What becomes of a request that was read whole: status, headers, body. The content type is JSON unless a header says otherwise.
#[derive(Debug)]
pub struct PlainResponse {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// Answers requests.
pub trait Answers: Send + Sync + 'static {
    fn answer(&self, request: Head) -> Pin<Box<dyn Future<Output = PlainResponse> + Send + '_>>;
}

/// A bound address, ready to serve.
pub struct PlainListener {
    plain: Arc<Plain>,
    tcp: TcpListener,
}

/// Whoever answers, behind the checks.
struct Plain {
    answers: Arc<dyn Answers>,
    expected: Expected,
}

impl std::fmt::Debug for PlainListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlainListener").field("tcp", &self.tcp).finish_non_exhaustive()
    }
}

impl PlainListener {
    pub async fn bind(answers: Arc<dyn Answers>, expected: Expected, address: &str) -> io::Result<Self> {
        Ok(Self { plain: Arc::new(Plain { answers, expected }), tcp: TcpListener::bind(address).await? })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// Serves until `stop` is done, then lets what is under way finish.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let (stopping, stopped) = watch::channel(false);
        let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        tokio::pin!(stop);
        loop {
            let permit = connections.clone().acquire_owned().await.map_err(io::Error::other)?;
            tokio::select! {
                () = &mut stop => break,
                accepted = self.tcp.accept() => match accepted {
                    Ok((stream, peer)) => {
                        let (plain, stopped) = (self.plain.clone(), stopped.clone());
                        let _ = stream.set_nodelay(true);
                        tokio::spawn(async move {
                            let (address, within) = (Some(peer.ip()), Duration::from_millis(HEAD_MS_MAX));
                            http1::serve(stream, plain, address, stopped, within, || false).await;
                            drop(permit);
                        });
                    }
                    // Out of descriptors, or a client that left before it was accepted: neither ends the server.
                    Err(error) => {
                        tracing::warn!(target: "toolcrib", "accepting a connection failed: {error}");
                        tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                    }
                },
            }
        }
        let _ = stopping.send(true);
        let all = u32::try_from(CONNECTIONS_MAX).unwrap_or(u32::MAX);
        let _ =
            tokio::time::timeout(Duration::from_millis(SHUTDOWN_MS_MAX), connections.acquire_many(all)).await;
        Ok(())
    }
}

impl Service for Plain {
    type Admitted = ();

    fn admit(&self, head: &Head, _: Option<IpAddr>) -> Result<(), Response> {
        self.expected.check(head).map_err(|rebinding| refused(StatusCode::FORBIDDEN, &rebinding.to_string()))
    }

    fn body_limits(&self) -> (usize, Duration) {
        (BODY_BYTES_MAX, Duration::from_millis(BODY_MS_MAX))
    }

    fn unread(&self, (): (), why: Unreadable) -> Response {
        match why {
            Unreadable::TooLong(_) => refused(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"),
            Unreadable::TooSlow => refused(StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive"),
            Unreadable::Framing { .. } | Unreadable::Broken => {
                refused(StatusCode::BAD_REQUEST, "the body could not be read")
            }
        }
    }

    async fn answer(self: Arc<Self>, head: Head, (): ()) -> Response {
        written(self.answers.answer(head).await)
    }
}

fn written(answer: PlainResponse) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let is_named = answer.headers.iter().any(|(name, _)| *name == "content-type");
    let mut response = Response::empty(status);
    if !answer.body.is_empty() {
        response.media_type = (!is_named).then_some(JSON);
        response.body = ReplyBody::whole(answer.body);
    }
    answer.headers.iter().fold(response, |response, (name, value)| response.with(name, value))
}

fn refused(status: StatusCode, message: &str) -> Response {
    Response::json(status, format!("{{\"error\":\"{message}\"}}"))
}
