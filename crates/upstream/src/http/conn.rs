//! One connection to an HTTP server and the bytes that were read ahead.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::BufMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::head::{Head, Heads};
use crate::error::Cause;

/// What is asked of the socket at once, where nothing says how much there is.
const READ_BYTES: usize = 16 * 1024;

/// What is asked of the socket at once, however much there is.
const READ_BYTES_MAX: usize = 256 * 1024;

pub(crate) enum Stream {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
    /// Peer in memory, for the fuzz targets.
    Scripted(Box<dyn Peer>),
}

/// Both directions of a connection.
pub(crate) trait Peer: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<P: AsyncRead + AsyncWrite + Send + Sync + Unpin> Peer for P {}

pub(crate) struct Conn {
    stream: Stream,
    /// Read; what is before `taken` was used.
    buffer: Vec<u8>,
    taken: usize,
    heads: Heads,
    /// Where requests are put together; kept for the next one.
    outgoing: Vec<u8>,
    /// Last put aside.
    pub(crate) idle_since: Instant,
}

impl Conn {
    pub(crate) fn new(stream: Stream) -> Self {
        let (buffer, outgoing) = (Vec::new(), Vec::new());
        Self { stream, buffer, taken: 0, heads: Heads::default(), outgoing, idle_since: Instant::now() }
    }

    /// Sends what `write` puts into an empty buffer.
    pub(crate) async fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.outgoing.clear();
        write(&mut self.outgoing);
        self.stream.write_all(&self.outgoing).await?;
        if self.outgoing.capacity() > READ_BYTES {
            self.outgoing = Vec::new();
        }
        match &mut self.stream {
            Stream::Plain(_) | Stream::Scripted(_) => Ok(()),
            Stream::Secure(stream) => stream.flush().await,
        }
    }

    /// Read ahead and not taken yet.
    pub(crate) fn ahead(&self) -> &[u8] {
        self.buffer.get(self.taken..).unwrap_or_default()
    }

    /// The head that was read ahead and its length, if it is complete.
    pub(crate) fn head(&mut self) -> Result<Option<(Head, usize)>, Cause> {
        self.heads.read(self.buffer.get(self.taken..).unwrap_or_default())
    }

    pub(crate) fn take(&mut self, bytes: usize) {
        self.taken += bytes;
        if self.taken >= self.buffer.len() {
            self.buffer.clear();
            self.taken = 0;
        }
    }

    /// Reads more; 0 is the end. `wanted` is a hint of how much is still missing.
    pub(crate) async fn read(&mut self, wanted: usize) -> io::Result<usize> {
        if self.taken > 0 {
            self.buffer.drain(..self.taken.min(self.buffer.len()));
            self.taken = 0;
        }
        self.buffer.reserve(wanted.clamp(READ_BYTES, READ_BYTES_MAX));
        self.stream.read_buf(&mut self.buffer).await
    }

    /// Reads into `whole`, which has room; 0 is the end.
    pub(crate) async fn read_into(&mut self, whole: &mut Vec<u8>) -> io::Result<usize> {
        self.stream.read_buf(&mut whole.limit(READ_BYTES_MAX)).await
    }

    /// Nothing was sent on it since the last answer, and the server has not hung up as far as is known.
    pub(crate) fn is_quiet(&self) -> bool {
        let tcp = match &self.stream {
            Stream::Plain(tcp) => tcp,
            Stream::Secure(tls) => tls.get_ref().0,
            // Answers of a script follow each other without requests.
            Stream::Scripted(_) => return true,
        };
        let mut byte = [0; 1];
        self.ahead().is_empty()
            && matches!(tcp.try_read(&mut byte), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Secure(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Scripted(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Secure(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Scripted(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Secure(stream) => Pin::new(stream).poll_flush(cx),
            Self::Scripted(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Scripted(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
