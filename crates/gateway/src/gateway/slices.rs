//! CPU time slices of the compile thread, with pauses between them.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time after which the thread pauses, so that threads which serve requests get the core and the memory bandwidth.
const SLICE: Duration = Duration::from_millis(4);
const PAUSE: Duration = Duration::from_millis(1);

pub(super) struct Slices {
    begun: Duration,
    slice: Duration,
}

impl Slices {
    pub(super) fn begin() -> Self {
        let now = cpu();
        Self { begun: now, slice: now }
    }

    /// Pauses if the slice is used up; returns the CPU time since the start.
    pub(super) fn turn(&mut self) -> Duration {
        let now = cpu();
        if now.saturating_sub(self.slice) >= SLICE {
            self.slice = now;
            // Blocking is safe: the compile thread is not an executor thread, and nobody unparks it.
            std::thread::park_timeout(PAUSE);
        }
        now.saturating_sub(self.begun)
    }
}

/// Returns the CPU time of this thread, which unlike wall-clock time does not depend on other threads.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), nanos)
}
