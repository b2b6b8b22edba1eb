//! Streams of one connection: one task each, counted.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::rt::Executor;
use tokio::time::Instant;

use super::pace::{PACE, Pace};

/// Executor of one connection's streams; counts those in flight.
#[derive(Debug, Clone)]
pub(super) struct Streams(Arc<Mutex<Open>>);

#[derive(Debug)]
struct Open {
    count: usize,
    /// Time at which a stream last began or ended.
    changed: Instant,
}

impl Default for Streams {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Open { count: 0, changed: Instant::now() })))
    }
}

impl Streams {
    /// Returns how long there has been no stream; zero while there is one.
    pub(super) fn idle_for(&self) -> Duration {
        let open = self.lock();
        if open.count > 0 { Duration::ZERO } else { open.changed.elapsed() }
    }

    fn begin(&self) -> Place {
        let mut open = self.lock();
        open.count += 1;
        open.changed = Instant::now();
        Place(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream in flight; counted until dropped.
struct Place(Streams);

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.0.lock();
        open.count = open.count.saturating_sub(1);
        open.changed = Instant::now();
    }
}

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let (place, pace) = (self.begin(), Arc::new(Pace::default()));
        tokio::spawn(PACE.scope(pace.clone(), async move {
            // Dropping a stream before its end resets it.
            tokio::select! {
                biased;
                () = stream => {}
                () = pace.overdue() => {}
            }
            drop(place);
        }));
    }
}
