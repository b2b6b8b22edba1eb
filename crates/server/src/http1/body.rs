//! The body of a request, taken out of what was read.

use super::framing::Framing;
use crate::limits::HEAD_BYTES_MAX;

/// Bytes of the line that says how long a chunk is.
const CHUNK_LINE_BYTES_MAX: usize = 4 * 1024;

/// Why a body could not be taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    TooLong(usize),
    TooSlow,
    Broken,
}

/// A body on its way in.
#[derive(Debug)]
pub(super) enum Incoming {
    Length(usize),
    Chunks { whole: Vec<u8>, next: Next },
}

/// What a chunked body goes on with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Next {
    Size,
    Data(usize),
    /// The line end behind a chunk.
    End,
    /// Lines behind the last chunk, so many bytes so far; they say nothing here.
    Trailers(usize),
}

impl Incoming {
    pub(super) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Length(length) => Self::Length(length),
            Framing::Chunked => Self::Chunks { whole: Vec::new(), next: Next::Size },
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
            Self::Chunks { whole, next } => {
                let mut left = input.as_slice();
                let is_done = loop {
                    match next.step(&mut left, whole, bytes_max)? {
                        Step::Short => break false,
                        Step::Then(then) => *next = then,
                        Step::Done => break true,
                    }
                };
                let used = input.len() - left.len();
                input.drain(..used);
                Ok(is_done.then(|| std::mem::take(whole)))
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

impl Next {
    fn step(self, input: &mut &[u8], whole: &mut Vec<u8>, bytes_max: usize) -> Result<Step, Unreadable> {
        Ok(match self {
            Self::Size => match input.iter().take(CHUNK_LINE_BYTES_MAX).position(|byte| *byte == b'\n') {
                Some(at) => {
                    let size = size(cut(input, at + 1)).ok_or(Unreadable::Broken)?;
                    if size > bytes_max.saturating_sub(whole.len()) {
                        return Err(Unreadable::TooLong(bytes_max));
                    }
                    Step::Then(if size == 0 { Self::Trailers(0) } else { Self::Data(size) })
                }
                None if input.len() < CHUNK_LINE_BYTES_MAX => Step::Short,
                None => return Err(Unreadable::Broken),
            },
            Self::Data(_) if input.is_empty() => Step::Short,
            Self::Data(left) => {
                let here = left.min(input.len());
                whole.extend_from_slice(cut(input, here));
                Step::Then(if here == left { Self::End } else { Self::Data(left - here) })
            }
            Self::End => match input.get(..2) {
                None => Step::Short,
                Some(b"\r\n") => {
                    cut(input, 2);
                    Step::Then(Self::Size)
                }
                Some(_) => return Err(Unreadable::Broken),
            },
            Self::Trailers(so_far) => match input.iter().position(|byte| *byte == b'\n') {
                None if so_far + input.len() <= HEAD_BYTES_MAX => Step::Short,
                Some(at) if so_far + at < HEAD_BYTES_MAX => match cut(input, at + 1) {
                    b"\r\n" | b"\n" => Step::Done,
                    line => Step::Then(Self::Trailers(so_far + line.len())),
                },
                _ => return Err(Unreadable::Broken),
            },
        })
    }
}

/// Takes so many bytes off the front.
fn cut<'a>(input: &mut &'a [u8], bytes: usize) -> &'a [u8] {
    let (front, rest) = input.split_at_checked(bytes).unwrap_or((*input, &[]));
    *input = rest;
    front
}

/// How long a chunk is that begins with this line; what is added behind a semicolon says nothing here.
fn size(line: &[u8]) -> Option<usize> {
    let line = std::str::from_utf8(line.strip_suffix(b"\r\n")?).ok()?;
    let digits = line.split(';').next().unwrap_or_default().trim_end_matches([' ', '\t']);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    // A size beyond all numbers is too long, not unreadable.
    is_number.then(|| usize::from_str_radix(digits, 16).unwrap_or(usize::MAX))
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
        assert_eq!(taken("3\r\nab", 10), Ok(None));
    }

    #[test]
    fn chunks_that_are_none_or_too_many_are_refused() {
        for broken in
            ["x\r\n", "3\r\nabcd\r\n0\r\n\r\n", "\r\nabc", "-1\r\n", "+1\r\n", "1\nab", "1 2\r\n", ";x\r\n"]
        {
            assert_eq!(taken(broken, 10), Err(Unreadable::Broken), "{broken:?}");
        }
        assert_eq!(taken("3\r\nabc\r\n8\r\n", 10), Err(Unreadable::TooLong(10)));
        assert_eq!(taken("ffffffffffffffffffff\r\n", 10), Err(Unreadable::TooLong(10)));
        let mut endless = format!("1;{}", "x".repeat(CHUNK_LINE_BYTES_MAX)).into_bytes();
        assert_eq!(Incoming::new(Framing::Chunked).take(&mut endless, 10), Err(Unreadable::Broken));
        let mut endless = format!("0\r\n{}", "a: b\r\n".repeat(HEAD_BYTES_MAX)).into_bytes();
        assert_eq!(Incoming::new(Framing::Chunked).take(&mut endless, 10), Err(Unreadable::Broken));
    }
}
