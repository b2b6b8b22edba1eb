//! Who sends an HTTP request.

use std::fmt;

use http::HeaderMap;
use toolcrib_engine::Principal;

/// Turns a request's credential into a principal, for every request anew.
pub trait Authenticator: Send + Sync {
    /// The principal, or the challenge to send with 401.
    fn principal(&self, headers: &HeaderMap) -> Result<Principal, Challenge>;
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

/// Nobody is asked: everyone is anonymous. For loopback.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open;

impl Authenticator for Open {
    fn principal(&self, _headers: &HeaderMap) -> Result<Principal, Challenge> {
        Ok(Principal::Anonymous)
    }
}
