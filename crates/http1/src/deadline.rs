//! A connection's deadline and the shutdown signal.
//!
//! One timer serves a connection for its life. It is moved when it fires too early, not for every request.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::coop;
use tokio::time::{Instant, Sleep, sleep_until};

/// Deadline of one connection; also ready when the server stops.
pub(crate) struct Deadline {
    at: Instant,
    /// Timer that fires at the deadline or before it.
    alarm: Pin<Box<Sleep>>,
    stopped: watch::Receiver<bool>,
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Waker that the timer and the shutdown signal were last polled with.
    waker: Option<Waker>,
}

/// Reason why waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    TooLate,
    Stopped,
}

impl Deadline {
    pub(crate) fn new(mut stopped: watch::Receiver<bool>, within: Duration) -> Self {
        let at = Instant::now() + within;
        // A signal from before this receiver counts as well.
        if *stopped.borrow() {
            stopped.mark_changed();
        }
        let mut other = stopped.clone();
        Self {
            at,
            alarm: Box::pin(sleep_until(at)),
            stopped,
            stop: Box::pin(async move {
                if other.wait_for(|stopped| *stopped).await.is_err() {
                    // The sender was dropped, so the signal can no longer come.
                    std::future::pending::<()>().await;
                }
            }),
            waker: None,
        }
    }

    /// Sets the deadline to `within` from now.
    pub(crate) fn expect_within(&mut self, within: Duration) {
        self.at = Instant::now() + within;
        if self.at < self.alarm.deadline() {
            self.alarm.as_mut().reset(self.at);
            self.waker = None;
        }
    }

    /// Returns `true` once the shutdown signal has come, even if its sender was dropped since. Takes the lock of the
    /// channel only after a signal.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopped.has_changed().unwrap_or(true) && *self.stopped.borrow()
    }

    /// Ready once the deadline has passed, however fast the client sends.
    pub(crate) fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if is_overdue(self.at) {
            return Poll::Ready(());
        }
        if self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            if !self.alarm.is_elapsed() {
                return Poll::Pending;
            }
        } else {
            self.waker = Some(cx.waker().clone());
            if !self.is_stopping() {
                let _ = self.stop.as_mut().poll(cx);
            }
        }
        loop {
            ready!(self.alarm.as_mut().poll(cx));
            if Instant::now() >= self.at {
                return Poll::Ready(());
            }
            self.alarm.as_mut().reset(self.at);
        }
    }

    /// Ready once the deadline has passed or the server is stopping.
    pub(crate) fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<Over> {
        match self.poll_late(cx) {
            Poll::Ready(()) => Poll::Ready(Over::TooLate),
            Poll::Pending if self.is_stopping() => Poll::Ready(Over::Stopped),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Returns `true` if `deadline` has passed and the task's cooperative budget is used up, because a timer then stays
/// pending whatever the time is. While budget is left the timer decides and the clock is not read.
fn is_overdue(deadline: Instant) -> bool {
    !coop::has_budget_remaining() && Instant::now() >= deadline
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deadline").field("at", &self.at).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_shutdown_signal_lasts_when_its_sender_is_dropped() {
        for is_early in [true, false] {
            let (stop, stopped) = watch::channel(is_early);
            let mut bound = Deadline::new(stopped, Duration::from_secs(60));
            assert_eq!(bound.is_stopping(), is_early);
            let _ = stop.send(true);
            drop(stop);
            assert!(bound.is_stopping());
            assert_eq!(std::future::poll_fn(|cx| bound.poll_over(cx)).await, Over::Stopped);
        }
        let (stop, stopped) = watch::channel(false);
        drop(stop);
        assert!(!Deadline::new(stopped, Duration::from_secs(60)).is_stopping(), "no signal came");
    }

    /// R5.6: a client that sends without pause makes its reader use up the cooperative budget at every poll. Uses real
    /// time: a paused clock stands still while a task is busy.
    #[tokio::test]
    async fn a_deadline_passes_while_the_budget_is_used_up() {
        let (_stop, stopped) = watch::channel(false);
        let within = Duration::from_millis(100);
        let begun = Instant::now();
        let mut bound = Deadline::new(stopped, within);
        let is_late = std::future::poll_fn(|cx| {
            while Box::pin(tokio::task::consume_budget()).as_mut().poll(cx).is_ready() {}
            match bound.poll_late(cx) {
                Poll::Pending if begun.elapsed() > 50 * within => Poll::Ready(false),
                late => late.map(|()| true),
            }
        });
        assert!(is_late.await, "the deadline did not pass in 5 s");
        assert!(begun.elapsed() >= within);
    }
}
