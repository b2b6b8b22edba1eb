//! The head of an HTTP answer: status, what kind of body, how long it is.
//!
//! Refuses: a head over its limits, a length that is no number, two lengths that differ.

use httparse::{EMPTY_HEADER, Status};

use crate::error::Cause;
use crate::limits::{UPSTREAM_HEAD_BYTES_MAX, UPSTREAM_HEADERS_MAX};

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
    pub(crate) session: Option<Box<str>>,
    /// `WWW-Authenticate`, of a 401 or 403.
    pub(crate) challenge: Option<Box<str>>,
}

impl Head {
    /// The head at the start of `bytes` and its length; `None` if it is not complete yet.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, Cause> {
        let mut fields = [EMPTY_HEADER; UPSTREAM_HEADERS_MAX];
        let mut response = httparse::Response::new(&mut fields);
        let length = match response.parse(bytes) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) if bytes.len() <= UPSTREAM_HEAD_BYTES_MAX => return Ok(None),
            Ok(Status::Partial) => {
                return Err(Cause::TooLarge {
                    limit: "UPSTREAM_HEAD_BYTES_MAX",
                    max: UPSTREAM_HEAD_BYTES_MAX,
                });
            }
            Err(_) => return Err(Cause::Garbage("it is no HTTP")),
        };
        let status = response.code.unwrap_or_default();
        let mut head = Self {
            status,
            media: Media::Other,
            framing: Framing::UntilClose,
            keeps_alive: response.version == Some(1),
            session: None,
            challenge: None,
        };
        let mut chunked = false;
        let mut announced = None;
        for field in response.headers.iter() {
            let value = std::str::from_utf8(field.value).unwrap_or_default().trim();
            if field.name.eq_ignore_ascii_case("content-type") {
                head.media = media(value);
            } else if field.name.eq_ignore_ascii_case("content-length") {
                let bytes: u64 = value.parse().map_err(|_| Cause::Garbage("its length is no number"))?;
                if announced.is_some_and(|other| other != bytes) {
                    return Err(Cause::Garbage("it has two lengths"));
                }
                announced = Some(bytes);
            } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
                if !value.eq_ignore_ascii_case("chunked") {
                    return Err(Cause::Garbage("its transfer encoding is unknown"));
                }
                chunked = true;
            } else if field.name.eq_ignore_ascii_case("connection") {
                head.keeps_alive = !value.eq_ignore_ascii_case("close") && head.keeps_alive;
            } else if field.name.eq_ignore_ascii_case("mcp-session-id")
                && !value.is_empty()
                && value.bytes().all(|byte| (0x21..=0x7e).contains(&byte))
            {
                head.session = Some(value.into());
            } else if matches!(status, 401 | 403) && field.name.eq_ignore_ascii_case("www-authenticate") {
                head.challenge = Some(value.into());
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
        Ok(Some((head, length)))
    }

    pub(crate) fn is_interim(&self) -> bool {
        (100..200).contains(&self.status)
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

fn media(value: &str) -> Media {
    let kind = value.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        Media::Json
    } else if kind.eq_ignore_ascii_case("text/event-stream") {
        Media::Events
    } else {
        Media::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<(Head, usize)>, Cause> {
        Head::read(text.as_bytes())
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
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        ] {
            assert!(matches!(read(bad), Err(Cause::Garbage(_))), "{bad}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(UPSTREAM_HEAD_BYTES_MAX));
        assert!(matches!(read(&endless), Err(Cause::TooLarge { limit: "UPSTREAM_HEAD_BYTES_MAX", .. })));
    }
}
