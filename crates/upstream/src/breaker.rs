//! Circuit breaker: after repeated failures no call is sent for a while, then one trial call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Cause, UpstreamError};
use crate::limits::{BREAKER_FAILURES_MAX, BREAKER_OPEN_MS};

/// Circuit breaker of one server.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    state: Mutex<State>,
    /// `true` if `state` has a failure. While `false`, the mutex is not locked.
    failing: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    closed_again: Option<Instant>,
}

impl Breaker {
    /// Admits a call, or refuses it while the breaker is open.
    pub(crate) fn admit(&self) -> Result<(), UpstreamError> {
        if !self.failing.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut state = self.lock();
        let Some(closed_again) = state.closed_again else { return Ok(()) };
        let now = Instant::now();
        if now < closed_again {
            return Err(UpstreamError::unsent(Cause::Broken { failures: state.failures }));
        }
        // This call is the trial; others are refused until it ends or the pause has passed again.
        state.closed_again = Some(now + Duration::from_millis(BREAKER_OPEN_MS));
        Ok(())
    }

    pub(crate) fn succeeded(&self) {
        if self.failing.load(Ordering::Acquire) {
            let mut state = self.lock();
            *state = State::default();
            self.failing.store(false, Ordering::Release);
        }
    }

    pub(crate) fn failed(&self) {
        let mut state = self.lock();
        self.failing.store(true, Ordering::Release);
        state.failures = state.failures.saturating_add(1);
        if state.failures >= BREAKER_FAILURES_MAX {
            state.closed_again = Some(Instant::now() + Duration::from_millis(BREAKER_OPEN_MS));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R5.6: circuit breaker.
    #[tokio::test(start_paused = true)]
    async fn after_breaker_failures_max_failures_one_trial_is_let_through_after_a_pause() {
        let breaker = Breaker::default();
        for _ in 0..BREAKER_FAILURES_MAX {
            assert!(breaker.admit().is_ok());
            breaker.failed();
        }
        assert!(matches!(*breaker.admit().unwrap_err().cause, Cause::Broken { .. }));
        tokio::time::advance(Duration::from_millis(BREAKER_OPEN_MS)).await;
        assert!(breaker.admit().is_ok());
        assert!(breaker.admit().is_err(), "only one trial");
        breaker.succeeded();
        assert!(breaker.admit().is_ok() && breaker.admit().is_ok());
    }
}
