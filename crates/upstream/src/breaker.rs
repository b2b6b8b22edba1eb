//! A server that keeps failing is left alone for a moment, then tried with one call.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Cause, UpstreamError};
use crate::limits::{BREAKER_FAILURES_MAX, BREAKER_OPEN_MS};

#[derive(Debug, Default)]
pub(crate) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    closed_again: Option<Instant>,
}

impl Breaker {
    /// Whether a call may be sent now.
    pub(crate) fn admit(&self) -> Result<(), UpstreamError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(closed_again) = state.closed_again else { return Ok(()) };
        let now = Instant::now();
        if now < closed_again {
            return Err(UpstreamError::unsent(Cause::Broken { failures: state.failures }));
        }
        // This call is the trial; the others wait for how it ends.
        state.closed_again = Some(now + Duration::from_millis(BREAKER_OPEN_MS));
        Ok(())
    }

    pub(crate) fn succeeded(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failures > 0 {
            *state = State::default();
        }
    }

    pub(crate) fn failed(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures = state.failures.saturating_add(1);
        if state.failures >= BREAKER_FAILURES_MAX {
            state.closed_again = Some(Instant::now() + Duration::from_millis(BREAKER_OPEN_MS));
        }
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
        assert!(matches!(breaker.admit().unwrap_err().cause, Cause::Broken { .. }));
        tokio::time::advance(Duration::from_millis(BREAKER_OPEN_MS)).await;
        assert!(breaker.admit().is_ok());
        assert!(breaker.admit().is_err(), "only one trial");
        breaker.succeeded();
        assert!(breaker.admit().is_ok() && breaker.admit().is_ok());
    }
}
