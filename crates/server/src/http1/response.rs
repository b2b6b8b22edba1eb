//! What goes back for a request: status, a few headers, a body.

use http::StatusCode;
use toolcrib_engine::quota::Held;
use toolcrib_protocol::write;

use super::date;
use super::head::visible;
use crate::accept::JSON;
use crate::body::ReplyBody;

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    /// What the body is; nothing is said where there is none.
    pub(crate) media_type: Option<&'static str>,
    headers: Vec<(&'static str, Box<str>)>,
    pub(crate) body: ReplyBody,
    /// Counts a large body until it is written.
    pub(crate) held: Option<Box<Held>>,
}

/// What becomes of the connection behind a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Kept,
    /// The client's version would close it: it is told.
    KeptAndSaid,
    Closed,
}

impl Response {
    pub(crate) fn new(status: StatusCode, media_type: &'static str, body: ReplyBody) -> Self {
        Self { status, media_type: Some(media_type), headers: Vec::new(), body, held: None }
    }

    /// Without a body.
    pub(crate) fn empty(status: StatusCode) -> Self {
        Self { status, media_type: None, headers: Vec::new(), body: ReplyBody::empty(), held: None }
    }

    pub(crate) fn json(status: StatusCode, body: impl Into<bytes::Bytes>) -> Self {
        Self::new(status, JSON, ReplyBody::whole(body))
    }

    /// Adds a header, its name in lower case; a value that cannot be sent is left out.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        if visible(value.as_bytes()).is_some() {
            self.headers.push((name, value.into()));
        }
        self
    }

    /// Writes the head. `length` is the body's, if it is known; otherwise it comes in chunks, or until the connection
    /// closes.
    pub(super) fn write_head(
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
        if let Some(media_type) = self.media_type {
            line(out, "content-type", media_type);
        }
        for (name, value) in &self.headers {
            line(out, name, value);
        }
        // RFC 9110 8.6: neither says a length that is not its own.
        let is_silent = matches!(self.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        match length {
            Some(length) if !is_silent => {
                out.extend_from_slice(b"\r\ncontent-length: ");
                write::number(out, length as u64);
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
