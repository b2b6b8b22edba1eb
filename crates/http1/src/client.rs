//! Client side of a connection. A request is one write; the response is read by the task that sent the request.
//!
//! Guarantees: heads, interim heads and chunk framing are bounded; bytes of one response are never attributed to
//! another. The caller decides if a connection is reused and how much of a body is kept.

use std::io;

use bytes::BufMut as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::chunks::{ChunkDecoder, ChunkError, Decoded};
use crate::framing::Framing;
use crate::limits::{INTERIM_BYTES_MAX, INTERIM_HEADS_MAX};
pub use crate::response_head::HeadError;
use crate::response_head::{ResponseHead, ResponseHeads};

/// Minimum bytes of a read, used when the missing length is unknown. A larger request buffer is not kept.
const READ_BYTES: usize = 16 * 1024;

/// Maximum bytes of a read.
const READ_BYTES_MAX: usize = 256 * 1024;

/// Reason why a response, or the rest of one, could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("the connection was closed")]
    Closed,
    #[error("{0}")]
    Head(#[from] HeadError),
    #[error("{0}")]
    Chunks(#[from] ChunkError),
    #[error("it switches to a protocol that nobody asked for")]
    Upgrade,
    #[error("{limit}: more than {max} interim heads came before the response")]
    InterimHeads { limit: &'static str, max: usize },
    #[error("{limit}: interim heads of more than {max} bytes came before the response")]
    InterimBytes { limit: &'static str, max: usize },
}

/// Connection to a server with its read-ahead buffer.
#[derive(Debug)]
pub struct ClientConnection<S> {
    stream: S,
    /// Bytes that were read; those before `taken` were consumed.
    buffer: Vec<u8>,
    taken: usize,
    heads: ResponseHeads,
    /// Buffer in which a request is built, reused for the next one.
    outgoing: Vec<u8>,
    failure: Option<io::Error>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> ClientConnection<S> {
    #[must_use]
    pub fn new(stream: S) -> Self {
        let (buffer, outgoing) = (Vec::new(), Vec::new());
        Self { stream, buffer, taken: 0, heads: ResponseHeads::default(), outgoing, failure: None }
    }

    #[must_use]
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// Returns the stream; bytes in the read-ahead buffer are lost.
    #[must_use]
    pub fn into_stream(self) -> S {
        self.stream
    }

    /// Returns the I/O error behind [`ReadError::Closed`], such as a TLS alert; `None` if the stream ended without one.
    #[must_use]
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Sends the request that `write` puts into an empty buffer.
    pub async fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.outgoing.clear();
        write(&mut self.outgoing);
        self.stream.write_all(&self.outgoing).await?;
        if self.outgoing.capacity() > READ_BYTES {
            self.outgoing = Vec::new();
        }
        self.stream.flush().await
    }

    /// Reads the head of the response and skips the interim heads before it.
    pub async fn head(&mut self) -> Result<ResponseHead, ReadError> {
        let (mut heads, mut bytes) = (0, 0);
        loop {
            let ahead = self.buffer.get(self.taken..).unwrap_or_default();
            let Some((head, length)) = self.heads.read(ahead)? else {
                self.more(0).await?;
                continue;
            };
            self.take(length);
            if !head.is_interim() {
                return Ok(head);
            }
            if head.status() == 101 {
                return Err(ReadError::Upgrade);
            }
            heads += 1;
            bytes += length;
            if heads > INTERIM_HEADS_MAX {
                return Err(ReadError::InterimHeads { limit: "INTERIM_HEADS_MAX", max: INTERIM_HEADS_MAX });
            }
            if bytes > INTERIM_BYTES_MAX {
                return Err(ReadError::InterimBytes { limit: "INTERIM_BYTES_MAX", max: INTERIM_BYTES_MAX });
            }
        }
    }

    /// Returns the bytes that were read ahead and not consumed yet.
    #[must_use]
    pub fn ahead(&self) -> &[u8] {
        self.buffer.get(self.taken..).unwrap_or_default()
    }

    /// Consumes bytes that were read ahead.
    pub fn take(&mut self, bytes: usize) {
        self.taken += bytes;
        if self.taken >= self.buffer.len() {
            self.buffer.clear();
            self.taken = 0;
        }
    }

    /// Reads from the stream directly into `whole`; returns 0 at the end of the stream.
    pub async fn read_into(&mut self, whole: &mut Vec<u8>) -> io::Result<usize> {
        self.stream.read_buf(&mut whole.limit(READ_BYTES_MAX)).await
    }

    /// Reads into the read-ahead buffer; returns 0 at the end of the stream. `wanted` is a hint of how many bytes are
    /// missing.
    async fn read(&mut self, wanted: usize) -> Result<usize, ReadError> {
        if self.taken > 0 {
            self.buffer.drain(..self.taken.min(self.buffer.len()));
            self.taken = 0;
        }
        self.buffer.reserve(wanted.clamp(READ_BYTES, READ_BYTES_MAX));
        self.stream.read_buf(&mut self.buffer).await.map_err(|error| {
            self.failure = Some(error);
            ReadError::Closed
        })
    }

    /// Reads into the read-ahead buffer; the end of the stream is an error.
    async fn more(&mut self, wanted: usize) -> Result<(), ReadError> {
        match self.read(wanted).await? {
            0 => Err(ReadError::Closed),
            _ => Ok(()),
        }
    }
}

/// Position in the body of a response.
#[derive(Debug)]
pub struct BodyReader {
    state: State,
}

#[derive(Debug)]
enum State {
    Left(u64),
    Chunks(ChunkDecoder),
    UntilClose,
    Done,
}

impl BodyReader {
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Length(0) => State::Done,
            Framing::Length(bytes) => State::Left(bytes),
            Framing::Chunked => State::Chunks(ChunkDecoder::default()),
            Framing::UntilClose => State::UntilClose,
        };
        Self { state }
    }

    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Returns the bytes that are still missing, if the head declared the length.
    #[must_use]
    pub fn announced(&self) -> Option<u64> {
        match self.state {
            State::Left(bytes) => Some(bytes),
            State::Done => Some(0),
            State::Chunks(_) | State::UntilClose => None,
        }
    }

    /// Counts bytes that bypassed this reader, by [`ClientConnection::read_into`].
    pub fn skip(&mut self, bytes: u64) {
        if let State::Left(left) = &mut self.state {
            *left = left.saturating_sub(bytes);
            if *left == 0 {
                self.state = State::Done;
            }
        }
    }

    /// Passes the next piece, of at most `piece_max` bytes, to `take` and returns its result; `None` at the end of the
    /// body. Cancel-safe: a dropped call loses no bytes.
    pub async fn piece<S: AsyncRead + AsyncWrite + Unpin, R>(
        &mut self,
        conn: &mut ClientConnection<S>,
        piece_max: usize,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, ReadError> {
        loop {
            match &mut self.state {
                State::Done => return Ok(None),
                State::Left(left) => {
                    let missing = usize::try_from(*left).unwrap_or(usize::MAX);
                    if conn.ahead().is_empty() {
                        conn.more(missing).await?;
                        continue;
                    }
                    let here = missing.min(conn.ahead().len()).min(piece_max);
                    let taken = take(conn.ahead().get(..here).unwrap_or_default());
                    conn.take(here);
                    self.skip(here as u64);
                    return Ok(Some(taken));
                }
                State::UntilClose => {
                    if conn.ahead().is_empty() && conn.read(0).await? == 0 {
                        self.state = State::Done;
                        return Ok(None);
                    }
                    let here = conn.ahead().len().min(piece_max);
                    let taken = take(conn.ahead().get(..here).unwrap_or_default());
                    conn.take(here);
                    return Ok(Some(taken));
                }
                State::Chunks(decoder) => {
                    let mut left = conn.ahead();
                    let before = left.len();
                    match decoder.next(&mut left, piece_max, u64::MAX)? {
                        Decoded::Data(data) => {
                            let used = before - left.len();
                            let taken = take(data);
                            conn.take(used);
                            return Ok(Some(taken));
                        }
                        Decoded::End => {
                            let used = before - left.len();
                            conn.take(used);
                            self.state = State::Done;
                            return Ok(None);
                        }
                        Decoded::Short => {
                            let used = before - left.len();
                            let missing = usize::try_from(decoder.left_in_chunk()).unwrap_or(usize::MAX);
                            conn.take(used);
                            conn.more(missing).await?;
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;
    use crate::limits::{CHUNK_LINE_BYTES_MAX, TRAILER_BYTES_MAX};

    const LAST: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

    /// Reads the body of the response in `text`, which arrives in pieces of `size` bytes; returns it and the rest.
    async fn read(text: &str, size: usize) -> Result<(String, String), ReadError> {
        let (ours, mut theirs) = duplex(size);
        let text = text.to_owned();
        let sent = tokio::spawn(async move {
            let _ = theirs.write_all(text.as_bytes()).await;
        });
        let mut conn = ClientConnection::new(ours);
        let head = conn.head().await?;
        let mut reader = BodyReader::new(head.framing());
        let mut body = Vec::new();
        while reader.piece(&mut conn, 7, |piece| body.extend_from_slice(piece)).await?.is_some() {}
        while conn.read(0).await.is_ok_and(|read| read > 0) {}
        sent.await.unwrap();
        Ok((String::from_utf8(body).unwrap(), String::from_utf8(conn.ahead().to_vec()).unwrap()))
    }

    #[tokio::test]
    async fn a_body_ends_where_its_head_says_however_it_arrives() {
        for (text, body, rest) in [
            (LAST, "{}", ""),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123456789HTTP", "123456789", "HTTP"),
            ("HTTP/1.1 204 No Content\r\n\r\nHTTP", "", "HTTP"),
            ("HTTP/1.1 200 OK\r\n\r\nuntil the end", "until the end", ""),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2 \r\nde\r\n0\r\nA: b\r\n\r\nHTTP",
                "abcde",
                "HTTP",
            ),
        ] {
            for size in [1, 2, 3, 5, 64, 4_096] {
                let read = read(text, size).await.unwrap();
                assert_eq!(read, (body.to_owned(), rest.to_owned()), "{text:?} in pieces of {size}");
            }
        }
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_an_error() {
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
            "HTTP/1.1 200 OK\r\nContent-Le",
        ] {
            assert_eq!(read(text, 4_096).await, Err(ReadError::Closed), "{text:?}");
        }
    }

    /// R5.6: `INTERIM_HEADS_MAX`, `INTERIM_BYTES_MAX`: interim heads of exactly the limit are accepted, more are
    /// refused.
    #[tokio::test]
    async fn interim_heads_over_their_limits_are_refused_by_the_limits_name() {
        let read =
            async |interim: String| read(&format!("{interim}{LAST}"), 4_096).await.map(|(body, _)| body);
        let small = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
        assert_eq!(read(small.repeat(INTERIM_HEADS_MAX)).await.as_deref(), Ok("{}"));
        let many = read(small.repeat(INTERIM_HEADS_MAX + 1)).await.unwrap_err().to_string();
        assert!(many.starts_with("INTERIM_HEADS_MAX: more than 64 interim heads"), "{many}");
        let half = |bytes| format!("HTTP/1.1 102 P\r\nX: {}\r\n\r\n", "x".repeat(bytes - 23));
        let most = INTERIM_BYTES_MAX / 2;
        assert_eq!(read(half(most) + &half(most)).await.as_deref(), Ok("{}"));
        let large = read(half(most) + &half(most + 1)).await.unwrap_err().to_string();
        assert!(large.starts_with("INTERIM_BYTES_MAX: "), "{large}");
        let switched = read("HTTP/1.1 101 Switching Protocols\r\n\r\n".to_owned()).await;
        assert_eq!(switched, Err(ReadError::Upgrade));
    }

    /// R5.6: `CHUNK_LINE_BYTES_MAX`, `TRAILER_BYTES_MAX`: an endless line is refused while it arrives.
    #[tokio::test]
    async fn endless_framing_is_refused_by_the_limits_name() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let refused = read(&format!("{head}{}", "0".repeat(CHUNK_LINE_BYTES_MAX)), 512).await;
        assert!(refused.unwrap_err().to_string().starts_with("CHUNK_LINE_BYTES_MAX"));
        let refused = read(&format!("{head}0\r\n{}", "x".repeat(TRAILER_BYTES_MAX)), 512).await;
        assert!(refused.unwrap_err().to_string().starts_with("TRAILER_BYTES_MAX"));
    }
}
