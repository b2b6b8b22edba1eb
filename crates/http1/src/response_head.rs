//! Head of a response: status, header fields, framing of the body, reuse of the connection.

use std::ops::Range;
use std::sync::Arc;

use httparse::{ParserConfig, Status};

use crate::again::Again;
use crate::fields::{Fields, decimal, visible};
use crate::framing::{Ambiguous, Framing, LENGTH_MAX};
use crate::limits::{HEAD_BYTES_MAX, HEAD_KEPT_BYTES_MAX, HEADERS_MAX};

const CONTENT_LENGTH: &str = "content-length";

/// Reason why a head cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    #[error("it is no HTTP/1")]
    NoHttp,
    #[error("its status is none of HTTP's")]
    NoStatus,
    #[error("{0}")]
    Ambiguous(#[from] Ambiguous),
    #[error("{limit}: the head is over {max} bytes")]
    TooLarge { limit: &'static str, max: usize },
    #[error("{limit}: the head has more than {max} header fields")]
    TooManyFields { limit: &'static str, max: usize },
}

/// Status and header fields of a response.
#[derive(Debug, Clone)]
pub struct ResponseHead {
    shape: Arc<Shape>,
    framing: Framing,
}

/// Parts of a head, shared by all heads of the same text.
#[derive(Debug)]
struct Shape {
    /// Text of the first of these heads.
    text: Box<[u8]>,
    status: u16,
    fields: Fields,
    keeps_alive: bool,
    /// Place of the body's `Content-Length`, if that frames the body.
    length: Range<usize>,
}

impl ResponseHead {
    /// Writes the head of a response that arrived in another version of HTTP as HTTP/1.1 and parses it by the same
    /// rules. The caller leaves out fields that frame the body; framing is the other version's business.
    pub fn assemble<'a>(
        status: u16,
        fields: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Self, HeadError> {
        let mut text = format!("HTTP/1.1 {status} \r\n").into_bytes();
        for (name, value) in fields {
            let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
            if value.iter().any(is_control) {
                return Err(HeadError::NoHttp);
            }
            text.extend_from_slice(name.as_bytes());
            text.extend_from_slice(b": ");
            text.extend_from_slice(value);
            text.extend_from_slice(b"\r\n");
        }
        text.extend_from_slice(b"\r\n");
        Self::read(&text)?.map(|(head, _)| head).ok_or(HeadError::NoHttp)
    }

    /// Parses the head at the start of `bytes`; returns it with its length, `None` if it is not complete yet.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, HeadError> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut lines = [const { std::mem::MaybeUninit::uninit() }; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut []);
        let parsed =
            ParserConfig::default().parse_response_with_uninit_headers(&mut response, bytes, &mut lines);
        let bytes_read = match parsed {
            Ok(Status::Complete(length)) if length <= HEAD_BYTES_MAX => length,
            Ok(Status::Partial) if bytes.len() <= HEAD_BYTES_MAX => return Ok(None),
            Ok(_) => return Err(HeadError::TooLarge { limit: "HEAD_BYTES_MAX", max: HEAD_BYTES_MAX }),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(HeadError::TooManyFields { limit: "HEADERS_MAX", max: HEADERS_MAX });
            }
            Err(_) => return Err(HeadError::NoHttp),
        };
        let status = response.code.filter(|status| *status >= 100).ok_or(HeadError::NoStatus)?;
        let minor_version = response.version.unwrap_or_default();
        let fields = Fields::read(bytes, response.headers);
        let (framing, is_agreed) = Framing::of_response(status, bytes, &fields, minor_version)?;
        let length = fields.only_place(bytes, CONTENT_LENGTH);
        let keeps_alive = minor_version == 1
            && framing != Framing::UntilClose
            && is_agreed
            && !fields.has_token(bytes, "connection", "close");
        let is_announced = matches!(framing, Framing::Length(_)) && status != 204 && status != 304;
        let shape = Shape {
            text: bytes.get(..bytes_read).unwrap_or_default().into(),
            status,
            fields,
            keeps_alive,
            length: if is_announced { length } else { 0..0 },
        };
        Ok(Some((Self { shape: Arc::new(shape), framing }, bytes_read)))
    }

    #[must_use]
    pub fn status(&self) -> u16 {
        self.shape.status
    }

    #[must_use]
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Returns `true` if another request can be sent on the connection after the body was read.
    #[must_use]
    pub fn keeps_alive(&self) -> bool {
        self.shape.keeps_alive
    }

    /// Returns the first value of a header field, if it is visible text. The length of the body comes from
    /// [`Self::framing`] only: heads that differ in it share their fields.
    #[must_use]
    pub fn get<'t>(&'t self, name: &str) -> Option<&'t str> {
        let value = self.shape.fields.values(&self.shape.text, name).next();
        value.and_then(visible)
    }

    /// Returns those values of a header field that are visible text.
    pub fn values<'t>(&'t self, name: &str) -> impl Iterator<Item = &'t str> {
        self.shape.fields.values(&self.shape.text, name).filter_map(visible)
    }

    #[must_use]
    pub fn is_interim(&self) -> bool {
        (100..200).contains(&self.shape.status)
    }

    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.shape.status)
    }
}

/// Parser of the heads of one connection's responses. Servers repeat the same head with another length; such a head is
/// compared instead of parsed.
#[derive(Debug, Default)]
pub(crate) struct ResponseHeads {
    last: Option<(Again, ResponseHead)>,
}

impl ResponseHeads {
    /// Reads the head at the start of `bytes`; returns it with its length, `None` if it is not complete yet.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Option<(ResponseHead, usize)>, HeadError> {
        if let Some((again, head)) = &self.last
            && again.begins(bytes)
            && let Some(length) = bytes.get(head.shape.length.clone()).and_then(decimal)
            && length <= LENGTH_MAX
        {
            let shape = head.shape.clone();
            let bytes_read = shape.text.len();
            return Ok(Some((ResponseHead { shape, framing: Framing::Length(length) }, bytes_read)));
        }
        let Some((head, bytes_read)) = ResponseHead::read(bytes)? else { return Ok(None) };
        let length = head.shape.length.clone();
        let may_return = head.is_success() && head.keeps_alive() && !length.is_empty();
        self.last = (may_return && bytes_read <= HEAD_KEPT_BYTES_MAX)
            .then(|| (Again::new(&head.shape.text, length), head.clone()));
        Ok(Some((head, bytes_read)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders everything that a head contains, for comparison.
    fn told(read: Result<Option<(ResponseHead, usize)>, HeadError>) -> String {
        let read = read.map(|read| {
            read.map(|(head, bytes)| {
                let fields = ["content-type", "mcp-session-id"].map(|name| head.get(name).map(str::to_owned));
                (head.status(), head.framing(), head.keeps_alive(), fields, bytes)
            })
        });
        format!("{read:?}")
    }

    fn read(text: &str) -> Result<Option<(ResponseHead, usize)>, HeadError> {
        ResponseHead::read(text.as_bytes())
    }

    #[test]
    fn a_head_that_comes_again_is_read_as_it_was_and_one_that_does_not_by_itself() {
        let texts = [
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 34\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 345\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Type: application/jsom\r\nContent-Length: 345\r\n\r\n",
            "HTTP/1.1 202 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
            "HTTP/1.1 202 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 204 OK\r\nContent-Length: 4\r\n\r\n",
            "HTTP/1.1 204 OK\r\nContent-Length: 5\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
            "HTTP/1.1 200 OK\r\nMcp-Session-Id: a\r\nContent-Length: 4\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r",
        ];
        let mut heads = ResponseHeads::default();
        for first in texts {
            for second in texts {
                assert_eq!(told(heads.read(first.as_bytes())), told(read(first)));
                assert_eq!(
                    told(heads.read(second.as_bytes())),
                    told(read(second)),
                    "{first:?} and {second:?}"
                );
            }
        }
    }

    /// `HEAD_KEPT_BYTES_MAX`: longer heads are not remembered.
    #[test]
    fn long_heads_are_not_remembered() {
        let head =
            |more: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX: {}\r\n\r\n", "x".repeat(more));
        let mut heads = ResponseHeads::default();
        heads.read(head(10).as_bytes()).unwrap();
        assert!(heads.last.is_some());
        heads.read(head(HEAD_KEPT_BYTES_MAX).as_bytes()).unwrap();
        assert!(heads.last.is_none());
    }

    #[test]
    fn a_head_says_whether_the_connection_can_be_used_again() {
        let keeps = |text: &str| read(text).unwrap().unwrap().0.keeps_alive();
        assert!(keeps("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"));
        assert!(keeps("HTTP/1.1 204 No Content\r\n\r\n"));
        assert!(keeps("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"));
        for closes in [
            "HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nConnection: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
            "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
            "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            assert!(!keeps(closes), "{closes:?}");
        }
        assert!(read("HTTP/1.1 200 OK\r\nContent-").unwrap().is_none());
    }

    /// `HEAD_BYTES_MAX`, `HEADERS_MAX`
    #[test]
    fn heads_that_are_none_or_over_their_limits_are_refused() {
        assert_eq!(read("hello\r\n\r\n").unwrap_err(), HeadError::NoHttp);
        assert_eq!(read("HTTP/1.1 000 OK\r\n\r\n").unwrap_err(), HeadError::NoStatus);
        assert_eq!(read("HTTP/2 200 OK\r\n\r\n").unwrap_err(), HeadError::NoHttp);
        assert_eq!(read("HTTP/1.1 200 OK\r\nX: a\r\n folded\r\n\r\n").unwrap_err(), HeadError::NoHttp);
        let headers = |count: usize| format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: x\r\n".repeat(count));
        assert!(read(&headers(HEADERS_MAX)).unwrap().is_some());
        let many = read(&headers(HEADERS_MAX + 1)).unwrap_err();
        assert_eq!(many, HeadError::TooManyFields { limit: "HEADERS_MAX", max: HEADERS_MAX });
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(HEAD_BYTES_MAX));
        for large in [endless.clone(), format!("{endless}\r\n\r\n"), "\r\n".repeat(HEAD_BYTES_MAX)] {
            let refused = read(&large).unwrap_err();
            assert_eq!(refused, HeadError::TooLarge { limit: "HEAD_BYTES_MAX", max: HEAD_BYTES_MAX });
        }
    }
}
