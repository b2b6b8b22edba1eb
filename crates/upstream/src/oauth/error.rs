//! Reasons why there is no token.
//!
//! Text from a server is shown only shortened and in plain ASCII. No message contains a token, code or secret.

use std::io;

use crate::error::Cause;

/// Reason why no token could be obtained.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OAuthError {
    #[error("nobody has logged in to it: run `toolcrib auth {server}`")]
    LoggedOut { server: Box<str> },
    #[error("{scopes}; run `toolcrib auth {server}` to agree to it")]
    MoreScopes { server: Box<str>, scopes: Box<str> },
    #[error("{scopes}, which its token was asked for already")]
    Insufficient { scopes: Box<str> },
    #[error("{url} cannot be used for a login: {why}")]
    Address { url: Box<str>, why: &'static str },
    #[error("{url}: {cause}")]
    Unreachable { url: Box<str>, cause: Box<Cause> },
    #[error("{url} answered with HTTP {status}")]
    Status { url: Box<str>, status: u16 },
    #[error("{url} says no {what}")]
    Incomplete { url: Box<str>, what: &'static str },
    #[error("{what} is {found:?} and should be {expected:?}")]
    Mismatch { what: &'static str, found: Box<str>, expected: Box<str> },
    #[error("the authorization server refused: {error}{}", shown(description.as_deref()))]
    Refused { error: Box<str>, description: Option<Box<str>> },
    #[error("the authorization server does not say that it supports PKCE with S256")]
    NoPkce,
    #[error("{issuer} registers no clients: configure a client_id")]
    NoClient { issuer: Box<str> },
    #[error("the client credentials grant needs a client_id and a client_secret")]
    NoCredentials,
    #[error("nobody came back from the browser within {ms_max} ms")]
    TooSlow { ms_max: u64 },
    #[error("tokens cannot be kept in {path}: {}", io::Error::from(*kind))]
    Store { path: Box<str>, kind: io::ErrorKind },
    #[error("no browser can come back to this machine: {}", io::Error::from(*kind))]
    Listen { kind: io::ErrorKind },
    #[error("the system gives no random numbers")]
    NoRandomness,
}

/// Maximum characters of a server's text in a message.
const SHOWN_CHARS_MAX: usize = 200;

fn shown(description: Option<&str>) -> String {
    description.map(|text| format!(" ({text})")).unwrap_or_default()
}

/// Makes text from outside safe to show.
pub(super) fn plain(text: &str) -> Box<str> {
    let visible = text.chars().filter(|c| c.is_ascii_graphic() || *c == ' ');
    visible.take(SHOWN_CHARS_MAX).collect::<String>().into()
}
