//! One request in flight, as the transport and the engine both see it.
//!
//! Guarantees: after the answer nothing more is sent for the request; a cancellation reaches everyone who waits for
//! it; the transport knows whether losing the client ends the request (modern) or not (legacy).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::outbox::{NotSent, Outbox, Outgoing};

#[derive(Debug)]
pub struct Exchange {
    outlet: Outlet,
    /// The client takes messages besides the answer.
    streams: bool,
    survives_disconnect: AtomicBool,
    finished: AtomicBool,
    cancelled: AtomicBool,
    wake: Notify,
    /// The task that runs the request.
    runner: Mutex<Option<Waker>>,
}

/// Through which outbox it speaks.
#[derive(Debug)]
enum Outlet {
    Own(Outbox),
    Shared(Arc<Outbox>),
    /// That of another request of the same batch.
    Sibling(Arc<Exchange>),
}

impl Exchange {
    /// One that shares its outbox. `streams` says whether the client accepts anything but the answer itself.
    #[must_use]
    pub fn new(outbox: Arc<Outbox>, streams: bool) -> Arc<Self> {
        Self::through(Outlet::Shared(outbox), streams)
    }

    /// One with an outbox of its own.
    #[must_use]
    pub fn alone(streams: bool) -> Arc<Self> {
        Self::through(Outlet::Own(Outbox::default()), streams)
    }

    fn through(outlet: Outlet, streams: bool) -> Arc<Self> {
        Arc::new(Self {
            outlet,
            streams,
            survives_disconnect: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            wake: Notify::new(),
            runner: Mutex::default(),
        })
    }

    /// Another request of the same batch: it speaks through the same outbox and ends by itself.
    #[must_use]
    pub fn sibling(self: &Arc<Self>) -> Arc<Self> {
        let sibling = Self::through(Outlet::Sibling(self.clone()), self.streams);
        if self.survives_disconnect() {
            sibling.survive_disconnect();
        }
        sibling
    }

    /// An exchange nobody listens to.
    #[must_use]
    pub fn silent() -> Arc<Self> {
        Self::alone(false)
    }

    #[must_use]
    pub fn outbox(&self) -> &Outbox {
        match &self.outlet {
            Outlet::Own(outbox) => outbox,
            Outlet::Shared(outbox) => outbox,
            Outlet::Sibling(sibling) => sibling.outbox(),
        }
    }

    #[must_use]
    pub fn streams(&self) -> bool {
        self.streams
    }

    /// Sends a message that belongs to this request.
    pub fn send(&self, message: impl Into<Bytes>) -> Result<(), NotSent> {
        self.push(Outgoing::Message(message.into()))
    }

    pub fn push(&self, outgoing: Outgoing) -> Result<(), NotSent> {
        if !self.streams || self.finished.load(Ordering::Acquire) || self.is_cancelled() {
            return Err(NotSent::Closed);
        }
        self.outbox().push(outgoing)
    }

    /// Nothing more may be sent for this request.
    pub fn finish(&self) {
        self.finished.store(true, Ordering::Release);
    }

    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.wake.notify_waiters();
        let runner = self.runner.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runner) = runner {
            runner.wake();
        }
    }

    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Ready when the request is cancelled. For the one task that runs it, which asks with every step: it costs less
    /// than [`Exchange::cancelled`], where any number can wait.
    pub(crate) fn poll_cancelled(&self, cx: &Context<'_>) -> Poll<()> {
        let mut runner = self.runner.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *runner {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        drop(runner);
        // Read after the waker is there, so that no cancellation falls between.
        if self.is_cancelled() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Returns when the request is cancelled.
    pub async fn cancelled(&self) {
        loop {
            let notified = self.wake.notified();
            tokio::pin!(notified);
            // Registered before the flag is read, so that no cancellation falls between.
            notified.as_mut().enable();
            if self.is_cancelled() {
                return;
            }
            notified.await;
        }
    }

    /// Legacy: losing the client is no cancellation.
    pub fn survive_disconnect(&self) {
        self.survives_disconnect.store(true, Ordering::Release);
    }

    #[must_use]
    pub fn survives_disconnect(&self) -> bool {
        self.survives_disconnect.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_cancellation_reaches_those_who_wait_and_those_who_come_late() {
        let exchange = Exchange::alone(true);
        let waiting = tokio::spawn({
            let exchange = exchange.clone();
            async move { exchange.cancelled().await }
        });
        tokio::task::yield_now().await;
        exchange.cancel();
        waiting.await.unwrap();
        exchange.cancelled().await;
        assert_eq!(exchange.send("x"), Err(NotSent::Closed));
    }

    #[tokio::test]
    async fn a_cancellation_wakes_the_task_that_runs_the_request() {
        let exchange = Exchange::silent();
        let running = tokio::spawn({
            let exchange = exchange.clone();
            std::future::poll_fn(move |cx| exchange.poll_cancelled(cx))
        });
        tokio::task::yield_now().await;
        assert!(!running.is_finished());
        exchange.cancel();
        running.await.unwrap();
    }

    #[test]
    fn nothing_is_sent_after_the_answer() {
        let exchange = Exchange::alone(true);
        exchange.send("x").unwrap();
        exchange.finish();
        assert_eq!(exchange.send("y"), Err(NotSent::Closed));
    }
}
