//! In-memory connection that delivers an input in given pieces, and the ways to split one.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::random::Random;

/// Longest input that is also delivered byte by byte.
const SINGLE_BYTES_MAX: usize = 2_048;

/// Peer that sends its pieces one by one, then closes, and takes everything it is sent.
#[derive(Debug)]
pub struct Script {
    pieces: VecDeque<Vec<u8>>,
    /// The next read gets a piece; before each piece one read has to wait.
    is_ready: bool,
    seen: Seen,
}

/// Observer of a script; stays valid after the script was given away.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    unread: Arc<AtomicUsize>,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Seen {
    /// Bytes that were not delivered yet.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.unread.load(Ordering::Relaxed)
    }

    /// Everything that the other side wrote.
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

/// The input whole, in a few pieces that depend on its bytes alone, and byte by byte if it is short.
#[must_use]
pub fn splits(input: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut splits = vec![cut(input, usize::MAX, 0), cut(input, (input.len() / 8).max(2), checksum(input))];
    if input.len() <= SINGLE_BYTES_MAX {
        splits.push(cut(input, 1, 0));
    }
    splits
}

/// Pieces of up to `longest` bytes; of that length exactly without a seed.
fn cut(input: &[u8], longest: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random::from_seed(seed);
    let (mut rest, mut pieces) = (input, Vec::new());
    while !rest.is_empty() {
        let length = if seed == 0 { longest } else { random.below(longest) + 1 };
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(piece.to_vec());
        rest = after;
    }
    pieces
}

fn checksum(input: &[u8]) -> u64 {
    input.iter().fold(1, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte))) | 1
}

/// Runs a future to its end on this thread. The clock is paused and jumps to the next timer whenever every task waits, so
/// that pauses and timeouts cost no time.
///
/// # Panics
/// Where the system gives no runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime = runtime();
    }
    RUNTIME.with(|runtime| runtime.block_on(future))
}

/// Runtime of one thread whose clock is paused.
///
/// # Panics
/// Where the system gives no runtime.
#[must_use]
pub fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap_or_else(|error| panic!("no runtime: {error}"))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[test]
    fn every_split_is_the_whole_input() {
        let input: Vec<u8> = (0..=255).collect();
        let splits = splits(&input);
        assert_eq!(splits.iter().map(Vec::len).min(), Some(1));
        assert_eq!(splits.iter().map(Vec::len).max(), Some(256));
        for pieces in splits {
            let script = Script::new(pieces.clone());
            let seen = script.seen();
            assert_eq!((pieces.concat(), seen.unread()), (input.clone(), 256));
            let mut read = Vec::new();
            block_on(async { tokio::io::BufReader::new(script).read_to_end(&mut read).await }).unwrap();
            assert_eq!((read, seen.unread()), (input.clone(), 0));
        }
    }
}
