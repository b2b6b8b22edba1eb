//! Authentication of HTTP requests.

use std::fmt;
use std::sync::Arc;

use toolcrib_engine::safety::credential::Credential;
use toolcrib_engine::{Principal, Safety};

use crate::bearer::token;
use toolcrib_http1::RequestHead;

/// Maps a request's credential to a principal; called for every request.
pub trait Authenticator: Send + Sync {
    /// Returns the principal, or the challenge to send with 401.
    fn principal(&self, head: &RequestHead) -> Result<Principal, Challenge>;

    /// Returns a number that changes whenever a credential may have been revoked.
    fn revocations(&self) -> u64 {
        0
    }

    /// Returns `true` if a principal that showed a credential at `since_ms` (Unix time) may still be served. Called
    /// for open streams, sessions and calls in flight after [`Authenticator::revocations`] has changed.
    fn still_holds(&self, _principal: &Principal, _since_ms: u64) -> bool {
        true
    }
}

impl fmt::Debug for dyn Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authenticator")
    }
}

/// Value of `WWW-Authenticate` for an unauthenticated client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    pub www_authenticate: String,
}

impl Challenge {
    /// Challenge for a bearer token.
    #[must_use]
    pub fn bearer() -> Self {
        Self { www_authenticate: "Bearer realm=\"toolcrib\"".to_owned() }
    }
}

/// No authentication: everyone is anonymous. For loopback.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open;

impl Authenticator for Open {
    fn principal(&self, _head: &RequestHead) -> Result<Principal, Challenge> {
        Ok(Principal::Anonymous)
    }
}

/// Authenticator for the operator's own credentials. A request without one is anonymous if that is allowed; an invalid
/// one is always refused.
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

/// Credential in a request.
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
