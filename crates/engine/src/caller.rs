//! [`Caller`]: the sender of a request, its transport, and how it can be asked.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use toolcrib_protocol::header::Headers;

use crate::exchange::Exchange;
use crate::peer::Peer;
use crate::principal::Principal;
use crate::share::Share;
use crate::toolset::selection::Approach;

/// Sender of one request. Made by [`crate::stage::caller`] or from a session.
#[derive(Clone)]
pub struct Caller<'a> {
    pub principal: Principal,
    pub peer: Peer,
    /// Headers of the transport that must repeat the body, if it has any.
    pub headers: Option<&'a (dyn Headers + Sync)>,
    pub exchange: Arc<Exchange>,
    /// URL and headers that choose the caller's view; `None` if they choose nothing.
    pub approach: Option<Arc<Approach>>,
    /// Network address that the request came from; `None` if the transport has none.
    pub address: Option<IpAddr>,
}

impl Caller<'_> {
    /// Sets the URL and headers that choose the caller's view.
    #[must_use]
    pub fn by(mut self, approach: impl Into<Option<Arc<Approach>>>) -> Self {
        self.approach = approach.into();
        self
    }

    /// Sets the network address that the request came from.
    #[must_use]
    pub fn from_address(mut self, address: Option<IpAddr>) -> Self {
        self.address = address;
        self
    }

    /// Returns the network address of the request, or of the request that opened its session.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.address.or_else(|| self.peer.session()?.opened_from())
    }

    /// Returns the key under which this caller's use of a bounded resource is counted.
    #[must_use]
    pub fn share(&self) -> Share {
        let session = self.peer.session().and_then(|session| session.id());
        Share::of(&self.principal, session, self.address())
    }

    /// Returns the share without regard to sessions: an anonymous caller counts by its address. For bounds that
    /// opening more sessions must not evade.
    #[must_use]
    pub fn owner(&self) -> Share {
        Share::of(&self.principal, None, self.address())
    }

    /// Returns the URL and headers that choose the caller's view.
    #[must_use]
    pub fn approach(&self) -> &Approach {
        Approach::known(self.approach.as_ref())
    }
}

impl fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("principal", &self.principal)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_protocol::{ClientCapabilities, Revision};

    use super::*;
    use crate::session::{Session, SessionId};
    use crate::stage::caller::legacy;

    #[test]
    fn an_anonymous_session_counts_by_itself_and_its_owner_by_the_address_that_opened_it() {
        let address: IpAddr = "10.0.0.7".parse().unwrap();
        let session = |id| {
            let capabilities = ClientCapabilities::default();
            let session = Session::new(id, Principal::Anonymous, Revision::V2025_11_25, capabilities, None);
            session.open_from(Some(address));
            session.open_from(Some("10.0.0.8".parse().unwrap()));
            session
        };
        let id = SessionId::random().unwrap();
        let caller = legacy(&session(Some(id.clone())), Exchange::silent());
        assert_eq!((caller.share(), caller.owner()), (Share::Session(id), Share::Address(address)));
        let elsewhere: IpAddr = "10.0.0.9".parse().unwrap();
        let moved = caller.from_address(Some(elsewhere));
        assert_eq!(moved.owner(), Share::Address(elsewhere), "where the request comes from");
        let sessionless = legacy(&session(None), Exchange::silent());
        assert_eq!(sessionless.share(), Share::Address(address));
    }
}
