//! The body of a request, taken out of what was read.

use super::framing::Framing;
use crate::limits::{CHUNK_EXTENSION_BYTES_MAX, CHUNK_LINE_BYTES_MAX, TRAILER_BYTES_MAX};

/// Why a body could not be taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    TooLong(usize),
    TooSlow,
    /// What frames its chunks is over this limit of bytes.
    Framing {
        limit: &'static str,
        max: usize,
    },
    Broken,
}

/// A body on its way in.
#[derive(Debug)]
pub(super) enum Incoming {
    Length(usize),
    Chunks(Chunks),
}

/// A chunked body on its way in.
#[derive(Debug)]
pub(super) struct Chunks {
    whole: Vec<u8>,
    next: Next,
    /// Bytes of chunk extensions so far; they say nothing here.
    extensions: usize,
    /// Bytes of trailers so far; they say nothing here.
    trailers: usize,
}

/// What a chunked body goes on with.
#[derive(Debug, Clone, Copy)]
enum Next {
    Size,
    Data(usize),
    /// The line end behind a chunk.
    End,
    /// Lines behind the last chunk.
    Trailers,
}

impl Incoming {
    pub(super) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Length(length) => Self::Length(length),
            Framing::Chunked => {
                let (whole, next) = (Vec::new(), Next::Size);
                Self::Chunks(Chunks { whole, next, extensions: 0, trailers: 0 })
            }
        }
    }

    /// Bytes of memory that a body without a length takes so far.
    pub(super) fn capacity(&self) -> usize {
        match self {
            Self::Length(_) => 0,
            Self::Chunks(chunks) => chunks.whole.capacity(),
        }
    }

    /// The body once it is all there; takes what it can off `input`.
    pub(super) fn take(
        &mut self,
        input: &mut Vec<u8>,
        bytes_max: usize,
    ) -> Result<Option<Vec<u8>>, Unreadable> {
        match self {
            Self::Length(length) if *length > bytes_max => Err(Unreadable::TooLong(bytes_max)),
            Self::Length(length) if *length > input.len() => Ok(None),
            Self::Length(length) => {
                let rest = input.split_off(*length);
                Ok(Some(std::mem::replace(input, rest)))
            }
            Self::Chunks(chunks) => {
                let mut left = input.as_slice();
                let is_done = loop {
                    match chunks.step(&mut left, bytes_max)? {
                        Step::Short => break false,
                        Step::Then(then) => chunks.next = then,
                        Step::Done => break true,
                    }
                };
                let used = input.len() - left.len();
                input.drain(..used);
                Ok(is_done.then(|| std::mem::take(&mut chunks.whole)))
            }
        }
    }
}

enum Step {
    /// More must be read first.
    Short,
    Then(Next),
    Done,
}

impl Chunks {
    fn step(&mut self, input: &mut &[u8], bytes_max: usize) -> Result<Step, Unreadable> {
        Ok(match self.next {
            Next::Size => match line(input, CHUNK_LINE_BYTES_MAX) {
                Some(line) => {
                    let (size, extension) = size(line).ok_or(Unreadable::Broken)?;
                    self.extensions += extension;
                    if self.extensions > CHUNK_EXTENSION_BYTES_MAX {
                        return Err(over("CHUNK_EXTENSION_BYTES_MAX", CHUNK_EXTENSION_BYTES_MAX));
                    }
                    if size > bytes_max.saturating_sub(self.whole.len()) {
                        return Err(Unreadable::TooLong(bytes_max));
                    }
                    Step::Then(if size == 0 { Next::Trailers } else { Next::Data(size) })
                }
                None if input.len() < CHUNK_LINE_BYTES_MAX => Step::Short,
                None => return Err(over("CHUNK_LINE_BYTES_MAX", CHUNK_LINE_BYTES_MAX)),
            },
            Next::Data(_) if input.is_empty() => Step::Short,
            Next::Data(left) => {
                let here = left.min(input.len());
                self.whole.extend_from_slice(cut(input, here));
                Step::Then(if here == left { Next::End } else { Next::Data(left - here) })
            }
            Next::End => match input.get(..2) {
                None => Step::Short,
                Some(b"\r\n") => {
                    cut(input, 2);
                    Step::Then(Next::Size)
                }
                Some(_) => return Err(Unreadable::Broken),
            },
            Next::Trailers => {
                let left = TRAILER_BYTES_MAX - self.trailers;
                match line(input, left) {
                    Some(b"\r\n") => Step::Done,
                    Some(line) if is_field(line) => {
                        self.trailers += line.len();
                        Step::Then(Next::Trailers)
                    }
                    Some(_) => return Err(Unreadable::Broken),
                    None if input.len() < left => Step::Short,
                    None => return Err(over("TRAILER_BYTES_MAX", TRAILER_BYTES_MAX)),
                }
            }
        })
    }
}

fn over(limit: &'static str, max: usize) -> Unreadable {
    Unreadable::Framing { limit, max }
}

/// Takes a line with its end off the front, if one of at most `bytes_max` bytes is all there.
fn line<'a>(input: &mut &'a [u8], bytes_max: usize) -> Option<&'a [u8]> {
    let end = input.iter().take(bytes_max).position(|byte| *byte == b'\n')?;
    Some(cut(input, end + 1))
}

/// Whether a line is a header field: a name, a colon, and no control characters.
fn is_field(line: &[u8]) -> bool {
    let Some(line) = line.strip_suffix(b"\r\n") else { return false };
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return false };
    let (name, value) = line.split_at_checked(colon).unwrap_or_default();
    http::HeaderName::from_bytes(name).is_ok() && !value.iter().any(|byte| matches!(byte, b'\r' | b'\0'))
}

/// Takes so many bytes off the front.
fn cut<'a>(input: &mut &'a [u8], bytes: usize) -> &'a [u8] {
    let (front, rest) = input.split_at_checked(bytes).unwrap_or((*input, &[]));
    *input = rest;
    front
}

/// Size of the chunk that this line begins, and the bytes of its extensions, which say nothing here.
fn size(line: &[u8]) -> Option<(usize, usize)> {
    let line = std::str::from_utf8(line.strip_suffix(b"\r\n")?).ok()?;
    let end = line.find(';').unwrap_or(line.len());
    let (digits, extension) = line.split_at_checked(end)?;
    let digits = digits.trim_end_matches([' ', '\t']);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    // A size beyond all numbers is too long, not unreadable.
    is_number.then(|| (usize::from_str_radix(digits, 16).unwrap_or(usize::MAX), extension.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a body in pieces of every size.
    fn taken(text: &str, bytes_max: usize) -> Result<Option<(String, String)>, Unreadable> {
        let outcome = |size: usize| {
            let mut incoming = Incoming::new(Framing::Chunked);
            let mut input = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                input.extend_from_slice(piece);
                if let Some(body) = incoming.take(&mut input, bytes_max)? {
                    return Ok(Some(String::from_utf8(body).unwrap()));
                }
            }
            Ok(None)
        };
        let whole = outcome(text.len().max(1));
        for size in 1..text.len() {
            assert_eq!(outcome(size), whole, "{text:?} in pieces of {size}");
        }
        let mut input = text.as_bytes().to_vec();
        let rest = Incoming::new(Framing::Chunked).take(&mut input, bytes_max);
        Ok(rest?.and(whole?).map(|body| (body, String::from_utf8(input).unwrap())))
    }

    #[test]
    fn chunks_are_joined_however_they_arrive_and_the_rest_stays() {
        let joined = |body: &str, rest: &str| Ok(Some((body.to_owned(), rest.to_owned())));
        assert_eq!(taken("3\r\nabc\r\n0\r\n\r\nGET", 10), joined("abc", "GET"));
        assert_eq!(taken("3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n", 10), joined("abcde", ""));
        assert_eq!(taken("0\r\n\r\n", 10), joined("", ""));
        assert_eq!(taken("0\r\nA: b\r\nC:\r\n\r\nGET", 10), joined("", "GET"));
        assert_eq!(taken("3\r\nab", 10), Ok(None));
    }

    #[test]
    fn chunks_that_are_none_or_too_many_are_refused() {
        for broken in [
            "x\r\n",
            "3\r\nabcd\r\n0\r\n\r\n",
            "\r\nabc",
            "-1\r\n",
            "+1\r\n",
            "1\nab",
            "1 2\r\n",
            ";x\r\n",
            // Two readers could end these bodies at different places.
            "0\r\n\n",
            "0\r\nA: b\n\r\n",
            "0\r\nno field\r\n\r\n",
            "0\r\n: x\r\n\r\n",
            "0\r\nA : x\r\n\r\n",
            "0\r\nA: x\rB: y\r\n\r\n",
        ] {
            assert_eq!(taken(broken, 10), Err(Unreadable::Broken), "{broken:?}");
        }
        assert_eq!(taken("3\r\nabc\r\n8\r\n", 10), Err(Unreadable::TooLong(10)));
        assert_eq!(taken("ffffffffffffffffffff\r\n", 10), Err(Unreadable::TooLong(10)));
    }

    /// R5.5: `CHUNK_LINE_BYTES_MAX`, `CHUNK_EXTENSION_BYTES_MAX`, `TRAILER_BYTES_MAX`: the last byte that is let in, and
    /// one more.
    #[test]
    fn framing_over_its_limits_is_refused_by_the_limits_name() {
        let body = |text: &str| {
            let mut input = text.as_bytes().to_vec();
            let taken = Incoming::new(Framing::Chunked).take(&mut input, 10_000);
            taken.map(|body| body.map(|body| body.len()))
        };
        let lined = |bytes: usize| format!("1;{}\r\nx\r\n0\r\n\r\n", "e".repeat(bytes - 4));
        assert_eq!(body(&lined(CHUNK_LINE_BYTES_MAX)), Ok(Some(1)));
        let refused = Err(over("CHUNK_LINE_BYTES_MAX", CHUNK_LINE_BYTES_MAX));
        assert_eq!(body(&lined(CHUNK_LINE_BYTES_MAX + 1)), refused);
        let extended = |count: usize| format!("{}0\r\n\r\n", "1;234567\r\nx\r\n".repeat(count));
        let most = CHUNK_EXTENSION_BYTES_MAX / 7;
        assert_eq!(body(&extended(most)), Ok(Some(most)));
        let refused = Err(over("CHUNK_EXTENSION_BYTES_MAX", CHUNK_EXTENSION_BYTES_MAX));
        assert_eq!(body(&extended(most + 1)), refused);
        let trailed = |bytes: usize| format!("0\r\nA: b\r\nX: {}\r\n\r\n", "x".repeat(bytes - 13));
        assert_eq!(body(&trailed(TRAILER_BYTES_MAX)), Ok(Some(0)));
        let refused = Err(over("TRAILER_BYTES_MAX", TRAILER_BYTES_MAX));
        assert_eq!(body(&trailed(TRAILER_BYTES_MAX + 1)), refused);
        assert_eq!(body(&format!("0\r\n{}", "A: b\r\n".repeat(TRAILER_BYTES_MAX))), refused);
    }
}
