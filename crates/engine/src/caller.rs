//! Who sent a request, over what, and how it can be spoken to.

use std::fmt;
use std::sync::Arc;

use toolcrib_protocol::header::Headers;

use crate::exchange::Exchange;
use crate::peer::Peer;
use crate::principal::Principal;
use crate::toolset::selection::Approach;

/// The sender of one request. Made by [`crate::stage::caller`] or from a session.
#[derive(Clone)]
pub struct Caller<'a> {
    pub principal: Principal,
    pub peer: Peer,
    /// The transport's headers, where it has any that must mirror the body.
    pub headers: Option<&'a (dyn Headers + Sync)>,
    pub exchange: Arc<Exchange>,
    /// By which address and headers it came; absent where nothing is to be said of it.
    pub approach: Option<Arc<Approach>>,
}

impl Caller<'_> {
    /// The same caller, come by this way.
    #[must_use]
    pub fn by(mut self, approach: impl Into<Option<Arc<Approach>>>) -> Self {
        self.approach = approach.into();
        self
    }

    /// By which address and headers it came.
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
