//! Admission of connections, bounded in total and per address.
//!
//! When all places are taken, further connections wait in the accept queue. A connection from an address over its
//! share is accepted, refused and closed, because left waiting it would block connections of other addresses. A failed
//! `accept` never ends a listener.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use toolcrib_engine::quota::{Bounds, Held, Quota};
use toolcrib_engine::{Principal, Share};

use crate::forwarded::TrustedProxies;
use crate::limits::ACCEPT_PAUSE_MS;
use crate::shed::Shed;
use crate::socket::{BoundSocket, Socket};

/// All places of a listener.
#[derive(Debug)]
pub(crate) struct Seats {
    free: Arc<Semaphore>,
    count: usize,
    by_address: Arc<Quota>,
    /// Connections of trusted proxies count in the total only, because their requests count by the client's address.
    proxies: Arc<TrustedProxies>,
    /// `true` to send a refusal before closing; a client would not understand it before a TLS handshake.
    is_told: bool,
}

/// Place of one connection; freed when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    _place: OwnedSemaphorePermit,
    _of_address: Option<Held>,
}

impl Seats {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let count = bounds.total.max.min(Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(count)),
            count,
            by_address: Quota::new(bounds),
            proxies: Arc::default(),
            is_told: true,
        }
    }

    /// Exempts trusted proxies from the bound per address.
    pub(crate) fn with_proxies(self, proxies: Arc<TrustedProxies>) -> Self {
        Self { proxies, ..self }
    }

    /// With `true`, closes refused connections without an answer.
    pub(crate) fn silent(self, is_silent: bool) -> Self {
        Self { is_told: !is_silent, ..self }
    }

    /// Accepts the next connection for which there is a place.
    pub(crate) async fn accept(&self, bound: &BoundSocket) -> io::Result<(Socket, Seat)> {
        self.accept_by(|| bound.accept()).await
    }

    async fn accept_by<F>(&self, mut accept: impl FnMut() -> F) -> io::Result<(Socket, Seat)>
    where
        F: Future<Output = io::Result<Socket>>,
    {
        let place = self.free.clone().acquire_owned().await.map_err(io::Error::other)?;
        loop {
            match accept().await {
                Ok(socket) => match self.seat(socket.peer()) {
                    Ok(held) => return Ok((socket, Seat { _place: place, _of_address: held })),
                    // The socket buffer of a new connection has room for so few bytes; the connection is closed in any
                    // case.
                    Err(shed) if self.is_told => socket.say_and_close(&shed.raw()),
                    Err(_) => {}
                },
                // Out of file descriptors, or the client disconnected before it was accepted: neither ends the server.
                Err(error) => {
                    tracing::warn!(target: "toolcrib", "accepting a connection failed: {error}");
                    tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                }
            }
        }
    }

    fn seat(&self, peer: Option<IpAddr>) -> Result<Option<Held>, Shed> {
        if self.proxies.trusts(peer) {
            return Ok(None);
        }
        let share = Share::of(&Principal::Anonymous, None, peer);
        self.by_address.take(&share, 1).map(Some).map_err(Shed::from)
    }

    /// Returns when all places are free.
    pub(crate) async fn all_free(&self) {
        let all = u32::try_from(self.count).unwrap_or(u32::MAX);
        let _ = self.free.acquire_many(all).await;
    }

    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        self.count - self.free.available_permits()
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::io::AsyncReadExt;
    use tokio::net::TcpStream;
    use toolcrib_engine::quota::Bound;

    use super::*;

    fn seats(total: usize, share: usize) -> Seats {
        let bound = |name, max| Bound { name, max, counts: "connections" };
        let share = bound("CONNECTIONS_PER_ADDRESS_MAX", share);
        Seats::new(Bounds { total: bound("CONNECTIONS_MAX", total), share })
    }

    async fn listening() -> (BoundSocket, SocketAddr) {
        let tcp = BoundSocket::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.address().unwrap();
        (tcp, address)
    }

    /// `CONNECTIONS_MAX`: a connection over the limit waits until another ends.
    #[tokio::test]
    async fn with_connections_max_open_the_next_one_waits_for_a_place() {
        let (seats, (tcp, address)) = (seats(1, 1), listening().await);
        let _first = TcpStream::connect(address).await.unwrap();
        let seat = seats.accept(&tcp).await.unwrap();
        let _second = TcpStream::connect(address).await.unwrap();
        let wait = Duration::from_millis(100);
        assert!(tokio::time::timeout(wait, seats.accept(&tcp)).await.is_err());
        assert_eq!(seats.taken(), 1);
        drop(seat);
        seats.accept(&tcp).await.unwrap();
    }

    /// `CONNECTIONS_PER_ADDRESS_MAX`: a connection over the limit gets 429; other addresses are still accepted.
    #[tokio::test]
    async fn an_address_over_connections_per_address_max_is_turned_away_and_others_are_not() {
        let (seats, (tcp, address)) = (seats(3, 1), listening().await);
        let _first = TcpStream::connect(address).await.unwrap();
        let seat = seats.accept(&tcp).await.unwrap();
        let mut refused = TcpStream::connect(address).await.unwrap();
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        let _other = socket.connect(address).await.unwrap();
        let (other, _seat) = seats.accept(&tcp).await.unwrap();
        assert_eq!(other.peer().unwrap().to_string(), "127.0.0.2");
        let mut text = String::new();
        refused.read_to_string(&mut text).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{text}");
        assert!(
            text.contains("\r\nretry-after: 1\r\n") && text.contains("CONNECTIONS_PER_ADDRESS_MAX"),
            "{text}"
        );
        drop(seat);
        let _again = TcpStream::connect(address).await.unwrap();
        seats.accept(&tcp).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_that_cannot_accept_pauses_for_accept_pause_ms_and_goes_on() {
        let seats = seats(1, 1);
        let mut tries = 0;
        let accepting = seats.accept_by(|| {
            tries += 1;
            let fails = tries <= 3;
            async move { if fails { Err(io::ErrorKind::Other.into()) } else { std::future::pending().await } }
        });
        let pauses = Duration::from_millis(ACCEPT_PAUSE_MS);
        assert!(tokio::time::timeout(pauses * 3 + Duration::from_millis(1), accepting).await.is_err());
        assert_eq!(tries, 4, "three pauses, and it tries again");
    }

    /// R14.2: connections of a trusted proxy are not bounded by its address; all others are.
    #[tokio::test]
    async fn a_trusted_proxy_may_have_more_connections_than_one_address() {
        let proxies = TrustedProxies::new(vec!["127.0.0.1/32".parse().unwrap()], false);
        let (seats, (tcp, address)) = (seats(3, 1).with_proxies(Arc::new(proxies)), listening().await);
        let mut held = Vec::new();
        for _ in 0..2 {
            let client = TcpStream::connect(address).await.unwrap();
            held.push((client, seats.accept(&tcp).await.unwrap()));
        }
        assert!(seats.seat("127.0.0.2".parse().ok()).is_ok_and(|held| held.is_some()));
    }
}
