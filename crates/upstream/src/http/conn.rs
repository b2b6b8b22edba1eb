//! One connection to an HTTP server and the bytes that were read ahead.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// What is asked of the socket at once.
const READ_BYTES: usize = 16 * 1024;

pub(crate) enum Stream {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

pub(crate) struct Conn {
    stream: Stream,
    /// Read and not taken yet.
    pub(crate) buffer: BytesMut,
    /// Last put aside.
    pub(crate) idle_since: Instant,
    /// It has answered before: it may have been closed while nobody looked.
    pub(crate) is_used: bool,
}

impl Conn {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, buffer: BytesMut::new(), idle_since: Instant::now(), is_used: false }
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        match &mut self.stream {
            Stream::Plain(_) => Ok(()),
            Stream::Secure(stream) => stream.flush().await,
        }
    }

    /// Reads more; 0 is the end. `wanted` is a hint of how much is still missing.
    pub(crate) async fn read(&mut self, wanted: usize) -> io::Result<usize> {
        self.buffer.reserve(wanted.clamp(READ_BYTES, 256 * 1024));
        self.stream.read_buf(&mut self.buffer).await
    }

    /// Nothing was sent on it since the last answer, and the server has not hung up as far as is known.
    pub(crate) fn is_quiet(&self) -> bool {
        let tcp = match &self.stream {
            Stream::Plain(tcp) => tcp,
            Stream::Secure(tls) => tls.get_ref().0,
        };
        let mut byte = [0; 1];
        self.buffer.is_empty()
            && matches!(tcp.try_read(&mut byte), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    pub(crate) fn take(&mut self, bytes: usize) {
        self.buffer.advance(bytes.min(self.buffer.len()));
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Secure(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Secure(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Secure(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
