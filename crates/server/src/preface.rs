//! Detection of HTTP/2 with prior knowledge on a plain-text connection, by the first bytes from the client.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// First bytes of every HTTP/2 connection (RFC 9113 section 3.4); no HTTP/1 request begins with them.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Connection whose first bytes were read for detection and are returned again by reads.
#[derive(Debug)]
pub(crate) struct Rewound<S> {
    begun: [u8; PREFACE.len()],
    /// Part of `begun` that was not returned by a read yet.
    left: std::ops::Range<usize>,
    stream: S,
}

impl<S: AsyncRead + Unpin> Rewound<S> {
    /// Reads until the first bytes are the HTTP/2 preface or cannot become it; returns `true` if they are.
    pub(crate) async fn read(mut stream: S) -> io::Result<(Self, bool)> {
        let mut begun = [0; PREFACE.len()];
        let mut length = 0;
        // A read into the full buffer returns 0, like the end of the connection.
        loop {
            let read = stream.read(begun.get_mut(length..).unwrap_or_default()).await?;
            length += read;
            if read == 0 || begun.get(..length) != PREFACE.get(..length) {
                break;
            }
        }
        let is_http2 = begun == *PREFACE;
        Ok((Self { begun, left: 0..length, stream }, is_http2))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Rewound<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, to);
        }
        let end = self.left.end.min(self.left.start + to.remaining());
        to.put_slice(self.begun.get(self.left.start..end).unwrap_or_default());
        self.left.start = end;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Rewound<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    /// R14.2: no byte is lost by the detection, however the input was split.
    #[tokio::test]
    async fn the_first_bytes_tell_http2_from_http1_and_are_read_again() {
        let http2 = [PREFACE.as_slice(), b"frames"].concat();
        for (text, is_http2) in [
            (http2.as_slice(), true),
            (b"POST /mcp HTTP/1.1\r\n\r\n", false),
            (b"PRI * HTTP/1.1\r\nHost: localhost\r\n\r\n", false),
            (b"P", false),
            (b"", false),
        ] {
            for piece in [1, 5, 100] {
                let (mut near, far) = tokio::io::duplex(1024);
                let sent = text.to_vec();
                let sending = tokio::spawn(async move {
                    for part in sent.chunks(piece) {
                        near.write_all(part).await.unwrap();
                        tokio::task::yield_now().await;
                    }
                });
                let (mut rewound, found) = Rewound::read(far).await.unwrap();
                assert_eq!(found, is_http2, "{text:?}");
                let mut all = Vec::new();
                rewound.read_to_end(&mut all).await.unwrap();
                assert_eq!(all, text);
                sending.await.unwrap();
            }
        }
    }
}
