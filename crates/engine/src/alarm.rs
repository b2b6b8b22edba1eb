//! Deadlines of calls, with reused timers.
//!
//! A deadline is minutes ahead and a call takes about a millisecond, so setting and clearing a timer per call is
//! wasted work. A timer is therefore kept as it is set and reused; one that fires too early is reset then.
//!
//! Guarantees: the future within an alarm is stopped at its deadline, never before, however busy it is. A future that
//! exhausts tokio's cooperative budget at every poll leaves none for the timer, so the clock is read in that case.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::coop;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::by_thread::{ByThread, thread};

/// Maximum timers kept per shard. Each keeps the task alive that it would have woken.
const KEPT_MAX: usize = 64;

type Timer = Pin<Box<Sleep>>;

/// Unused timers, each with the thread whose runtime drives it.
#[derive(Debug, Default)]
pub struct Alarms(ByThread<Vec<(usize, Timer)>>);

impl Alarms {
    #[must_use]
    pub fn set(&self, after: Duration) -> Alarm<'_> {
        Alarm { kept: self, at: Instant::now() + after, timer: None }
    }

    fn take(&self) -> Option<Timer> {
        let (of, timer) = self.0.lock()?.pop()?;
        (of == thread()).then_some(timer)
    }

    fn put(&self, timer: Timer) {
        if let Some(mut kept) = self.0.lock()
            && kept.len() < KEPT_MAX
        {
            kept.push((thread(), timer));
        }
    }
}

/// Deadline of one call.
#[derive(Debug)]
pub struct Alarm<'a> {
    kept: &'a Alarms,
    at: Instant,
    /// `None` until the future is pending for the first time.
    timer: Option<Timer>,
}

impl Alarm<'_> {
    /// Moves the deadline.
    pub fn postpone(&mut self, by: Duration) {
        self.at += by;
    }

    /// Returns the output of `future`, or `None` if the deadline passes first.
    pub fn within<F: Future>(&mut self, mut future: Pin<&mut F>) -> impl Future<Output = Option<F::Output>> {
        poll_fn(move |cx| match future.as_mut().poll(cx) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending => self.poll(cx).map(|()| None),
        })
    }

    /// Ready at the deadline. Must be polled after the future that it bounds.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if is_overdue(self.at) {
            return Poll::Ready(());
        }
        let kept = self.timer.take().or_else(|| self.kept.take());
        let mut timer = kept.unwrap_or_else(|| Box::pin(sleep_until(self.at)));
        if timer.deadline() > self.at {
            timer.as_mut().reset(self.at);
        }
        while timer.as_mut().poll(cx).is_ready() {
            if timer.deadline() == self.at {
                return Poll::Ready(());
            }
            timer.as_mut().reset(self.at);
        }
        self.timer = Some(timer);
        Poll::Pending
    }
}

/// Returns true if `deadline` has passed while the task's cooperative budget is exhausted: a tokio timer stays
/// pending then, whatever the time. With budget left the timer decides, and the clock is not read.
#[must_use]
pub fn is_overdue(deadline: Instant) -> bool {
    !coop::has_budget_remaining() && Instant::now() >= deadline
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if let Some(timer) = self.timer.take() {
            self.kept.put(timer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::pin::pin;

    use tokio::time::sleep;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// R5.6: a call has its own deadline, whatever its reused timer was set to before.
    #[tokio::test(start_paused = true)]
    async fn an_alarm_goes_off_at_its_time_whatever_its_timer_was_set_to_before() {
        let alarms = Alarms::default();
        let start = Instant::now();
        assert_eq!(alarms.set(9 * SECOND).within(pin!(sleep(SECOND))).await, Some(()));
        assert_eq!(alarms.0.lock().unwrap().len(), 1, "its timer is kept");
        // The kept timer is set to 9 s, later than this deadline; for the next alarm it is set earlier than its
        // deadline.
        assert_eq!(alarms.set(3 * SECOND).within(pin!(pending::<()>())).await, None);
        assert_eq!(start.elapsed().as_secs(), 4);
        assert_eq!(alarms.set(2 * SECOND).within(pin!(sleep(SECOND))).await, Some(()));
        let mut last = alarms.set(4 * SECOND);
        last.postpone(SECOND);
        assert_eq!(last.within(pin!(pending::<()>())).await, None);
        assert_eq!(start.elapsed().as_secs(), 10);
    }

    /// R5.6: a peer that sends without end makes its reader exhaust the budget at every poll. Uses real time, because
    /// a paused clock stands still while a task is busy.
    #[tokio::test]
    async fn an_alarm_goes_off_while_its_future_uses_up_every_budget() {
        let alarms = Alarms::default();
        let begun = Instant::now();
        let busy = async {
            while begun.elapsed() < 5 * SECOND {
                tokio::task::consume_budget().await;
            }
        };
        assert_eq!(alarms.set(Duration::from_millis(100)).within(pin!(busy)).await, None);
        assert!(begun.elapsed() >= Duration::from_millis(100));
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_that_went_off_while_nobody_used_it_is_set_again() {
        let alarms = Alarms::default();
        assert_eq!(alarms.set(2 * SECOND).within(pin!(sleep(SECOND))).await, Some(()));
        sleep(5 * SECOND).await;
        let start = Instant::now();
        assert_eq!(alarms.set(2 * SECOND).within(pin!(pending::<()>())).await, None);
        assert_eq!(start.elapsed().as_secs(), 2);
    }
}
