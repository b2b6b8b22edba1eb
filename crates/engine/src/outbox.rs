//! Queue of messages for a client besides the answer, until the transport takes them.
//!
//! Guarantees: bounded in frames and bytes; pushing never waits; one reader, woken by every push. Answers are exempt
//! from the bounds: there are at most as many as requests in flight.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::limits::{OUTBOX_BYTES_MAX, OUTBOX_FRAMES_MAX, OUTBOX_UNCOUNTED_BYTES_MAX};
use crate::quota::Held;

/// Action for the transport, queued in an outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outgoing {
    /// A whole JSON-RPC message.
    Message(Bytes),
    /// Ends the current stream without ending the call; the client reconnects after this many milliseconds.
    CloseStream { retry_ms: u64 },
}

/// Reason why an item was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    #[error("too many messages are waiting for the client")]
    Full,
    #[error("the exchange is over")]
    Closed,
}

/// Bounded queue of messages for one client.
#[derive(Debug, Default)]
pub struct Outbox {
    state: Mutex<State>,
    drained: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Outgoing>,
    bytes: usize,
    waker: Option<Waker>,
    closed: bool,
    /// Quota in which the waiting bytes are counted for the caller.
    held: Option<Held>,
}

impl State {
    /// Returns true if the caller has too many bytes waiting, here and in its other outboxes.
    fn is_over(&self, more: usize) -> bool {
        let is_counted = self.bytes + more > OUTBOX_UNCOUNTED_BYTES_MAX;
        is_counted && self.held.as_ref().is_some_and(Held::is_over)
    }

    /// Counts the waiting bytes for the caller if they are over `OUTBOX_UNCOUNTED_BYTES_MAX`.
    fn count(&mut self) {
        let Some(held) = &mut self.held else { return };
        let counted = if self.bytes > OUTBOX_UNCOUNTED_BYTES_MAX { self.bytes } else { 0 };
        held.charge(counted.saturating_sub(held.amount()));
        held.shrink(held.amount().saturating_sub(counted));
    }

    fn pop(&mut self) -> Option<Outgoing> {
        let outgoing = self.queue.pop_front()?;
        self.bytes -= size(&outgoing);
        self.count();
        Some(outgoing)
    }
}

impl Outbox {
    pub fn push(&self, outgoing: Outgoing) -> Result<(), NotSent> {
        let state = self.lock();
        let more = size(&outgoing);
        let is_full = state.queue.len() >= OUTBOX_FRAMES_MAX || state.bytes + more > OUTBOX_BYTES_MAX;
        if is_full || state.is_over(more) {
            return Err(NotSent::Full);
        }
        append(state, outgoing)
    }

    /// Queues an answer whatever else waits: an accepted request always gets its answer.
    pub fn push_answer(&self, outgoing: Outgoing) -> Result<(), NotSent> {
        append(self.lock(), outgoing)
    }

    /// Counts the waiting bytes in `held` from now on; messages are refused while its quota is exceeded.
    pub fn count_in(&self, held: Held) {
        let mut state = self.lock();
        state.held = Some(held);
        state.count();
    }

    /// Returns true if less than half of the frames and bytes are taken.
    #[must_use]
    pub fn has_room(&self) -> bool {
        let state = self.lock();
        state.queue.len() < OUTBOX_FRAMES_MAX / 2 && state.bytes < OUTBOX_BYTES_MAX / 2
    }

    /// Waits until less than half of the frames and bytes are taken. Back-pressure: the reader of requests waits for
    /// the reader of answers.
    pub async fn room(&self) {
        loop {
            let drained = self.drained.notified();
            tokio::pin!(drained);
            drained.as_mut().enable();
            {
                let state = self.lock();
                if state.closed
                    || (state.queue.len() < OUTBOX_FRAMES_MAX / 2 && state.bytes < OUTBOX_BYTES_MAX / 2)
                {
                    return;
                }
            }
            drained.await;
        }
    }

    /// Polls for the next item; `None` once the outbox is closed and empty.
    pub fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Outgoing>> {
        let mut state = self.lock();
        if let Some(outgoing) = state.pop() {
            drop(state);
            self.drained.notify_waiters();
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

    /// Returns an item that is queued already, without waiting.
    pub fn try_next(&self) -> Option<Outgoing> {
        let mut state = self.lock();
        let outgoing = state.pop()?;
        drop(state);
        self.drained.notify_waiters();
        Some(outgoing)
    }

    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let waker = state.waker.take();
        drop(state);
        self.drained.notify_waiters();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn append(mut state: MutexGuard<'_, State>, outgoing: Outgoing) -> Result<(), NotSent> {
    if state.closed {
        return Err(NotSent::Closed);
    }
    state.bytes += size(&outgoing);
    state.queue.push_back(outgoing);
    state.count();
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
    Ok(())
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
    use crate::quota::{Bound, Bounds, Quota};
    use crate::share::Share;

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

    #[test]
    fn bytes_over_outbox_bytes_max_do_not_wait_but_an_answer_does() {
        let outbox = Outbox::default();
        let large = || Outgoing::Message(Bytes::from(vec![b'x'; OUTBOX_BYTES_MAX]));
        outbox.push(large()).unwrap();
        let small = || Outgoing::Message(Bytes::from_static(b"x"));
        assert_eq!(outbox.push(small()), Err(NotSent::Full));
        assert_eq!(outbox.push_answer(small()), Ok(()));
    }

    /// Up to `OUTBOX_UNCOUNTED_BYTES_MAX` nothing is counted; larger amounts count for the caller.
    #[test]
    fn bytes_that_wait_count_for_the_caller_and_are_refused_over_its_bound() {
        let (outbox, limit) = (Outbox::default(), 4 * OUTBOX_UNCOUNTED_BYTES_MAX);
        let bound = Bound { name: "UNREAD", max: limit, counts: "bytes" };
        let quota = Quota::new(Bounds { total: bound, share: bound });
        let message = |bytes: usize| Outgoing::Message(Bytes::from(vec![b'x'; bytes]));
        outbox.push(message(OUTBOX_UNCOUNTED_BYTES_MAX)).unwrap();
        outbox.count_in(quota.charge(&Share::Unknown, 0));
        assert_eq!(quota.total(), 0);
        outbox.push(message(limit)).unwrap();
        assert_eq!(quota.total(), limit + OUTBOX_UNCOUNTED_BYTES_MAX);
        assert_eq!(outbox.push(message(1)), Err(NotSent::Full));
        outbox.try_next().unwrap();
        assert_eq!(quota.total(), limit);
        outbox.push(message(1)).unwrap();
        drop(outbox);
        assert_eq!(quota.total(), 0);
    }

    #[tokio::test]
    async fn room_comes_when_somebody_reads() {
        let outbox = std::sync::Arc::new(Outbox::default());
        for _ in 0..OUTBOX_FRAMES_MAX {
            outbox.push(Outgoing::CloseStream { retry_ms: 0 }).unwrap();
        }
        let waiting = tokio::spawn({
            let outbox = outbox.clone();
            async move { outbox.room().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        while outbox.try_next().is_some() {}
        waiting.await.unwrap();
    }
}
