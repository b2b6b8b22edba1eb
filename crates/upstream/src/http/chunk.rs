//! Lines between the chunks of an answer's body: sizes, line ends, trailers.
//!
//! Refuses by the limit's name: a chunk line, the chunk extensions or the trailers of a body over their bytes. Refuses
//! a size that is no hexadecimal number, a line that ends with a bare line feed, and a trailer that is no field.

use super::conn::Conn;
use crate::error::Cause;
use crate::limits::{
    UPSTREAM_CHUNK_EXTENSION_BYTES_MAX, UPSTREAM_CHUNK_LINE_BYTES_MAX, UPSTREAM_TRAILER_BYTES_MAX,
};

/// Bytes that framed the chunks of one body so far.
#[derive(Debug, Default)]
pub(super) struct ChunkLines {
    extensions: usize,
    trailers: usize,
}

impl ChunkLines {
    /// Reads the line that begins a chunk; returns the chunk's size.
    pub(super) async fn size(&mut self, conn: &mut Conn) -> Result<u64, Cause> {
        let over = || too_large("UPSTREAM_CHUNK_LINE_BYTES_MAX", UPSTREAM_CHUNK_LINE_BYTES_MAX);
        let length = line(conn, UPSTREAM_CHUNK_LINE_BYTES_MAX, over).await?;
        let (size, extension) = read_size(conn.ahead().get(..length).unwrap_or_default())
            .ok_or(Cause::Garbage("a chunk has no size"))?;
        conn.take(length);
        self.extensions += extension;
        if self.extensions > UPSTREAM_CHUNK_EXTENSION_BYTES_MAX {
            return Err(too_large("UPSTREAM_CHUNK_EXTENSION_BYTES_MAX", UPSTREAM_CHUNK_EXTENSION_BYTES_MAX));
        }
        Ok(size)
    }

    /// Reads the line end behind a chunk.
    pub(super) async fn end(conn: &mut Conn) -> Result<(), Cause> {
        while conn.ahead().len() < 2 {
            more(conn, 0).await?;
        }
        if !conn.ahead().starts_with(b"\r\n") {
            return Err(Cause::Garbage("a chunk is longer than it says"));
        }
        conn.take(2);
        Ok(())
    }

    /// Reads one line behind the last chunk; returns whether it ends the body. Trailers say nothing here.
    pub(super) async fn trailer(&mut self, conn: &mut Conn) -> Result<bool, Cause> {
        let over = || too_large("UPSTREAM_TRAILER_BYTES_MAX", UPSTREAM_TRAILER_BYTES_MAX);
        let length = line(conn, UPSTREAM_TRAILER_BYTES_MAX - self.trailers, over).await?;
        let is_last = match conn.ahead().get(..length).unwrap_or_default() {
            b"\r\n" => true,
            line if is_field(line) => false,
            _ => return Err(Cause::Garbage("a trailer is no header")),
        };
        conn.take(length);
        self.trailers += length;
        Ok(is_last)
    }
}

/// Reads more; the end is an error.
pub(super) async fn more(conn: &mut Conn, hint: usize) -> Result<(), Cause> {
    match conn.read(hint).await {
        Ok(0) | Err(_) => Err(Cause::Closed),
        Ok(_) => Ok(()),
    }
}

/// Reads until a whole line is ahead; returns its length with its line end, which is at most `bytes_max`.
async fn line(conn: &mut Conn, bytes_max: usize, over: impl Fn() -> Cause) -> Result<usize, Cause> {
    let mut seen = 0;
    loop {
        let ahead = conn.ahead();
        let news = ahead.get(seen..ahead.len().min(bytes_max)).unwrap_or_default();
        if let Some(at) = news.iter().position(|byte| *byte == b'\n') {
            return Ok(seen + at + 1);
        }
        if ahead.len() >= bytes_max {
            return Err(over());
        }
        seen = ahead.len();
        more(conn, 0).await?;
    }
}

/// Size of the chunk that this line begins, and the bytes of its extensions.
fn read_size(line: &[u8]) -> Option<(u64, usize)> {
    let line = std::str::from_utf8(line.strip_suffix(b"\r\n")?).ok()?;
    let end = line.find(';').unwrap_or(line.len());
    let (digits, extension) = line.split_at_checked(end)?;
    let digits = digits.trim_end_matches([' ', '\t']);
    // `from_str_radix` would take a sign.
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let size = u64::from_str_radix(digits, 16).ok().filter(|_| is_number)?;
    Some((size, extension.len()))
}

/// Whether a line is a header field: a name, a colon, and no control characters.
fn is_field(line: &[u8]) -> bool {
    let Some(line) = line.strip_suffix(b"\r\n") else { return false };
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return false };
    let (name, value) = line.split_at_checked(colon).unwrap_or_default();
    http::HeaderName::from_bytes(name).is_ok() && !value.iter().any(|byte| matches!(byte, b'\r' | b'\0'))
}

fn too_large(limit: &'static str, max: usize) -> Cause {
    Cause::TooLarge { limit, max }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::once;

    /// Reads a chunked body with this text behind its head.
    async fn body(text: &str) -> Result<String, Cause> {
        let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{text}");
        once::read(&answer).await.map_err(|error| *error.cause)
    }

    #[tokio::test]
    async fn chunks_are_joined_and_trailers_read_over() {
        assert_eq!(body("3;x=y\r\nabc\r\n2 \r\nde\r\n0\r\nA: b\r\nC:\r\n\r\n").await.as_deref(), Ok("abcde"));
        assert_eq!(body("0\r\n\r\n").await.as_deref(), Ok(""));
    }

    #[tokio::test]
    async fn chunks_and_trailers_that_are_none_are_refused() {
        for broken in [
            "x\r\n",
            "+3\r\nabc\r\n0\r\n\r\n",
            " 3\r\nabc\r\n0\r\n\r\n",
            "3\nabc\r\n0\r\n\r\n",
            "3\r\nabc\n0\r\n\r\n",
            "3\r\nabcd\r\n0\r\n\r\n",
            ";x\r\n",
            "11111111111111111\r\n",
            "0\r\n\n",
            "0\r\nno field\r\n\r\n",
            "0\r\n: x\r\n\r\n",
            "0\r\nA: b\n\r\n",
        ] {
            let refused = body(broken).await;
            assert!(matches!(refused, Err(Cause::Garbage(_))), "{broken:?}: {refused:?}");
        }
    }

    /// R5.6: `UPSTREAM_CHUNK_LINE_BYTES_MAX`, `UPSTREAM_CHUNK_EXTENSION_BYTES_MAX`, `UPSTREAM_TRAILER_BYTES_MAX`: the
    /// last byte that is let in, and one more.
    #[tokio::test]
    async fn framing_over_its_limits_is_refused_by_the_limits_name() {
        let over = |limit, max| Err(Cause::TooLarge { limit, max });
        let lined = |bytes: usize| format!("1;{}\r\nx\r\n0\r\n\r\n", "e".repeat(bytes - 4));
        assert_eq!(body(&lined(UPSTREAM_CHUNK_LINE_BYTES_MAX)).await.as_deref(), Ok("x"));
        let max = UPSTREAM_CHUNK_LINE_BYTES_MAX;
        assert_eq!(body(&lined(max + 1)).await, over("UPSTREAM_CHUNK_LINE_BYTES_MAX", max));
        let extended = |count: usize| format!("{}0\r\n\r\n", "1;234567\r\nx\r\n".repeat(count));
        let max = UPSTREAM_CHUNK_EXTENSION_BYTES_MAX;
        assert_eq!(body(&extended(max / 7)).await.map(|body| body.len()), Ok(max / 7));
        assert_eq!(body(&extended(max / 7 + 1)).await, over("UPSTREAM_CHUNK_EXTENSION_BYTES_MAX", max));
        let max = UPSTREAM_TRAILER_BYTES_MAX;
        let trailed = |bytes: usize| format!("0\r\nA: b\r\nX: {}\r\n\r\n", "x".repeat(bytes - 13));
        assert_eq!(body(&trailed(max)).await.as_deref(), Ok(""));
        assert_eq!(body(&trailed(max + 1)).await, over("UPSTREAM_TRAILER_BYTES_MAX", max));
        let many = format!("0\r\n{}", "A: b\r\n".repeat(max));
        assert_eq!(body(&many).await, over("UPSTREAM_TRAILER_BYTES_MAX", max));
    }
}
