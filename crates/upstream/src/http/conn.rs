//! One connection to an HTTP server: the byte stream below HTTP, and the time of its last use.

use std::io;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;
use toolcrib_http1::client::{ClientConnection, ReadError};

use super::tls;
use crate::error::{Cause, UpstreamError};

/// Byte stream to a server.
pub(crate) enum Stream {
    Plain(TcpStream),
    Unix(UnixStream),
    /// TLS over any of the others; a proxy may have TLS of its own.
    Secure(Box<TlsStream<Self>>),
    /// In-memory peer for fuzz targets.
    Scripted(Box<dyn Peer>),
}

/// Both directions of a byte stream.
pub(crate) trait Peer: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<P: AsyncRead + AsyncWrite + Send + Sync + Unpin> Peer for P {}

/// An HTTP/1.1 connection to a server.
pub(crate) struct Conn {
    http: ClientConnection<Stream>,
    /// Time at which it was last returned to the pool.
    pub(crate) idle_since: Instant,
}

impl Conn {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { http: ClientConnection::new(stream), idle_since: Instant::now() }
    }

    /// Error of a response whose head could not be read. With TLS 1.3 a server refuses the client certificate after the
    /// handshake, so the refusal is the first thing that is read.
    pub(crate) fn headless(&self, error: ReadError, address: &str) -> UpstreamError {
        match self.http.failure().is_some_and(tls::refuses_certificate) {
            true => UpstreamError::unsent(Cause::ClientCertificate { address: address.into() }),
            false => UpstreamError::sent(error.into()),
        }
    }

    /// Returns `true` if nothing arrived after the last response and the server is not known to have closed.
    pub(crate) fn is_quiet(&self) -> bool {
        // A script contains its responses back to back, without waiting for requests.
        matches!(self.http.stream(), Stream::Scripted(_))
            || (self.http.ahead().is_empty() && self.http.stream().is_quiet())
    }
}

impl Deref for Conn {
    type Target = ClientConnection<Stream>;

    fn deref(&self) -> &Self::Target {
        &self.http
    }
}

impl DerefMut for Conn {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.http
    }
}

impl Stream {
    /// Returns `true` if the stream is open and has nothing to read, as far as known.
    fn is_quiet(&self) -> bool {
        let mut byte = [0; 1];
        let read = match self {
            Self::Plain(tcp) => tcp.try_read(&mut byte),
            Self::Unix(unix) => unix.try_read(&mut byte),
            Self::Secure(tls) => {
                let (below, session) = tls.get_ref();
                // `false` while decrypted bytes wait to be read, and after the server announced the end.
                return session.wants_read() && below.is_quiet();
            }
            Self::Scripted(_) => return true,
        };
        matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Returns `true` if ALPN selected HTTP/2.
    pub(super) fn chose_http2(&self) -> bool {
        matches!(self, Self::Secure(tls) if tls.get_ref().1.alpn_protocol() == Some(b"h2"))
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Secure(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Scripted(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Secure(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Scripted(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Self::Secure(stream) => Pin::new(stream).poll_flush(cx),
            Self::Scripted(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Scripted(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
