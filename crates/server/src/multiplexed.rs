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

impl Service for Multiplexed {
    type Admitted = Counted;
    type HeadRoom = Held;

    /// Counts by the peer's address, because the client's address is in the head.
    fn head_room(&self, address: Option<IpAddr>) -> Result<Held, Response> {
        self.endpoint.head_room(address)
    }

    fn admit(&self, head: &RequestHead, peer: Option<IpAddr>) -> Result<Counted, Response> {
        let client = self.proxies.as_ref().map_or(peer, |proxies| proxies.client(head, peer));
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
    use toolcrib_engine::engine::{Engine, Options, ServerInfo};
    use toolcrib_engine::quota::{Bound, Bounds};

    use super::*;
    use crate::http::HttpOptions;

    /// R14.2, `REQUESTS_PER_ADDRESS_MAX`: behind a trusted proxy each client has its own share; elsewhere the header
    /// has no effect.
    #[tokio::test]
    async fn requests_count_for_the_client_behind_a_trusted_proxy() {
        let engine = Engine::new(ServerInfo::new("s", "1"), Options::default(), None).unwrap();
        let endpoint = Endpoint::new(Arc::new(engine), HttpOptions::default());
        let bound = |name, max| Bound { name, max, counts: "requests" };
        let bounds = Bounds { total: bound("REQUESTS_MAX", 3), share: bound("REQUESTS_PER_ADDRESS_MAX", 1) };
        let requests = Quota::new(bounds);
        let peer: IpAddr = "127.0.0.1".parse().unwrap();
        let proxies = Arc::new(TrustedProxies::new(vec![peer.into()], false));
        let served = |proxies| {
            Arc::new(Multiplexed { endpoint: endpoint.clone(), requests: requests.clone(), proxies })
        };
        let (behind, direct) = (served(Some(proxies)), served(None));
        let from = |client: &str| {
            let fields = [
                ("host", &b"localhost"[..]),
                ("content-type", b"application/json"),
                ("accept", b"application/json, text/event-stream"),
                ("x-forwarded-for", client.as_bytes()),
            ];
            RequestHead::assemble(&::http::Method::POST, "/mcp", fields).unwrap()
        };
        let first = behind.admit(&from("203.0.113.1"), Some(peer)).unwrap();
        let refused = behind.admit(&from("203.0.113.1"), Some(peer)).unwrap_err();
        assert_eq!(refused.status, 429);
        let _second = behind.admit(&from("203.0.113.2"), Some(peer)).unwrap();
        let _peer = direct.admit(&from("203.0.113.3"), Some(peer)).unwrap();
        let full = behind.admit(&from("203.0.113.4"), Some(peer)).unwrap_err();
        assert_eq!(full.status, 503);
        let response = behind.answer(from("203.0.113.1"), first).await;
        assert_eq!(requests.total(), 3, "the answer is not written yet");
        drop(response);
        assert_eq!(requests.total(), 2);
        assert_eq!(direct.admit(&from("203.0.113.3"), Some(peer)).unwrap_err().status, 429);
    }
}
