//! Deadlines of calls.
//!
//! A timer is set a minute ahead and a call takes a millisecond: setting and clearing one for each call is work for
//! nothing. A timer is therefore used again as it stands; one that goes off too early is set right then.
//!
//! Guarantees: what runs within an alarm is stopped at its time, never before, however busy it is: a future that uses
//! up tokio's cooperative budget at every poll leaves none for its timer, so the clock is read then.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::coop;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::by_thread::{ByThread, thread};

/// Timers that one thread keeps in one place. Each holds on to the task that it would have woken.
const KEPT_MAX: usize = 64;

type Timer = Pin<Box<Sleep>>;

/// Timers that are not in use, each with the thread whose runtime drives it.
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

#[derive(Debug)]
pub struct Alarm<'a> {
    kept: &'a Alarms,
    at: Instant,
    /// Absent until something has to be waited for.
    timer: Option<Timer>,
}

impl Alarm<'_> {
    /// Moves its time.
    pub fn postpone(&mut self, by: Duration) {
        self.at += by;
    }

    /// Returns the output of `future`; `None` if that takes too long.
    pub fn within<F: Future>(&mut self, mut future: Pin<&mut F>) -> impl Future<Output = Option<F::Output>> {
        poll_fn(move |cx| match future.as_mut().poll(cx) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending => self.poll(cx).map(|()| None),
        })
    }

    /// Ready at its time. To be polled after what it bounds.
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

/// Returns whether `deadline` has passed, where the task's cooperative budget is used up and a timer would therefore
/// stay pending whatever the time. With budget left the timer decides, and the clock is not read.
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

    /// R5.6: deadlines.
    #[tokio::test(start_paused = true)]
    async fn an_alarm_goes_off_at_its_time_whatever_its_timer_was_set_to_before() {
        let alarms = Alarms::default();
        let start = Instant::now();
        assert_eq!(alarms.set(9 * SECOND).within(pin!(sleep(SECOND))).await, Some(()));
        assert_eq!(alarms.0.lock().unwrap().len(), 1, "its timer is kept");
        // Set to 9 s by the first: later than this one, then earlier than that one.
        assert_eq!(alarms.set(3 * SECOND).within(pin!(pending::<()>())).await, None);
        assert_eq!(start.elapsed().as_secs(), 4);
        assert_eq!(alarms.set(2 * SECOND).within(pin!(sleep(SECOND))).await, Some(()));
        let mut last = alarms.set(4 * SECOND);
        last.postpone(SECOND);
        assert_eq!(last.within(pin!(pending::<()>())).await, None);
        assert_eq!(start.elapsed().as_secs(), 10);
    }

    /// R5.6: a peer that sends without end makes its reader use up the budget at every poll. Real time: a paused clock
    /// stands still while a task is busy.
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
