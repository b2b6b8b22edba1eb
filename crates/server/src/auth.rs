//! Who sends an HTTP request.

use std::fmt;
use std::sync::Arc;

use toolcrib_engine::safety::credential::Credential;
use toolcrib_engine::{Principal, Safety};

use crate::bearer::token;
use toolcrib_http1::RequestHead;

/// Turns a request's credential into a principal, for every request anew.
pub trait Authenticator: Send + Sync {
    /// The principal, or the challenge to send with 401.
    fn principal(&self, head: &RequestHead) -> Result<Principal, Challenge>;

    /// A number that changes whenever somebody's access may have ended.
    fn revocations(&self) -> u64 {
        0
    }

    /// Whether a principal that showed a credential at `since_ms` (Unix time) may still be served. Asked for open
    /// streams, sessions and calls under way after [`Authenticator::revocations`] has changed.
    fn still_holds(&self, _principal: &Principal, _since_ms: u64) -> bool {
        true
    }
}

impl fmt::Debug for dyn Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authenticator")
    }
}

/// What an unauthenticated client is told in `WWW-Authenticate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    pub www_authenticate: String,
}

impl Challenge {
    /// A bearer token is wanted.
    #[must_use]
    pub fn bearer() -> Self {
        Self { www_authenticate: "Bearer realm=\"toolcrib\"".to_owned() }
    }
}

/// Nobody is asked: everyone is anonymous. For loopback.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open;

impl Authenticator for Open {
    fn principal(&self, _head: &RequestHead) -> Result<Principal, Challenge> {
        Ok(Principal::Anonymous)
    }
}

/// The operator's own credentials. Who shows none is anonymous where that is allowed; a wrong one is refused always.
#[derive(Debug, Clone)]
pub struct Credentialled {
    safety: Arc<Safety>,
    required: bool,
}

impl Credentialled {
    #[must_use]
    pub fn new(safety: Arc<Safety>, required: bool) -> Self {
        Self { safety, required }
    }
}

impl Authenticator for Credentialled {
    fn principal(&self, head: &RequestHead) -> Result<Principal, Challenge> {
        match credential(&self.safety, head) {
            Shown::Nothing if self.required => Err(Challenge::bearer()),
            Shown::Nothing => Ok(Principal::Anonymous),
            Shown::Wrong => Err(Challenge::bearer()),
            Shown::Known(credential) => Ok(Principal::subject(&credential.name)),
        }
    }

    fn revocations(&self) -> u64 {
        self.safety.credentials().revocations()
    }

    fn still_holds(&self, principal: &Principal, since_ms: u64) -> bool {
        match principal {
            Principal::Subject(name) => self.safety.credentials().holds(name, since_ms),
            Principal::Anonymous | Principal::Local => true,
        }
    }
}

/// What a request shows of a credential.
#[derive(Debug)]
pub(crate) enum Shown {
    Nothing,
    Wrong,
    Known(Arc<Credential>),
}

pub(crate) fn credential(safety: &Safety, head: &RequestHead) -> Shown {
    match token(head).and_then(|secret| safety.credentials().find(safety.key(), secret)) {
        Some(credential) => Shown::Known(credential),
        None if head.has("authorization") => Shown::Wrong,
        None => Shown::Nothing,
    }
}
