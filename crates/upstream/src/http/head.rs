//! The head of an HTTP answer: status, what kind of body, how long it is.
//!
//! Refuses: a head over its limits, a length that is no number, two lengths that differ.

use std::mem::MaybeUninit;
use std::ops::Range;

use httparse::{ParserConfig, Response, Status};
use toolcrib_protocol::again::Again;

use crate::error::Cause;
use crate::limits::{UPSTREAM_HEAD_BYTES_MAX, UPSTREAM_HEAD_KEPT_BYTES_MAX, UPSTREAM_HEADERS_MAX};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Events,
    Other,
}

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) media: Media,
    pub(crate) framing: Framing,
    pub(crate) keeps_alive: bool,
    /// What few answers say.
    rare: Option<Box<Rare>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Rare {
    session: Option<Box<str>>,
    /// `WWW-Authenticate`, of a 401 or 403.
    challenge: Option<Box<str>>,
}

/// The heads of a connection's answers, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    last: Option<Last>,
}

/// The head of the answer before, if it may come again.
#[derive(Debug)]
struct Last {
    again: Again,
    head: Head,
    bytes: usize,
    /// Where the length of the body stands.
    length: Range<usize>,
}

impl Heads {
    /// The head at the start of `bytes` and its length; `None` if it is not complete yet.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Option<(Head, usize)>, Cause> {
        if let Some(Last { again, head, bytes: taken, length }) = &self.last
            && again.begins(bytes)
            && let Some(length) = bytes.get(length.clone()).and_then(decimal)
        {
            return Ok(Some((Head { framing: Framing::Length(length), ..head.clone() }, *taken)));
        }
        let Some((head, taken, length)) = Head::read(bytes)? else { return Ok(None) };
        let may_return = head.is_success() && head.rare.is_none() && head.keeps_alive;
        self.last = (may_return && !length.is_empty() && taken <= UPSTREAM_HEAD_KEPT_BYTES_MAX).then(|| {
            let again = Again::new(bytes.get(..taken).unwrap_or_default(), length.clone());
            Last { again, head: head.clone(), bytes: taken, length }
        });
        Ok(Some((head, taken)))
    }
}

impl Head {
    /// The head at the start of `bytes`, its length, and where the length of its body stands if that is how the body
    /// ends; `None` if it is not complete yet.
    fn read(bytes: &[u8]) -> Result<Option<(Self, usize, Range<usize>)>, Cause> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut fields = [const { MaybeUninit::uninit() }; UPSTREAM_HEADERS_MAX];
        let mut response = Response::new(&mut []);
        let parsed =
            ParserConfig::default().parse_response_with_uninit_headers(&mut response, bytes, &mut fields);
        let length = match parsed {
            Ok(Status::Complete(length)) if length <= UPSTREAM_HEAD_BYTES_MAX => length,
            Ok(Status::Partial) if bytes.len() <= UPSTREAM_HEAD_BYTES_MAX => return Ok(None),
            Ok(_) => {
                return Err(Cause::TooLarge {
                    limit: "UPSTREAM_HEAD_BYTES_MAX",
                    max: UPSTREAM_HEAD_BYTES_MAX,
                });
            }
            Err(httparse::Error::TooManyHeaders) => {
                let (limit, max) = ("UPSTREAM_HEADERS_MAX", UPSTREAM_HEADERS_MAX);
                return Err(Cause::TooMuch { limit, max, what: "headers" });
            }
            Err(_) => return Err(Cause::Garbage("it is no HTTP")),
        };
        let status = response.code.unwrap_or_default();
        if status < 100 {
            return Err(Cause::Garbage("its status is none of HTTP's"));
        }
        let mut head = Self {
            status,
            media: Media::Other,
            framing: Framing::UntilClose,
            keeps_alive: response.version == Some(1),
            rare: None,
        };
        let mut chunked = false;
        let (mut announced, mut stands) = (None, 0..0);
        for field in response.headers.iter() {
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            let value = field.value.trim_ascii();
            // Most fields of most answers are not asked for; their length tells.
            match field.name.len() {
                10 if is("connection") => {
                    head.keeps_alive &= !value.eq_ignore_ascii_case(b"close");
                }
                12 if is("content-type") => head.media = media(value),
                14 if is("content-length") => {
                    let length = decimal(value).ok_or(Cause::Garbage("its length is no number"))?;
                    if announced.is_some_and(|other| other != length) {
                        return Err(Cause::Garbage("it has two lengths"));
                    }
                    stands = if announced.is_none() { place(bytes, value) } else { 0..0 };
                    announced = Some(length);
                }
                14 if is("mcp-session-id") => {
                    let id = text(value)
                        .filter(|id| !id.is_empty() && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
                    if let Some(id) = id {
                        head.rare.get_or_insert_default().session = Some(id.into());
                    }
                }
                16 if matches!(status, 401 | 403) && is("www-authenticate") => {
                    head.rare.get_or_insert_default().challenge = text(value).map(Into::into);
                }
                17 if is("transfer-encoding") => {
                    if !value.eq_ignore_ascii_case(b"chunked") {
                        return Err(Cause::Garbage("its transfer encoding is unknown"));
                    }
                    chunked = true;
                }
                _ => {}
            }
        }
        head.framing = match (chunked, announced) {
            // Both at once is how requests are smuggled: the chunks count, the connection is not used again.
            (true, other) => {
                head.keeps_alive &= other.is_none();
                Framing::Chunked
            }
            (false, Some(bytes)) => Framing::Length(bytes),
            (false, None) => Framing::UntilClose,
        };
        if matches!(status, 100..=199 | 204 | 304) {
            head.framing = Framing::Length(0);
        }
        head.keeps_alive &= head.framing != Framing::UntilClose;
        if head.framing != announced.map_or(Framing::UntilClose, Framing::Length) {
            stands = 0..0;
        }
        Ok(Some((head, length, stands)))
    }

    pub(crate) fn session(&self) -> Option<&str> {
        self.rare.as_ref()?.session.as_deref()
    }

    /// `WWW-Authenticate`, of a 401 or 403.
    pub(crate) fn challenge(&self) -> Option<&str> {
        self.rare.as_ref()?.challenge.as_deref()
    }

    pub(crate) fn is_interim(&self) -> bool {
        (100..200).contains(&self.status)
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

fn text(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value).ok()
}

/// Where `part`, which was cut out of `whole`, stands in it.
fn place(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    start..start + part.len()
}

/// Digits and nothing else.
fn decimal(value: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let add = |number: u64, byte: &u8| number.checked_mul(10)?.checked_add(digit(byte)?);
    if value.is_empty() { None } else { value.iter().try_fold(0, add) }
}

fn media(value: &[u8]) -> Media {
    let kind = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if kind.eq_ignore_ascii_case(b"application/json") {
        Media::Json
    } else if kind.eq_ignore_ascii_case(b"text/event-stream") {
        Media::Events
    } else {
        Media::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<(Head, usize)>, Cause> {
        Heads::default().read(text.as_bytes())
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
        let mut heads = Heads::default();
        for first in texts {
            for second in texts {
                assert_eq!(heads.read(first.as_bytes()), read(first));
                assert_eq!(heads.read(second.as_bytes()), read(second), "{first:?} and {second:?}");
            }
        }
    }

    /// `UPSTREAM_HEAD_KEPT_BYTES_MAX`
    #[test]
    fn long_heads_are_not_kept_in_mind() {
        let head =
            |more: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX: {}\r\n\r\n", "x".repeat(more));
        let mut heads = Heads::default();
        heads.read(head(10).as_bytes()).unwrap();
        assert!(heads.last.is_some());
        heads.read(head(UPSTREAM_HEAD_KEPT_BYTES_MAX).as_bytes()).unwrap();
        assert!(heads.last.is_none());
    }

    #[test]
    fn a_head_says_how_its_body_ends_and_whether_the_connection_can_be_used_again() {
        let (head, length) = read(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
        )
        .unwrap()
        .unwrap();
        assert_eq!((head.media, head.framing, head.keeps_alive), (Media::Json, Framing::Length(2), true));
        assert_eq!(length, 85);
        let (head, _) = read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n")
            .unwrap()
            .unwrap();
        assert_eq!((head.framing, head.keeps_alive), (Framing::Chunked, false));
        let (head, _) = read("HTTP/1.0 200 OK\r\n\r\n").unwrap().unwrap();
        assert_eq!((head.framing, head.keeps_alive), (Framing::UntilClose, false));
        let (head, _) =
            read("HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").unwrap().unwrap();
        assert!(!head.keeps_alive);
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-"), Ok(None));
    }

    #[test]
    fn heads_that_cannot_be_trusted_are_refused() {
        for bad in [
            "hello\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            "HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n",
        ] {
            assert!(matches!(read(bad), Err(Cause::Garbage(_))), "{bad}");
        }
        let headers = |count: usize| format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: x\r\n".repeat(count));
        assert!(read(&headers(UPSTREAM_HEADERS_MAX)).unwrap().is_some());
        let many = read(&headers(UPSTREAM_HEADERS_MAX + 1));
        assert!(matches!(many, Err(Cause::TooMuch { limit: "UPSTREAM_HEADERS_MAX", .. })), "{many:?}");
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(UPSTREAM_HEAD_BYTES_MAX));
        let too_large =
            |text: &str| matches!(read(text), Err(Cause::TooLarge { limit: "UPSTREAM_HEAD_BYTES_MAX", .. }));
        assert!(too_large(&endless) && too_large(&format!("{endless}\r\n\r\n")));
        assert!(too_large(&"\r\n".repeat(UPSTREAM_HEAD_BYTES_MAX)), "empty lines are part of the head");
    }
}
