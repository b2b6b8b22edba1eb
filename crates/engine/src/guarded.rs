//! Guard around a handler's future: panics are caught, a deadline bounds it, and cancellation drops it.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;

use crate::alarm::Alarms;
use crate::engine::Engine;
use crate::exchange::Exchange;
use crate::tool::BoxFuture;

/// Reason why a handler gave no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// Message of the panic; for the log, not for the client.
    Panicked(String),
    TooSlow {
        ms_max: u64,
    },
    Cancelled,
}

impl Engine {
    /// Runs the future of `start` until it completes, panics, is cancelled or exceeds the deadline of a call.
    pub(crate) fn guarded<'a, T>(
        &self,
        start: impl FnOnce() -> BoxFuture<'a, T> + Send,
        exchange: &Exchange,
    ) -> impl Future<Output = Result<T, Stopped>> {
        guarded(start, exchange, self.alarms(), self.options().call_ms_max)
    }
}

/// Runs the future of `start` until it completes, panics, is cancelled or exceeds `ms_max`.
async fn guarded<'a, T>(
    start: impl FnOnce() -> BoxFuture<'a, T> + Send,
    exchange: &Exchange,
    alarms: &Alarms,
    ms_max: u64,
) -> Result<T, Stopped> {
    let mut future = catch_unwind(AssertUnwindSafe(start)).map_err(panicked)?;
    // Set only once the future is pending: most handlers in this process complete at their first poll.
    let mut alarm = None;
    poll_fn(|cx| {
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(Poll::Ready(value)) => return Poll::Ready(Ok(value)),
            Err(panic) => return Poll::Ready(Err(panicked(panic))),
            Ok(Poll::Pending) => {}
        }
        if exchange.poll_cancelled(cx).is_ready() {
            return Poll::Ready(Err(Stopped::Cancelled));
        }
        let alarm = alarm.get_or_insert_with(|| alarms.set(Duration::from_millis(ms_max)));
        alarm.poll(cx).map(|()| Err(Stopped::TooSlow { ms_max }))
    })
    .await
}

#[expect(clippy::needless_pass_by_value, reason = "it is what a panic is caught as")]
fn panicked(panic: Box<dyn Any + Send>) -> Stopped {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no text".to_owned());
    Stopped::Panicked(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_handler_is_stopped_for_each_of_the_three_reasons() {
        let (exchange, alarms) = (Exchange::silent(), Alarms::default());
        let run = |start: fn() -> BoxFuture<'static, u8>| guarded(start, &exchange, &alarms, 1_000);
        assert_eq!(run(|| Box::pin(async { 7 })).await, Ok(7));
        assert_eq!(run(|| Box::pin(async { panic!("late") })).await, Err(Stopped::Panicked("late".into())));
        assert_eq!(run(|| panic!("early")).await, Err(Stopped::Panicked("early".into())));
        assert_eq!(run(|| Box::pin(std::future::pending())).await, Err(Stopped::TooSlow { ms_max: 1_000 }));
        exchange.cancel();
        assert_eq!(run(|| Box::pin(std::future::pending())).await, Err(Stopped::Cancelled));
    }
}
