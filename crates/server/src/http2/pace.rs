//! Deadline for the client to take the next piece of an answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use toolcrib_http1::limits::{WRITE_BYTES_PER_S_MIN, WRITE_MS_MAX};

tokio::task_local! {
    /// Deadline of the stream that the task serves.
    pub(super) static PACE: Arc<Pace>;
}

/// Deadline of one stream's answer; `None` while nothing waits to be taken.
#[derive(Debug, Default)]
pub(super) struct Pace {
    until: Mutex<Option<Instant>>,
    set: Notify,
}

impl Pace {
    /// Returns the deadline of the stream that this task serves.
    pub(super) fn of_task() -> Arc<Self> {
        PACE.try_with(Arc::clone).unwrap_or_default()
    }

    /// Sets the deadline to `WRITE_MS_MAX` from now, but no later than `last`.
    pub(super) fn expect(&self, last: Option<Instant>) {
        let next = Instant::now() + Duration::from_millis(WRITE_MS_MAX);
        let until = last.map_or(next, |last| next.min(last));
        if self.lock().replace(until).is_none() {
            self.set.notify_one();
        }
    }

    /// Clears the deadline.
    pub(super) fn rest(&self) {
        *self.lock() = None;
    }

    /// Returns when the deadline has passed.
    pub(super) async fn overdue(&self) {
        loop {
            let until = *self.lock();
            match until {
                None => self.set.notified().await,
                Some(until) if until <= Instant::now() => return,
                Some(until) => sleep_until(until).await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the deadline for taking a whole answer of `bytes` bytes, however steadily the client reads.
pub(super) fn whole_by(bytes: usize) -> Instant {
    let ms = bytes as u64 * 1_000 / WRITE_BYTES_PER_S_MIN;
    Instant::now() + Duration::from_millis(WRITE_MS_MAX + ms)
}
