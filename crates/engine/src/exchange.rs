//! [`Exchange`]: one request in flight, shared by the transport and the engine.
//!
//! Guarantees: nothing is sent for the request after its answer; a cancellation wakes everyone who waits for it; the
//! transport knows whether a disconnect ends the request (modern) or not (legacy).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::outbox::{NotSent, Outbox, Outgoing};

/// One request in flight.
#[derive(Debug)]
pub struct Exchange {
    outlet: Outlet,
    /// `true` if the client accepts messages besides the answer.
    streams: bool,
    survives_disconnect: AtomicBool,
    finished: AtomicBool,
    cancelled: AtomicBool,
    wake: Notify,
    /// Task that runs the request.
    runner: Mutex<Option<Waker>>,
}

/// Outbox that the exchange sends through.
#[derive(Debug)]
enum Outlet {
    Own(Outbox),
    Shared(Arc<Outbox>),
    /// Outbox of another request of the same batch.
    Sibling(Arc<Exchange>),
}

impl Exchange {
    /// Creates an exchange with a shared outbox. `streams` tells if the client accepts messages besides the answer.
    #[must_use]
    pub fn new(outbox: Arc<Outbox>, streams: bool) -> Arc<Self> {
        Self::through(Outlet::Shared(outbox), streams)
    }

    /// Creates an exchange with its own outbox.
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

    /// Creates an exchange for another request of the same batch: it shares the outbox and ends separately.
    #[must_use]
    pub fn sibling(self: &Arc<Self>) -> Arc<Self> {
        let sibling = Self::through(Outlet::Sibling(self.clone()), self.streams);
        if self.survives_disconnect() {
            sibling.survive_disconnect();
        }
        sibling
    }

    /// Creates an exchange without a listener.
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

    /// Marks the request as answered: nothing more may be sent for it.
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

    /// Polls for cancellation; only for the one task that runs the request, which polls it at every step. Cheaper
    /// than [`Exchange::cancelled`], which any number of tasks can await.
    pub(crate) fn poll_cancelled(&self, cx: &Context<'_>) -> Poll<()> {
        let mut runner = self.runner.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *runner {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        drop(runner);
        // Read after the waker is stored, so that no cancellation is missed in between.
        if self.is_cancelled() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Returns when the request is cancelled.
    pub async fn cancelled(&self) {
        loop {
            let notified = self.wake.notified();
            tokio::pin!(notified);
            // Registered before the flag is read, so that no cancellation is missed in between.
            notified.as_mut().enable();
            if self.is_cancelled() {
                return;
            }
            notified.await;
        }
    }

    /// Legacy: a disconnect does not cancel the request.
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
