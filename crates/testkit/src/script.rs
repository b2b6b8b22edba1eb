//! In-memory connection whose peer sends an input in given pieces.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Peer that sends its pieces one by one, then closes; records everything that it receives.
#[derive(Debug)]
pub struct Script {
    pieces: VecDeque<Vec<u8>>,
    /// `true` if the next read gets a piece; one read returns pending before each piece.
    is_ready: bool,
    seen: Seen,
}

/// Observer of a script; stays valid after the script was moved.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    unread: Arc<AtomicUsize>,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Seen {
    /// Returns the number of bytes that were not delivered yet.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.unread.load(Ordering::Relaxed)
    }

    /// Returns everything that the other side wrote.
    #[must_use]
    pub fn written(&self) -> Vec<u8> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Script {
    #[must_use]
    pub fn new(pieces: Vec<Vec<u8>>) -> Self {
        let seen = Seen::default();
        seen.unread.store(pieces.iter().map(Vec::len).sum(), Ordering::Relaxed);
        Self { pieces: pieces.into(), is_ready: false, seen }
    }

    #[must_use]
    pub fn seen(&self) -> Seen {
        self.seen.clone()
    }
}

impl AsyncRead for Script {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.is_ready = !this.is_ready;
        if this.is_ready {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Some(piece) = this.pieces.front_mut() else { return Poll::Ready(Ok(())) };
        let taken = piece.len().min(buf.remaining());
        buf.put_slice(piece.get(..taken).unwrap_or_default());
        piece.drain(..taken);
        if piece.is_empty() {
            this.pieces.pop_front();
        }
        this.seen.unread.fetch_sub(taken, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Script {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.seen.written.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
