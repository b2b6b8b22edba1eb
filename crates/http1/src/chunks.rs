//! Decoder of the chunked transfer coding (RFC 9112 section 7.1), for requests and responses.
//!
//! Refuses, by the limit's name: a chunk line, the chunk extensions or the trailers of a body over their byte limits,
//! and more trailers than a head may have fields. Also refuses a size that is not a hexadecimal number, a line that
//! ends with a bare line feed, and a trailer that is not a header field.

use crate::limits::{CHUNK_EXTENSION_BYTES_MAX, CHUNK_LINE_BYTES_MAX, HEADERS_MAX, TRAILER_BYTES_MAX};

/// Reason why a chunked body cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    #[error("{0}")]
    Malformed(&'static str),
    #[error("{limit}: the framing of the body's chunks is over {max} bytes")]
    TooLarge { limit: &'static str, max: usize },
    #[error("{limit}: the body has more than {max} trailers")]
    TooManyTrailers { limit: &'static str, max: usize },
    /// The chunk is larger than the `room` that the caller gave.
    #[error("a chunk is larger than the body may be")]
    NoRoom,
}

/// One step of decoding.
#[derive(Debug, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// More input is needed; the input so far was consumed.
    Short,
    Data(&'a [u8]),
    /// The body has ended; the remaining input follows it.
    End,
}

/// State of a chunked body, kept between pieces of input.
#[derive(Debug, Default)]
pub struct ChunkDecoder {
    next: Next,
    extension_bytes: usize,
    trailer_bytes: usize,
    trailers: usize,
}

/// Expected part of the body.
#[derive(Debug, Default, Clone, Copy)]
enum Next {
    #[default]
    Size,
    Data(u64),
    /// The line end after the data of a chunk.
    DataEnd,
    Trailers,
    Nothing,
}

impl ChunkDecoder {
    /// Decodes the next part of the body and removes it from the front of `input`. Data comes in pieces of at most
    /// `piece_max` bytes. A chunk of more than `room` bytes is refused as soon as its size is known.
    pub fn next<'a>(
        &mut self,
        input: &mut &'a [u8],
        piece_max: usize,
        room: u64,
    ) -> Result<Decoded<'a>, ChunkError> {
        loop {
            match self.next {
                Next::Size => {
                    let limit = ("CHUNK_LINE_BYTES_MAX", CHUNK_LINE_BYTES_MAX);
                    let Some(line) = line(input, CHUNK_LINE_BYTES_MAX, limit)? else {
                        return Ok(Decoded::Short);
                    };
                    let size = self.size(line)?;
                    if size > room {
                        return Err(ChunkError::NoRoom);
                    }
                    self.next = if size == 0 { Next::Trailers } else { Next::Data(size) };
                }
                Next::Data(_) if input.is_empty() => return Ok(Decoded::Short),
                Next::Data(left) => {
                    let here = usize::try_from(left).unwrap_or(usize::MAX).min(input.len()).min(piece_max);
                    let left = left - here as u64;
                    self.next = if left == 0 { Next::DataEnd } else { Next::Data(left) };
                    return Ok(Decoded::Data(cut(input, here)));
                }
                Next::DataEnd => match input.get(..2) {
                    None => return Ok(Decoded::Short),
                    Some(b"\r\n") => {
                        cut(input, 2);
                        self.next = Next::Size;
                    }
                    Some(_) => return Err(ChunkError::Malformed("a chunk is longer than it says")),
                },
                Next::Trailers => {
                    let limit = ("TRAILER_BYTES_MAX", TRAILER_BYTES_MAX);
                    let Some(line) = line(input, TRAILER_BYTES_MAX - self.trailer_bytes, limit)? else {
                        return Ok(Decoded::Short);
                    };
                    self.trailer_bytes += line.len();
                    if line == b"\r\n" {
                        self.next = Next::Nothing;
                        continue;
                    }
                    if !is_field(line) {
                        return Err(ChunkError::Malformed("a trailer is no header field"));
                    }
                    self.trailers += 1;
                    if self.trailers > HEADERS_MAX {
                        return Err(ChunkError::TooManyTrailers { limit: "HEADERS_MAX", max: HEADERS_MAX });
                    }
                }
                Next::Nothing => return Ok(Decoded::End),
            }
        }
    }

    /// Returns the bytes of the current chunk that are still missing.
    #[must_use]
    pub fn left_in_chunk(&self) -> u64 {
        if let Next::Data(left) = self.next { left } else { 0 }
    }

    /// Parses the line that begins a chunk; returns the chunk's size.
    fn size(&mut self, line: &[u8]) -> Result<u64, ChunkError> {
        const NO_SIZE: ChunkError = ChunkError::Malformed("a chunk has no size");
        let line = line.strip_suffix(b"\r\n").ok_or(NO_SIZE)?;
        let end = line.iter().position(|byte| *byte == b';').unwrap_or(line.len());
        let (digits, extension) = line.split_at_checked(end).ok_or(NO_SIZE)?;
        if extension.contains(&b'\r') {
            return Err(ChunkError::Malformed("a chunk extension has a bare carriage return"));
        }
        self.extension_bytes += extension.len();
        if self.extension_bytes > CHUNK_EXTENSION_BYTES_MAX {
            let (limit, max) = ("CHUNK_EXTENSION_BYTES_MAX", CHUNK_EXTENSION_BYTES_MAX);
            return Err(ChunkError::TooLarge { limit, max });
        }
        let digits = std::str::from_utf8(digits).map_err(|_| NO_SIZE)?.trim_end_matches([' ', '\t']);
        // `from_str_radix` would accept a sign.
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NO_SIZE);
        }
        u64::from_str_radix(digits, 16).map_err(|_| ChunkError::NoRoom)
    }
}

/// Cuts a line with its end off the front; `None` if it is incomplete. A line of more than `bytes_max` is refused.
fn line<'a>(
    input: &mut &'a [u8],
    bytes_max: usize,
    (limit, max): (&'static str, usize),
) -> Result<Option<&'a [u8]>, ChunkError> {
    match input.iter().take(bytes_max).position(|byte| *byte == b'\n') {
        Some(end) => Ok(Some(cut(input, end + 1))),
        None if input.len() < bytes_max => Ok(None),
        None => Err(ChunkError::TooLarge { limit, max }),
    }
}

/// Returns `true` if a line is a header field: a name, a colon, and a value without control characters.
fn is_field(line: &[u8]) -> bool {
    let Some(line) = line.strip_suffix(b"\r\n") else { return false };
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return false };
    let (name, value) = line.split_at_checked(colon).unwrap_or_default();
    http::HeaderName::from_bytes(name).is_ok()
        && !value.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t')
}

/// Cuts `bytes` bytes off the front.
fn cut<'a>(input: &mut &'a [u8], bytes: usize) -> &'a [u8] {
    let (front, rest) = input.split_at_checked(bytes).unwrap_or((*input, &[]));
    *input = rest;
    front
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes a body that arrives in pieces of `size` bytes; returns the body and the rest, `None` if it is
    /// incomplete.
    fn decoded(text: &str, size: usize, room: u64) -> Result<Option<(String, String)>, ChunkError> {
        let mut decoder = ChunkDecoder::default();
        let (mut body, mut input) = (Vec::new(), Vec::new());
        for (at, piece) in text.as_bytes().chunks(size).enumerate() {
            input.extend_from_slice(piece);
            let mut left = input.as_slice();
            loop {
                match decoder.next(&mut left, 2, room - body.len() as u64)? {
                    Decoded::Short => break,
                    Decoded::Data(data) => body.extend_from_slice(data),
                    Decoded::End => {
                        let behind = text.get(((at + 1) * size).min(text.len())..).unwrap_or_default();
                        let rest = String::from_utf8_lossy(left).into_owned() + behind;
                        return Ok(Some((String::from_utf8(body).unwrap(), rest)));
                    }
                }
            }
            input = left.to_vec();
        }
        Ok(None)
    }

    /// Decodes a body in pieces of every size; asserts that all results are equal.
    fn in_any_pieces(text: &str, room: u64) -> Result<Option<(String, String)>, ChunkError> {
        let whole = decoded(text, text.len().max(1), room);
        for size in 1..text.len() {
            assert_eq!(decoded(text, size, room), whole, "{text:?} in pieces of {size}");
        }
        whole
    }

    #[test]
    fn chunks_are_joined_however_they_arrive_and_the_rest_stays() {
        let joined = |body: &str, rest: &str| Ok(Some((body.to_owned(), rest.to_owned())));
        assert_eq!(in_any_pieces("3\r\nabc\r\n0\r\n\r\nGET", 10), joined("abc", "GET"));
        assert_eq!(in_any_pieces("3;x=y\r\nabc\r\n2 \r\nde\r\n0\r\nA: b\r\n\r\n", 10), joined("abcde", ""));
        assert_eq!(in_any_pieces("0\r\n\r\n", 10), joined("", ""));
        assert_eq!(in_any_pieces("0\r\nA: b\r\nC:\r\n\r\nGET", 10), joined("", "GET"));
        assert_eq!(in_any_pieces("3\r\nab", 10), Ok(None));
    }

    #[test]
    fn chunks_and_trailers_that_are_none_are_refused() {
        for broken in [
            "x\r\n",
            "3\r\nabcd\r\n0\r\n\r\n",
            "\r\nabc",
            "-1\r\n",
            "+1\r\n",
            " 1\r\nx\r\n0\r\n\r\n",
            "0x1\r\nx\r\n0\r\n\r\n",
            "1\nab",
            "1\r\na\nb",
            "1 2\r\n",
            ";x\r\n",
            "1;a\rb\r\nx\r\n0\r\n\r\n",
            // Two parsers could end these bodies at different places.
            "0\r\n\n",
            "0\r\nA: b\n\r\n",
            "0\r\nno field\r\n\r\n",
            "0\r\n: x\r\n\r\n",
            "0\r\nA : x\r\n\r\n",
            "0\r\nA: x\rB: y\r\n\r\n",
            "0\r\nA: \u{1}\r\n\r\n",
            "0\r\nA: \u{7f}\r\n\r\n",
        ] {
            let refused = in_any_pieces(broken, 10);
            assert!(matches!(refused, Err(ChunkError::Malformed(_))), "{broken:?}: {refused:?}");
        }
        assert_eq!(in_any_pieces("3\r\nabc\r\n8\r\n", 10), Err(ChunkError::NoRoom));
        assert_eq!(in_any_pieces("ffffffffffffffffffff\r\n", 10), Err(ChunkError::NoRoom));
    }

    /// R5.5, R5.6: `CHUNK_LINE_BYTES_MAX`, `CHUNK_EXTENSION_BYTES_MAX`, `TRAILER_BYTES_MAX`: framing of exactly the
    /// limit is accepted, one byte more is refused.
    #[test]
    fn framing_over_its_limits_is_refused_by_the_limits_name() {
        let bytes =
            |text: &str| decoded(text, text.len(), 10_000).map(|body| body.map(|(body, _)| body.len()));
        let over = |limit, max| Err(ChunkError::TooLarge { limit, max });
        let lined = |bytes: usize| format!("1;{}\r\nx\r\n0\r\n\r\n", "e".repeat(bytes - 4));
        assert_eq!(bytes(&lined(CHUNK_LINE_BYTES_MAX)), Ok(Some(1)));
        let refused = over("CHUNK_LINE_BYTES_MAX", CHUNK_LINE_BYTES_MAX);
        assert_eq!(bytes(&lined(CHUNK_LINE_BYTES_MAX + 1)), refused);
        let extended = |count: usize| format!("{}0\r\n\r\n", "1;234567\r\nx\r\n".repeat(count));
        let most = CHUNK_EXTENSION_BYTES_MAX / 7;
        assert_eq!(bytes(&extended(most)), Ok(Some(most)));
        let refused = over("CHUNK_EXTENSION_BYTES_MAX", CHUNK_EXTENSION_BYTES_MAX);
        assert_eq!(bytes(&extended(most + 1)), refused);
        let trailed = |bytes: usize| format!("0\r\nA: b\r\nX: {}\r\n\r\n", "x".repeat(bytes - 13));
        assert_eq!(bytes(&trailed(TRAILER_BYTES_MAX)), Ok(Some(0)));
        let refused = over("TRAILER_BYTES_MAX", TRAILER_BYTES_MAX);
        assert_eq!(bytes(&trailed(TRAILER_BYTES_MAX + 1)), refused);
        assert_eq!(bytes(&format!("0\r\n{}", "x".repeat(TRAILER_BYTES_MAX))), refused);
        let many = |count: usize| format!("0\r\n{}\r\n", "A: b\r\n".repeat(count));
        assert_eq!(bytes(&many(HEADERS_MAX)), Ok(Some(0)));
        let refused = Err(ChunkError::TooManyTrailers { limit: "HEADERS_MAX", max: HEADERS_MAX });
        assert_eq!(bytes(&many(HEADERS_MAX + 1)), refused);
    }
}
