//! Service for connections that carry several requests at once (HTTP/2) or requests of several clients (trusted
//! proxies).
//!
//! Guarantees: each request counts towards its client's address until its answer is written, like a connection of its
//! own. Limits, credentials and checks are those of the endpoint.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_engine::quota::{Held, Quota};
use toolcrib_engine::{Principal, Share};
use toolcrib_http1::server::{Service, Unreadable};
use toolcrib_http1::{RequestHead, Response};

use crate::forwarded::TrustedProxies;
use crate::http::{self, Endpoint};
use crate::shed::Shed;

/// The endpoint behind one such connection.
#[derive(Debug)]
pub(crate) struct Multiplexed {
    pub(crate) endpoint: Arc<Endpoint>,
    /// Quota of requests on connections of this kind.
    pub(crate) requests: Arc<Quota>,
    /// Trusted proxies, if the peer is one of them.
    pub(crate) proxies: Option<Arc<TrustedProxies>>,
}

/// An admitted request and its place in the quota.
#[derive(Debug)]
pub(crate) struct Counted {
    admitted: http::Admitted,
    place: Held,
}

impl Multiplexed {
    /// Returns the address that a request counts for.
    fn client(&self, head: &RequestHead, peer: Option<IpAddr>) -> Option<IpAddr> {
        self.proxies.as_ref().map_or(peer, |proxies| proxies.client(head, peer))
    }
}

impl Service for Multiplexed {
    type Admitted = Counted;
    type HeadRoom = Held;

    /// Counts by the peer's address until the head says who the client is.
    fn head_room(&self, head: Option<&RequestHead>, peer: Option<IpAddr>) -> Result<Held, Response> {
        self.endpoint.head_room(head, head.map_or(peer, |head| self.client(head, peer)))
    }

    fn admit(&self, head: &RequestHead, peer: Option<IpAddr>) -> Result<Counted, Response> {
        let client = self.client(head, peer);
        let share = Share::of(&Principal::Anonymous, None, client);
        let meter = self.endpoint.engine().meter();
        let place = self.requests.take(&share, 1).map_err(|full| Shed::from(full).response(meter))?;
        self.endpoint.admit(head, client).map(|admitted| Counted { admitted, place })
    }

    fn body_limits(&self) -> (usize, Duration) {
        self.endpoint.body_limits()
    }

    fn reserve(&self, counted: &mut Counted, bytes: usize) -> Result<(), Response> {
        self.endpoint.reserve(&mut counted.admitted, bytes)
    }

    fn unread(&self, counted: Counted, why: Unreadable) -> Response {
        Service::unread(&*self.endpoint, counted.admitted, why)
    }

    async fn answer(self: &Arc<Self>, head: RequestHead, counted: Counted) -> Response {
        let Counted { admitted, place } = counted;
        let mut response = self.endpoint.answer(head, admitted).await;
        response.held = Some(Box::new((response.held.take(), place)));
        response
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::sync::watch;
    use toolcrib_engine::engine::{Engine, Options, ServerInfo};
    use toolcrib_engine::quota::{Bound, Bounds};
    use toolcrib_http1::limits::HEAD_BYTES_MAX;

    use super::*;
    use crate::http::HttpOptions;
    use crate::load::LoadLimits;

    const PEER: &str = "127.0.0.1";

    fn forwarded_for(client: &str) -> RequestHead {
        let fields = [
            ("host", &b"localhost"[..]),
            ("content-type", b"application/json"),
            ("accept", b"application/json, text/event-stream"),
            ("x-forwarded-for", client.as_bytes()),
        ];
        RequestHead::assemble(&::http::Method::POST, "/mcp", fields).unwrap()
    }

    /// R14.2, `HEADS_BYTES_PER_SHARE_MAX`: large heads from a trusted proxy count for its clients once they are read, so
    /// that one client does not use up the share of the others.
    #[tokio::test(start_paused = true)]
    async fn large_heads_count_for_the_client_behind_a_trusted_proxy() {
        let engine = Engine::new(ServerInfo::new("s", "1"), Options::default(), None).unwrap();
        let bound = |name, heads| Bound { name, max: heads * HEAD_BYTES_MAX, counts: "bytes" };
        let heads =
            Bounds { total: bound("HEADS_BYTES_MAX", 4), share: bound("HEADS_BYTES_PER_SHARE_MAX", 1) };
        let load = LoadLimits { heads, ..LoadLimits::default() };
        let peer: IpAddr = PEER.parse().unwrap();
        let served = Arc::new(Multiplexed {
            endpoint: Endpoint::new(Arc::new(engine), HttpOptions { load, ..HttpOptions::default() }),
            requests: Quota::new(load.requests),
            proxies: Some(Arc::new(TrustedProxies::new(vec![peer.into()], false))),
        });
        let _greedy = served.head_room(Some(&forwarded_for("203.0.113.1")), Some(peer)).unwrap();
        for (client, expected) in [("203.0.113.1", "429"), ("203.0.113.2", "404")] {
            for is_split in [false, true] {
                let (mut proxy, other) = duplex(1 << 20);
                let (_stop, stopped) = watch::channel(false);
                let within = Duration::from_secs(5);
                let serving =
                    toolcrib_http1::server::serve(other, served.clone(), Some(peer), stopped, within);
                let long = "x".repeat(20_000);
                let head = format!(
                    "GET /none HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {client}\r\nX-Long: {long}"
                );
                let sending = async {
                    proxy.write_all(head.as_bytes()).await.unwrap();
                    if is_split {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    proxy.write_all(b"\r\nConnection: close\r\n\r\n").await.unwrap();
                    let mut answer = String::new();
                    proxy.read_to_string(&mut answer).await.unwrap();
                    answer
                };
                let ((), answer) = tokio::join!(serving, sending);
                assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{client}: {answer}");
            }
        }
    }

    /// R14.2, `REQUESTS_PER_ADDRESS_MAX`: behind a trusted proxy each client has its own share; elsewhere the header
    /// has no effect.
    #[tokio::test]
    async fn requests_count_for_the_client_behind_a_trusted_proxy() {
        let engine = Engine::new(ServerInfo::new("s", "1"), Options::default(), None).unwrap();
        let endpoint = Endpoint::new(Arc::new(engine), HttpOptions::default());
        let bound = |name, max| Bound { name, max, counts: "requests" };
        let bounds = Bounds { total: bound("REQUESTS_MAX", 3), share: bound("REQUESTS_PER_ADDRESS_MAX", 1) };
        let requests = Quota::new(bounds);
        let peer: IpAddr = PEER.parse().unwrap();
        let proxies = Arc::new(TrustedProxies::new(vec![peer.into()], false));
        let served = |proxies| {
            Arc::new(Multiplexed { endpoint: endpoint.clone(), requests: requests.clone(), proxies })
        };
        let (behind, direct) = (served(Some(proxies)), served(None));
        let first = behind.admit(&forwarded_for("203.0.113.1"), Some(peer)).unwrap();
        let refused = behind.admit(&forwarded_for("203.0.113.1"), Some(peer)).unwrap_err();
        assert_eq!(refused.status, 429);
        let _second = behind.admit(&forwarded_for("203.0.113.2"), Some(peer)).unwrap();
        let _peer = direct.admit(&forwarded_for("203.0.113.3"), Some(peer)).unwrap();
        let full = behind.admit(&forwarded_for("203.0.113.4"), Some(peer)).unwrap_err();
        assert_eq!(full.status, 503);
        let response = behind.answer(forwarded_for("203.0.113.1"), first).await;
        assert_eq!(requests.total(), 3, "the answer is not written yet");
        drop(response);
        assert_eq!(requests.total(), 2);
        assert_eq!(direct.admit(&forwarded_for("203.0.113.3"), Some(peer)).unwrap_err().status, 429);
    }
}
