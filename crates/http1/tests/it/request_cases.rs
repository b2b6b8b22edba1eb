//! Corpus of ambiguous and malformed requests with their expected outcomes.

use crate::{request_chunks, request_heads};

/// Request that follows every case on the same connection.
pub(crate) const INNOCENT: &str = "GET /innocent HTTP/1.1\r\nHost: localhost\r\nX-A: innocent\r\n\r\n";

/// Expected outcome of a case that is followed by the innocent request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Read with this body; the innocent request is read next.
    Read(&'static [u8]),
    /// Read with this body; the connection then ends.
    Last(&'static [u8]),
    /// Answered with this status and not read.
    Refused(u16),
    /// Neither read nor answered before the connection ends, because the request is incomplete.
    Waits,
}

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) bytes: Vec<u8>,
    pub(crate) expected: Expected,
}

impl Case {
    pub(crate) fn new(bytes: impl Into<Vec<u8>>, expected: Expected) -> Self {
        Self { bytes: bytes.into(), expected }
    }

    /// The case as the message of a failed test shows it.
    pub(crate) fn name(&self) -> String {
        let text: String = self.bytes.escape_ascii().map(char::from).take(300).collect();
        format!("{text:?} ({:?})", self.expected)
    }
}

/// Returns a POST with these header lines, followed by `behind`.
pub(crate) fn post(lines: &str, behind: &str) -> String {
    format!("POST /a HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n{behind}")
}

pub(crate) fn all() -> Vec<Case> {
    [request_heads::cases(), request_chunks::cases()].concat()
}
