//! Plain HTTP server: calls a handler with whole requests, behind the limits of the MCP endpoint.
//!
//! Guarantees: the handler sees only requests whose head, body and timing are within the limits and whose Host and
//! Origin are expected. A panic in it ends only that connection.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::sync::watch;
use toolcrib_engine::meter::Meter;
use toolcrib_engine::quota::{Held, Quota};
use toolcrib_engine::{Principal, Share};

use crate::accept::JSON;
use crate::limits::{BODY_BYTES_MAX, BODY_MS_MAX, HEAD_MS_MAX, SHUTDOWN_MS_MAX};
use crate::load::LoadLimits;
use crate::rebinding::Expected;
use crate::seats::Seats;
use crate::shed::Shed;
use crate::socket::{BoundSocket, Socket};
use toolcrib_http1::limits::HEAD_BYTES_MAX;
use toolcrib_http1::server::{self, Service, Unreadable};
use toolcrib_http1::{ReplyBody, RequestHead, Response};

/// Response of a handler: status, headers, body. The content type is JSON unless a header sets another.
#[derive(Debug)]
pub struct PlainResponse {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// Handler of requests.
pub trait Answers: Send + Sync + 'static {
    fn answer(&self, request: RequestHead) -> Pin<Box<dyn Future<Output = PlainResponse> + Send + '_>>;
}

/// A bound address, ready to serve.
pub struct PlainListener {
    plain: Arc<Plain>,
    socket: BoundSocket,
    load: LoadLimits,
}

/// The handler behind the checks.
struct Plain {
    answers: Arc<dyn Answers>,
    expected: Expected,
    /// Quota of bytes of large request heads.
    heads: Arc<Quota>,
    /// Quota of bytes of request bodies that are received or processed.
    bodies: Arc<Quota>,
    meter: Meter,
}

/// A request whose head was accepted.
struct Admitted {
    address: Option<IpAddr>,
    /// Quota of a large body.
    body: Option<Held>,
}

impl std::fmt::Debug for PlainListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlainListener").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl PlainListener {
    pub async fn bind(answers: Arc<dyn Answers>, expected: Expected, address: &str) -> io::Result<Self> {
        let load = LoadLimits::default();
        let (heads, bodies) = (Quota::new(load.heads), Quota::new(load.bodies));
        let plain = Plain { answers, expected, heads, bodies, meter: Meter::default() };
        Ok(Self { plain: Arc::new(plain), socket: BoundSocket::bind(address).await?, load })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.address()
    }

    /// Serves until `stop` resolves, then lets requests in flight finish.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let (stopping, stopped) = watch::channel(false);
        let seats = Seats::new(self.load.connections);
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                accepted = seats.accept(&self.socket) => {
                    let (socket, seat) = accepted?;
                    let (plain, stopped) = (self.plain.clone(), stopped.clone());
                    tokio::spawn(async move {
                        let (address, within) = (socket.peer(), Duration::from_millis(HEAD_MS_MAX));
                        match socket {
                            Socket::Tcp(tcp) => {
                                server::serve(tcp, plain, address, stopped, within).await;
                            }
                            Socket::Unix(unix) => {
                                server::serve(unix, plain, address, stopped, within).await;
                            }
                        }
                        drop(seat);
                    });
                }
            }
        }
        let _ = stopping.send(true);
        let _ = tokio::time::timeout(Duration::from_millis(SHUTDOWN_MS_MAX), seats.all_free()).await;
        Ok(())
    }
}

impl Service for Plain {
    type Admitted = Admitted;
    type HeadRoom = Held;

    fn head_room(&self, _: Option<&RequestHead>, address: Option<IpAddr>) -> Result<Held, Response> {
        let share = Share::of(&Principal::Anonymous, None, address);
        let taken = self.heads.take(&share, HEAD_BYTES_MAX);
        taken.map_err(|full| Shed::from(full).response(&self.meter))
    }

    fn admit(&self, head: &RequestHead, address: Option<IpAddr>) -> Result<Admitted, Response> {
        match self.expected.check(head) {
            Ok(()) => Ok(Admitted { address, body: None }),
            Err(rebinding) => Err(refused(StatusCode::FORBIDDEN, &rebinding.to_string())),
        }
    }

    fn reserve(&self, admitted: &mut Admitted, bytes: usize) -> Result<(), Response> {
        let share = Share::of(&Principal::Anonymous, None, admitted.address);
        let reserved = match &mut admitted.body {
            Some(held) => held.grow(bytes.saturating_sub(held.amount())),
            None => self.bodies.take(&share, bytes).map(|held| admitted.body = Some(held)),
        };
        reserved.map_err(|full| Shed::from(full).response(&self.meter))
    }

    fn body_limits(&self) -> (usize, Duration) {
        (BODY_BYTES_MAX, Duration::from_millis(BODY_MS_MAX))
    }

    fn unread(&self, _: Admitted, why: Unreadable) -> Response {
        match why {
            Unreadable::TooLong(_) => refused(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"),
            Unreadable::TooSlow => refused(StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive"),
            Unreadable::Framing { .. } | Unreadable::Broken => {
                refused(StatusCode::BAD_REQUEST, "the body could not be read")
            }
        }
    }

    async fn answer(self: &Arc<Self>, head: RequestHead, admitted: Admitted) -> Response {
        let response = written(self.answers.answer(head).await);
        drop(admitted);
        response
    }
}

fn written(answer: PlainResponse) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let is_named = answer.headers.iter().any(|(name, _)| *name == "content-type");
    let mut response = Response::empty(status);
    if !answer.body.is_empty() {
        response.media_type = (!is_named).then_some(JSON);
        response.body = ReplyBody::Whole(answer.body.into());
    }
    answer.headers.iter().fold(response, |response, (name, value)| response.with(name, value))
}

fn refused(status: StatusCode, message: &str) -> Response {
    Response::json(status, format!("{{\"error\":\"{message}\"}}"))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;
    use toolcrib_engine::quota::{Bound, Bounds};

    use super::*;

    struct Nothing;

    impl Answers for Nothing {
        fn answer(&self, _: RequestHead) -> Pin<Box<dyn Future<Output = PlainResponse> + Send + '_>> {
            Box::pin(async { PlainResponse { status: 204, headers: Vec::new(), body: Vec::new() } })
        }
    }

    /// `CONNECTIONS_MAX`: a listener without a free place can still be stopped.
    #[tokio::test]
    async fn a_saturated_listener_stops_when_it_is_told_to() {
        let mut listener =
            PlainListener::bind(Arc::new(Nothing), Expected::default(), "127.0.0.1:0").await.unwrap();
        let one = Bound { name: "CONNECTIONS_MAX", max: 1, counts: "connections" };
        listener.load.connections = Bounds { total: one, share: one };
        let address = listener.address().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(listener.serve(async {
            let _ = stopped.await;
        }));
        let _held = TcpStream::connect(address).await.unwrap();
        let _waiting = TcpStream::connect(address).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!serving.is_finished());
        drop(stop);
        let stopping = tokio::time::timeout(Duration::from_secs(5), serving).await;
        stopping.expect("it does not stop").unwrap().unwrap();
    }
}
