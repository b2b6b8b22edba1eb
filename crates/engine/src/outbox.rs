//! What the engine has to say to a client besides the answer, waiting for the transport to take it.
//!
//! Guarantees: bounded in frames and bytes; pushing never waits; one reader, woken by every push.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use crate::limits::{OUTBOX_BYTES_MAX, OUTBOX_FRAMES_MAX};

/// One thing for the transport to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outgoing {
    /// A whole JSON-RPC message.
    Message(Bytes),
    /// End the current stream without ending the call; the client comes back after so long.
    CloseStream { retry_ms: u64 },
}

/// The outbox has no room, or nobody will read it any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    #[error("too many messages are waiting for the client")]
    Full,
    #[error("the exchange is over")]
    Closed,
}

#[derive(Debug, Default)]
pub struct Outbox {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Outgoing>,
    bytes: usize,
    waker: Option<Waker>,
    closed: bool,
}

impl Outbox {
    pub fn push(&self, outgoing: Outgoing) -> Result<(), NotSent> {
        let mut state = self.lock();
        if state.closed {
            return Err(NotSent::Closed);
        }
        let size = size(&outgoing);
        if state.queue.len() >= OUTBOX_FRAMES_MAX || state.bytes + size > OUTBOX_BYTES_MAX {
            return Err(NotSent::Full);
        }
        state.bytes += size;
        state.queue.push_back(outgoing);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    /// The next thing to do; `None` when the outbox is closed and empty.
    pub fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Outgoing>> {
        let mut state = self.lock();
        if let Some(outgoing) = state.queue.pop_front() {
            state.bytes -= size(&outgoing);
            return Poll::Ready(Some(outgoing));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    pub async fn next(&self) -> Option<Outgoing> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// What waits already, without waiting for more.
    pub fn try_next(&self) -> Option<Outgoing> {
        let mut state = self.lock();
        let outgoing = state.queue.pop_front()?;
        state.bytes -= size(&outgoing);
        Some(outgoing)
    }

    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn size(outgoing: &Outgoing) -> usize {
    match outgoing {
        Outgoing::Message(bytes) => bytes.len(),
        Outgoing::CloseStream { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_come_out_in_order_and_the_end_is_seen() {
        let outbox = Outbox::default();
        for text in ["a", "b"] {
            outbox.push(Outgoing::Message(Bytes::from_static(text.as_bytes()))).unwrap();
        }
        outbox.close();
        assert_eq!(outbox.push(Outgoing::CloseStream { retry_ms: 1 }), Err(NotSent::Closed));
        assert_eq!(outbox.next().await, Some(Outgoing::Message(Bytes::from_static(b"a"))));
        assert_eq!(outbox.next().await, Some(Outgoing::Message(Bytes::from_static(b"b"))));
        assert_eq!(outbox.next().await, None);
    }

    #[test]
    fn a_client_that_does_not_read_cannot_make_the_outbox_grow() {
        let outbox = Outbox::default();
        for _ in 0..OUTBOX_FRAMES_MAX {
            outbox.push(Outgoing::CloseStream { retry_ms: 0 }).unwrap();
        }
        assert_eq!(outbox.push(Outgoing::CloseStream { retry_ms: 0 }), Err(NotSent::Full));
        outbox.try_next().unwrap();
        assert!(outbox.push(Outgoing::CloseStream { retry_ms: 0 }).is_ok());
    }
}
