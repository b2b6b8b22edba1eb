//! A handler's future that cannot take the server down with it: panics are caught, time is bounded, cancellation
//! drops it.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::exchange::Exchange;
use crate::tool::BoxFuture;

/// Why a handler gave no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// With what it said; for the log, not for the client.
    Panicked(String),
    TooSlow {
        ms_max: u64,
    },
    Cancelled,
}

/// Runs what `start` makes until it answers, panics, is cancelled or is too slow.
pub(crate) async fn guarded<'a, T>(
    start: impl FnOnce() -> BoxFuture<'a, T> + Send,
    exchange: &Exchange,
    ms_max: u64,
) -> Result<T, Stopped> {
    let future = catch_unwind(AssertUnwindSafe(start)).map_err(|panic| Stopped::Panicked(text(&*panic)))?;
    tokio::select! {
        biased;
        outcome = Caught(future) => outcome.map_err(Stopped::Panicked),
        () = exchange.cancelled() => Err(Stopped::Cancelled),
        () = tokio::time::sleep(Duration::from_millis(ms_max)) => Err(Stopped::TooSlow { ms_max }),
    }
}

struct Caught<'a, T>(BoxFuture<'a, T>);

impl<T> Future for Caught<'_, T> {
    type Output = Result<T, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let future = &mut self.0;
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(panic) => Poll::Ready(Err(text(&*panic))),
        }
    }
}

fn text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_handler_is_stopped_for_each_of_the_three_reasons() {
        let exchange = Exchange::silent();
        let run = |start: fn() -> BoxFuture<'static, u8>| guarded(start, &exchange, 1_000);
        assert_eq!(run(|| Box::pin(async { 7 })).await, Ok(7));
        assert_eq!(run(|| Box::pin(async { panic!("late") })).await, Err(Stopped::Panicked("late".into())));
        assert_eq!(run(|| panic!("early")).await, Err(Stopped::Panicked("early".into())));
        assert_eq!(run(|| Box::pin(std::future::pending())).await, Err(Stopped::TooSlow { ms_max: 1_000 }));
        exchange.cancel();
        assert_eq!(run(|| Box::pin(std::future::pending())).await, Err(Stopped::Cancelled));
    }
}
