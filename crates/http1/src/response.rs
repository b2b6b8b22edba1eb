//! Response of a server: status, header fields, body.

use std::any::Any;
use std::fmt;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::StatusCode;

use crate::date;
use crate::fields::visible;

/// Body of unknown length, sent piece by piece until the stream ends.
pub trait ByteStream: Send {
    /// Returns the next piece, never an empty one; `None` at the end. Called only after the previous piece was
    /// written.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

/// Body of a response.
pub enum ReplyBody {
    Empty,
    Whole(Bytes),
    /// Consecutive pieces; shared buffers are sent without copying.
    Pieces(Box<[Bytes]>),
    Stream(Box<dyn ByteStream>),
}

impl ReplyBody {
    /// Returns the length of the body in bytes, if it is known in advance.
    #[must_use]
    pub fn length(&self) -> Option<usize> {
        match self {
            Self::Empty => Some(0),
            Self::Whole(bytes) => Some(bytes.len()),
            Self::Pieces(pieces) => Some(pieces.iter().map(Bytes::len).sum()),
            Self::Stream(_) => None,
        }
    }
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyBody").field("length", &self.length()).finish_non_exhaustive()
    }
}

/// Response of a server.
#[derive(Debug)]
pub struct Response {
    pub status: StatusCode,
    /// `Content-Type` of the body; `None` for a response without one.
    pub media_type: Option<&'static str>,
    headers: Vec<(&'static str, Box<str>)>,
    pub body: ReplyBody,
    /// Dropped once the body is written: releases the quota of a large body.
    pub held: Option<Box<dyn Any + Send>>,
}

/// State of the connection after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Kept,
    /// Kept open, with a `Connection: keep-alive` header, because HTTP/1.0 closes by default.
    KeptAndSaid,
    Closed,
}

impl Response {
    #[must_use]
    pub fn new(status: StatusCode, media_type: &'static str, body: ReplyBody) -> Self {
        Self { status, media_type: Some(media_type), headers: Vec::new(), body, held: None }
    }

    /// A response without a body.
    #[must_use]
    pub fn empty(status: StatusCode) -> Self {
        Self { status, media_type: None, headers: Vec::new(), body: ReplyBody::Empty, held: None }
    }

    #[must_use]
    pub fn json(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self::new(status, "application/json", ReplyBody::Whole(body.into()))
    }

    /// Returns the header fields except those that frame the body.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let media_type = self.media_type.map(|media_type| ("content-type", media_type));
        media_type.into_iter().chain(self.headers.iter().map(|(name, value)| (*name, &**value)))
    }

    /// Adds a header; the name must be in lower case. A value that is not visible text is left out.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        if visible(value.as_bytes()).is_some() {
            self.headers.push((name, value.into()));
        }
        self
    }

    /// Writes the head. `length` is the length of the body if known; otherwise the body is chunked or ends with the
    /// connection.
    pub(crate) fn write_head(
        &self,
        out: &mut Vec<u8>,
        length: Option<usize>,
        is_chunked: bool,
        after: After,
    ) {
        if self.status == StatusCode::OK {
            out.extend_from_slice(b"HTTP/1.1 200 OK");
        } else {
            out.extend_from_slice(b"HTTP/1.1 ");
            out.extend_from_slice(self.status.as_str().as_bytes());
            out.push(b' ');
            out.extend_from_slice(self.status.canonical_reason().unwrap_or("Other").as_bytes());
        }
        for (name, value) in self.headers() {
            line(out, name, value);
        }
        // RFC 9110 section 8.6: a 204 has no `Content-Length`, and a 304 none but that of the 200 it stands for.
        let is_silent = matches!(self.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        match length {
            Some(length) if !is_silent => {
                out.extend_from_slice(b"\r\ncontent-length: ");
                out.extend_from_slice(length.to_string().as_bytes());
            }
            None if is_chunked => line(out, "transfer-encoding", "chunked"),
            _ => {}
        }
        match after {
            After::Kept => {}
            After::KeptAndSaid => line(out, "connection", "keep-alive"),
            After::Closed => line(out, "connection", "close"),
        }
        out.extend_from_slice(b"\r\ndate: ");
        date::write(out);
        out.extend_from_slice(b"\r\n\r\n");
    }
}

fn line(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(response: &Response, length: Option<usize>, is_chunked: bool, after: After) -> String {
        let mut out = Vec::new();
        response.write_head(&mut out, length, is_chunked, after);
        let text = String::from_utf8(out).unwrap();
        let (before, after) = text.split_once("date: ").unwrap();
        assert!(after.ends_with(" GMT\r\n\r\n"), "{after}");
        before.to_owned()
    }

    #[test]
    fn a_head_says_what_its_body_is_and_what_becomes_of_the_connection() {
        let response = Response::json(StatusCode::OK, "{}").with("x", "1").with("y", "a\r\nb: c");
        assert_eq!(
            head(&response, Some(2), false, After::Kept),
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx: 1\r\ncontent-length: 2\r\n"
        );
        assert_eq!(
            head(&response, None, true, After::Closed),
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx: 1\r\ntransfer-encoding: chunked\r\nconnection: close\r\n"
        );
        let none = Response::empty(StatusCode::NO_CONTENT);
        assert_eq!(
            head(&none, Some(0), false, After::KeptAndSaid),
            "HTTP/1.1 204 No Content\r\nconnection: keep-alive\r\n"
        );
        let accepted = Response::empty(StatusCode::ACCEPTED);
        assert_eq!(
            head(&accepted, Some(0), false, After::Kept),
            "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n"
        );
    }
}
