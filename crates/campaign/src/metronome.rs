//! Detects pauses of the machine itself.
//!
//! The host of a virtual machine pauses it now and then, for up to tens of milliseconds; no process inside can run
//! then. A thread on each core that wakes every millisecond at the highest priority detects these pauses and nothing
//! else, because a busy gateway cannot keep it from running.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Interval of the wake-ups.
const BEAT: Duration = Duration::from_millis(1);
/// Delay from which a late wake-up counts as a pause of the machine.
const LATE: Duration = Duration::from_micros(400);
/// Niceness of the threads: the highest priority.
const NICENESS: i32 = -20;

/// Begin and end of each pause.
type Pauses = Vec<(Instant, Instant)>;

/// Pauses of each core, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metronome {
    cores: Vec<Arc<Mutex<Pauses>>>,
}

impl Metronome {
    /// Starts a thread on every core. Without the permission to raise its priority no pauses are reported.
    pub(crate) fn start() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let cores = (0..cores).map(|core| {
            let pauses = Arc::new(Mutex::new(Vec::new()));
            let told = pauses.clone();
            std::thread::spawn(move || beat(core, &told));
            pauses
        });
        Self { cores: cores.collect() }
    }

    /// Returns the time between `from` and `to` in which some core was paused.
    pub(crate) fn paused(&self, from: Instant, to: Instant) -> Duration {
        let mut pauses = Pauses::new();
        for core in &self.cores {
            let told = core.lock().unwrap_or_else(PoisonError::into_inner);
            let recent = told.iter().rev().take_while(|(_, end)| *end > from);
            pauses.extend(recent.map(|(begin, end)| ((*begin).max(from), (*end).min(to))));
        }
        union(pauses)
    }
}

fn beat(core: usize, pauses: &Mutex<Pauses>) {
    let mut only = CpuSet::new();
    only.set(core);
    if sched_setaffinity(None, &only).is_err() || setpriority_process(None, NICENESS).is_err() {
        return;
    }
    loop {
        let due = Instant::now() + BEAT;
        std::thread::park_timeout(BEAT);
        let now = Instant::now();
        if now.saturating_duration_since(due) > LATE {
            pauses.lock().unwrap_or_else(PoisonError::into_inner).push((due, now));
        }
    }
}

/// Returns the total length of intervals that may overlap; empty ones are ignored.
fn union(mut intervals: Pauses) -> Duration {
    intervals.retain(|(begin, end)| begin < end);
    intervals.sort();
    let mut total = Duration::ZERO;
    let mut reached: Option<Instant> = None;
    for (begin, end) in intervals {
        let begin = reached.map_or(begin, |reached| begin.max(reached));
        total += end.saturating_duration_since(begin);
        reached = Some(reached.map_or(end, |reached| reached.max(end)));
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_of_two_cores_at_once_count_once() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let cores = vec![
            Arc::new(Mutex::new(vec![(at(0), at(5)), (at(10), at(20))])),
            Arc::new(Mutex::new(vec![(at(12), at(25)), (at(40), at(50))])),
        ];
        let metronome = Metronome { cores };
        assert_eq!(metronome.paused(at(8), at(30)), Duration::from_millis(15));
        assert_eq!(metronome.paused(at(0), at(4)), Duration::from_millis(4));
        assert_eq!(metronome.paused(at(26), at(39)), Duration::ZERO);
    }
}
