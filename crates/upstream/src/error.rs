//! Errors of requests to a server.
//!
//! Guarantees: every error tells if anything was sent, which decides if a retry is safe. Its text can be shown to a
//! caller: it contains no header, no environment variable and no body.

use std::io;

use toolcrib_engine::long_work::LongWorkError;
use toolcrib_http1::chunks::ChunkError;
use toolcrib_http1::client::{HeadError, ReadError};
use toolcrib_http1::framing::Ambiguous;
use toolcrib_protocol::{Revision, RpcError};

use crate::oauth::OAuthError;

/// Cause of a failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    #[error("the command {command:?} cannot be started: {}", spawn_text(*kind))]
    Spawn { command: Box<str>, kind: io::ErrorKind },
    #[error("no connection to {address}: {}", io_text(*kind))]
    Connect { address: Box<str>, kind: io::ErrorKind },
    #[error("no secure connection to {address}: {reason}")]
    Tls { address: Box<str>, reason: Box<str> },
    #[error(
        "no secure connection to {address}: its certificate is signed by an authority that is not trusted here; ca_file names one that is"
    )]
    UnknownAuthority { address: Box<str> },
    #[error(
        "no secure connection to {address}: it wants another client certificate than it was shown; client_cert and client_key name one"
    )]
    ClientCertificate { address: Box<str> },
    #[error("the host {host} is unknown: its name has no address")]
    UnknownHost { host: Box<str> },
    #[error("no way through the proxy {proxy}: {reason}")]
    Proxy { proxy: Box<str>, reason: Box<str> },
    #[error("the server answered with HTTP {status}, a redirect to {location}; use that URL if it is right")]
    Redirected { status: u16, location: Box<str> },
    #[error(
        "the server's answer is compressed with {coding}, which is not supported; gzip, deflate and br are"
    )]
    Coding { coding: Box<str> },
    #[error(
        "the server refused with HTTP 403 and a page for people, as firewalls and bot filters do; it does not ask for a token"
    )]
    Filtered,
    #[error("the server's URL cannot be used: {0}")]
    Url(&'static str),
    #[error("the server asks for authentication (HTTP {status})")]
    Unauthorized { status: u16 },
    #[error("the server asks for a token, and there is none: {0}")]
    Token(OAuthError),
    #[error("the server asks for more rights: {0}")]
    Rights(OAuthError),
    #[error("the server answered with HTTP {status}")]
    Status { status: u16 },
    #[error("the server's process ended{}", shown_code(*code))]
    Exited { code: Option<i32> },
    #[error("the server closed the connection")]
    Closed,
    #[error("the server forgot the session")]
    SessionGone,
    #[error("the server did not answer within {ms_max} ms")]
    TooSlow { ms_max: u64 },
    #[error("{limit}: the server sent more than {max} bytes")]
    TooLarge { limit: &'static str, max: usize },
    #[error("{limit}: the server sent more than {max} {what}")]
    TooMuch { limit: &'static str, max: usize, what: &'static str },
    #[error("the server sent something that is no answer: {0}")]
    Garbage(&'static str),
    #[error("the server sent an HTTP answer whose end cannot be told: {0}")]
    Ambiguous(Ambiguous),
    #[error("the server's message could not be read: {0}")]
    Unread(LongWorkError),
    #[error("the server refused: {} ({})", .0.message, .0.code)]
    Refused(RpcError),
    #[error("the server speaks no protocol version that is known here")]
    NoVersion,
    #[error("the server does not speak MCP {wanted}, which the configuration asks for{}", shown_offer(*offered))]
    OtherRevision { wanted: Revision, offered: Option<Revision> },
    #[error("{limit}: the server's list has more than {max} {what}")]
    ListTooLong { limit: &'static str, max: usize, what: &'static str },
    #[error("the server's lists did not come to an end within {ms_max} ms")]
    ListTooSlow { ms_max: u64 },
    #[error("too many calls are under way at this server")]
    Busy,
    #[error("the server is not available: {0}")]
    Unavailable(Box<str>),
    #[error("the server failed {failures} times in a row and is left alone for a moment")]
    Broken { failures: u32 },
}

impl From<ReadError> for Cause {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Closed => Self::Closed,
            ReadError::Upgrade => Self::Garbage("it switches to a protocol that nobody asked for"),
            ReadError::Head(HeadError::TooLarge { limit, max })
            | ReadError::Chunks(ChunkError::TooLarge { limit, max })
            | ReadError::InterimBytes { limit, max } => Self::TooLarge { limit, max },
            ReadError::Head(HeadError::TooManyFields { limit, max }) => {
                Self::TooMuch { limit, max, what: "headers" }
            }
            ReadError::Chunks(ChunkError::TooManyTrailers { limit, max }) => {
                Self::TooMuch { limit, max, what: "trailers" }
            }
            ReadError::InterimHeads { limit, max } => {
                Self::TooMuch { limit, max, what: "interim heads before its answer" }
            }
            ReadError::Head(HeadError::NoHttp) => Self::Garbage("it is no HTTP/1"),
            ReadError::Head(HeadError::NoStatus) => Self::Garbage("its status is none of HTTP's"),
            ReadError::Head(HeadError::Ambiguous(ambiguous)) => Self::Ambiguous(ambiguous),
            ReadError::Chunks(ChunkError::Malformed(what)) => Self::Garbage(what),
            ReadError::Chunks(ChunkError::NoRoom) => Self::Garbage("a chunk's size is beyond all numbers"),
        }
    }
}

impl Cause {
    /// A redirect that is not followed. The query is left out because it may contain secrets.
    pub(crate) fn redirected(status: u16, location: &str) -> Self {
        const SHOWN_CHARS_MAX: usize = 200;
        let plain = location.split(['?', '#']).next().unwrap_or_default();
        let shown: String = plain.chars().filter(|c| !c.is_control()).take(SHOWN_CHARS_MAX).collect();
        Self::Redirected { status, location: if shown.is_empty() { "nowhere".into() } else { shown.into() } }
    }
}

/// A cause, and whether the server may have seen the request. The cause is boxed because every answer travels in a
/// `Result` that reserves space for the error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct UpstreamError {
    pub cause: Box<Cause>,
    /// `false` if the server has seen nothing of the request.
    pub sent: bool,
}

impl UpstreamError {
    #[must_use]
    pub fn unsent(cause: Cause) -> Self {
        Self { cause: Box::new(cause), sent: false }
    }

    #[must_use]
    pub fn sent(cause: Cause) -> Self {
        Self { cause: Box::new(cause), sent: true }
    }

    /// Returns `true` if the connection failed rather than the server refused, so a retry can help where it is safe.
    #[must_use]
    pub fn is_transport(&self) -> bool {
        matches!(
            *self.cause,
            Cause::Connect { .. } | Cause::Closed | Cause::Exited { .. } | Cause::SessionGone
        )
    }

    /// Returns `true` if the error counts as a failure of the server in the circuit breaker.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        !matches!(
            *self.cause,
            Cause::Refused(_)
                | Cause::SessionGone
                | Cause::Token(_)
                | Cause::Rights(_)
                | Cause::Busy
                | Cause::Broken { .. }
                | Cause::Unavailable(_)
        )
    }
}

/// Text for a failed spawn; `NotFound` may also mean the working folder.
fn spawn_text(kind: io::ErrorKind) -> String {
    match kind {
        io::ErrorKind::NotFound => "no such command or folder".to_owned(),
        kind => io_text(kind),
    }
}

fn io_text(kind: io::ErrorKind) -> String {
    io::Error::from(kind).to_string()
}

fn shown_offer(offered: Option<Revision>) -> String {
    offered.map(|revision| format!("; it answers with {revision}")).unwrap_or_default()
}

fn shown_code(code: Option<i32>) -> String {
    code.map(|code| format!(" with exit code {code}")).unwrap_or_default()
}
