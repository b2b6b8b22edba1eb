//! Queue of messages that arrived for one call.
//!
//! Guarantees: messages are returned in the order of arrival, the response last. At most `UPSTREAM_CALL_EVENTS_MAX`
//! are queued besides the response. Closing the inbox wakes its reader.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::limits::UPSTREAM_CALL_EVENTS_MAX;
use crate::message::Message;

/// Queue of one call's messages.
#[derive(Default)]
pub(crate) struct Inbox(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    events: VecDeque<Message>,
    answer: Option<Message>,
    /// `true` if nothing more will arrive.
    closed: bool,
    waker: Option<Waker>,
}

impl Inbox {
    /// Stores the response and closes the inbox.
    pub(crate) fn answer(&self, message: Message) {
        self.change(|waiting| {
            if !waiting.closed {
                waiting.answer = Some(message);
                waiting.closed = true;
            }
        });
    }

    /// Queues any other message; returns `false` if the queue is full or closed.
    pub(crate) fn event(&self, message: Message) -> bool {
        self.change(|waiting| {
            let takes = !waiting.closed && waiting.events.len() < UPSTREAM_CALL_EVENTS_MAX;
            if takes {
                waiting.events.push_back(message);
            }
            takes
        })
    }

    /// Closes the inbox.
    pub(crate) fn close(&self) {
        self.change(|waiting| waiting.closed = true);
    }

    /// Returns the next message other than the response; `None` once there are no more.
    pub(crate) fn poll_event(&self, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        self.poll(cx, |waiting| waiting.events.pop_front())
    }

    /// Returns the next message, the response last; `None` after it, or if none will arrive.
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        self.poll(cx, |waiting| waiting.events.pop_front().or_else(|| waiting.answer.take()))
    }

    fn poll(
        &self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&mut Waiting) -> Option<Message>,
    ) -> Poll<Option<Message>> {
        let mut waiting = self.lock();
        if let Some(message) = take(&mut waiting) {
            return Poll::Ready(Some(message));
        }
        if waiting.closed {
            return Poll::Ready(None);
        }
        match &mut waiting.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Changes the queue and wakes the reader.
    fn change<T>(&self, change: impl FnOnce(&mut Waiting) -> T) -> T {
        let mut waiting = self.lock();
        let changed = change(&mut waiting);
        let waker = waiting.waker.take();
        drop(waiting);
        if let Some(waker) = waker {
            waker.wake();
        }
        changed
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    fn message(number: usize) -> Message {
        Message::read(format!(r#"{{"jsonrpc":"2.0","id":{number},"result":{{}}}}"#)).unwrap()
    }

    async fn next(inbox: &Inbox) -> Option<Message> {
        poll_fn(|cx| inbox.poll_next(cx)).await
    }

    #[tokio::test]
    async fn messages_are_taken_in_their_order_and_the_answer_last() {
        let inbox = std::sync::Arc::new(Inbox::default());
        let waiting = tokio::spawn({
            let inbox = inbox.clone();
            async move { next(&inbox).await }
        });
        tokio::task::yield_now().await;
        for number in 0..=UPSTREAM_CALL_EVENTS_MAX {
            assert_eq!(inbox.event(message(number)), number < UPSTREAM_CALL_EVENTS_MAX);
        }
        inbox.answer(message(1_000));
        assert!(!inbox.event(message(0)), "nothing comes after the answer");
        assert_eq!(waiting.await.unwrap().unwrap().kind(), message(0).kind());
        for number in 1..UPSTREAM_CALL_EVENTS_MAX {
            assert_eq!(next(&inbox).await.unwrap().kind(), message(number).kind());
        }
        assert!(poll_fn(|cx| inbox.poll_event(cx)).await.is_none());
        assert_eq!(next(&inbox).await.unwrap().kind(), message(1_000).kind());
        assert!(next(&inbox).await.is_none());
    }

    #[tokio::test]
    async fn whoever_waits_hears_of_the_end() {
        let inbox = std::sync::Arc::new(Inbox::default());
        let waiting = tokio::spawn({
            let inbox = inbox.clone();
            async move { next(&inbox).await.is_none() }
        });
        tokio::task::yield_now().await;
        inbox.close();
        assert!(waiting.await.unwrap());
    }
}
