//! How much room a thread has: what it uses of a core, what it has to wait for one, and whether cores stand idle.
//!
//! Measured by the thread itself between two requests, so an idle one does nothing for it. The kernel tells all three
//! (`/proc`, Linux); where it does not, nothing is known and no thread is ever full.

use std::cell::RefCell;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What is measured together.
const PERIOD: Duration = Duration::from_millis(100);

/// A thread is full when it was in so many periods one after the other.
const FULL_PERIODS: u32 = 3;

/// A thread that uses less than this has room, in parts in a thousand of a core.
const ROOM_USED_MAX: u64 = 500;

/// A request that takes longer gains nothing from a thread that is warm, in nanoseconds.
const LONG_NS: u64 = 50_000;

/// One that waits longer does not get a core when it wants one, in parts in a thousand of the time: more threads
/// would wait the more.
const WAITED_MAX: u64 = 50;

/// So much of a core has to be idle for another thread to use it.
const IDLE_MIN: u64 = 300;

/// Where the kernel counts for the thread that reads it: nanoseconds it ran, nanoseconds it waited for a core.
const OF_THREAD: &str = "/proc/thread-self/schedstat";

/// Where it counts for all cores: `cpu`, then hundredths of a second, the fourth and fifth of them idle.
const OF_CORES: &str = "/proc/stat";

const TICK_NS: u64 = 10_000_000;

/// What a thread last said of itself, for all to read.
#[derive(Debug)]
pub(super) struct Load {
    /// When, in milliseconds since the epoch below, and what it used of a core in parts in a thousand.
    said: AtomicU64,
    epoch: Instant,
}

impl Load {
    pub(super) fn new(epoch: Instant) -> Self {
        Self { said: AtomicU64::new(0), epoch }
    }

    /// Parts in a thousand of a core. A thread that says nothing answers nothing either.
    pub(super) fn now(&self) -> u64 {
        let said = self.said.load(Ordering::Relaxed);
        let is_fresh = u128::from(self.ms().saturating_sub(said >> 16)) < 3 * PERIOD.as_millis();
        if is_fresh { said & 0xffff } else { 0 }
    }

    pub(super) fn say(&self, used: u64) {
        self.said.store((self.ms() << 16) | used.min(0xffff), Ordering::Relaxed);
    }

    /// The same, and it does not grow old.
    #[cfg(test)]
    pub(super) fn keep_saying(&self, used: u64) {
        self.said.store((u64::MAX << 16) | used, Ordering::Relaxed);
    }

    fn ms(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// What the kernel has counted so far, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counted {
    ran: u64,
    waited: u64,
    /// Of all cores.
    idle: u64,
}

impl Counted {
    fn read(of_thread: &str, of_cores: &str) -> Option<Self> {
        let mut thread = of_thread.split_ascii_whitespace().map(str::parse::<u64>);
        let mut cores = of_cores.strip_prefix("cpu ")?.split_ascii_whitespace().map(str::parse::<u64>);
        Some(Self {
            ran: thread.next()?.ok()?,
            waited: thread.next()?.ok()?,
            idle: (cores.nth(3)?.ok()? + cores.next()?.ok()?) * TICK_NS,
        })
    }

    /// What was counted since `before`, each in parts in a thousand of the time.
    fn since(self, before: Self, elapsed: Duration) -> Self {
        let whole = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX).max(1);
        let part = |now: u64, before: u64| now.saturating_sub(before).saturating_mul(1_000) / whole;
        Self {
            ran: part(self.ran, before.ran),
            waited: part(self.waited, before.waited),
            idle: part(self.idle, before.idle),
        }
    }

    /// Whether, by these parts, another thread would answer sooner: requests are long, or cores stand idle.
    fn is_full(self, are_long: bool) -> bool {
        self.ran >= ROOM_USED_MAX && (are_long || (self.waited < WAITED_MAX && self.idle >= IDLE_MIN))
    }
}

/// A thread's measure of itself.
struct Meter {
    /// Where the kernel's counts are read, this thread's and that of all cores.
    counts: Option<(File, File)>,
    since: Instant,
    before: Counted,
    /// Which period this is, how many requests were answered in it, and on how many connections.
    period: u64,
    answered: u64,
    active: usize,
    /// For how many periods there was no room.
    full: u32,
    /// So many of the active ones are to leave.
    leaving: usize,
}

thread_local! {
    static METER: RefCell<Meter> = RefCell::new(Meter::new(File::open(OF_THREAD).ok().zip(File::open(OF_CORES).ok())));
}

/// Whether a connection should go on at another thread, asked between two of its requests. `last` is its own: in which
/// period it asked before. `say` is told now and then what this thread uses of a core, and says the least of another.
pub(super) fn should_leave(last: &mut u64, say: impl FnOnce(u64) -> Option<u64>) -> bool {
    METER.with_borrow_mut(|meter| {
        if *last != meter.period {
            *last = meter.period;
            meter.active += 1;
        }
        meter.answered += 1;
        let elapsed = meter.since.elapsed();
        if elapsed >= PERIOD {
            let counted = meter.counted();
            meter.turn(counted, elapsed, say);
        }
        let leaves = meter.leaving > 0;
        meter.leaving -= usize::from(leaves);
        leaves
    })
}

impl Meter {
    fn new(counts: Option<(File, File)>) -> Self {
        let (since, before) = (Instant::now(), Counted::default());
        Self { counts, since, before, period: 1, answered: 0, active: 0, full: 0, leaving: 0 }
    }

    /// The next period: if this thread is full and another has room, half of what was active is to go there.
    fn turn(&mut self, counted: Option<Counted>, elapsed: Duration, say: impl FnOnce(u64) -> Option<u64>) {
        self.leaving = 0;
        if let Some(counted) = counted {
            // Over a rest the average says nothing.
            if elapsed < 2 * PERIOD {
                let parts = counted.since(self.before, elapsed);
                let elsewhere = say(parts.ran);
                let ns = counted.ran.saturating_sub(self.before.ran);
                let is_full = parts.is_full(ns >= self.answered.saturating_mul(LONG_NS));
                self.full = if is_full { self.full + 1 } else { 0 };
                if self.full >= FULL_PERIODS && elsewhere.is_some_and(|least| least <= parts.ran / 2) {
                    (self.leaving, self.full) = (self.active / 2, 0);
                }
            }
            self.before = counted;
        }
        (self.since, self.answered, self.active) = (Instant::now(), 0, 0);
        self.period += 1;
    }

    #[cfg(unix)]
    fn counted(&self) -> Option<Counted> {
        use std::os::unix::fs::FileExt;
        let read = |file: &File| {
            let mut text = [0; 128];
            let length = file.read_at(&mut text, 0).ok()?;
            Some(String::from_utf8_lossy(text.get(..length)?).into_owned())
        };
        let (of_thread, of_cores) = self.counts.as_ref()?;
        Counted::read(&read(of_thread)?, &read(of_cores)?)
    }

    #[cfg(not(unix))]
    fn counted(&self) -> Option<Counted> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORES: &str = "cpu  101 1 51 8000 20 0 7 3 0 0\ncpu0 50 0 25 4000 10 0 3 1 0 0\n";

    #[test]
    fn the_kernels_counts_are_read() {
        let counted = Counted { ran: 351_647_984, waited: 362_702, idle: 80_200_000_000 };
        assert_eq!(Counted::read("351647984 362702 67\n", CORES), Some(counted));
        assert_eq!(Counted::read("", CORES), None);
        assert_eq!(Counted::read("12 x 3", CORES), None);
        assert_eq!(Counted::read("1 2 3", "cpu0 1 2 3 4 5"), None);
    }

    #[test]
    fn a_thread_is_full_that_uses_half_a_core_while_it_hardly_waits_and_another_is_idle() {
        let parts = |ran: u64, waited: u64, idle: u64| {
            let before = Counted { ran: 5_000, waited: 7_000, idle: 9_000 };
            let ms = |before: u64, more: u64| before + more * 1_000_000;
            let after = Counted {
                ran: ms(before.ran, ran),
                waited: ms(before.waited, waited),
                idle: ms(before.idle, idle),
            };
            after.since(before, Duration::from_millis(1_000))
        };
        let is_full = |ran, waited, idle| parts(ran, waited, idle).is_full(false);
        assert!(is_full(1_000, 0, 3_000) && is_full(500, 49, 300));
        assert!(!is_full(499, 0, 3_000), "it has room");
        assert!(!is_full(900, 50, 3_000), "it does not get what it could use");
        assert!(!is_full(1_000, 0, 299), "there is no core left for another thread");
        assert!(parts(500, 500, 0).is_full(true), "long requests have nothing to lose");
        assert!(!parts(499, 0, 3_000).is_full(true));
    }

    #[test]
    fn half_of_the_busy_connections_leave_a_full_thread_if_another_has_room() {
        let leaving_of = |answered: u64,
                          idle_ms: u64,
                          ran_ms: u64,
                          elapsed: Duration,
                          elsewhere: Option<u64>| {
            let (mut meter, mut counted) = (Meter::new(None), Counted::default());
            for period in 1..=FULL_PERIODS {
                assert_eq!(meter.leaving, 0, "in period {period}");
                (meter.active, meter.answered) = (9, answered);
                counted.ran += ran_ms * 1_000_000;
                counted.idle += idle_ms * 1_000_000;
                meter.turn(Some(counted), elapsed, |_| elsewhere);
                assert_eq!((meter.before, meter.active, meter.period), (counted, 0, u64::from(period) + 1));
            }
            meter.leaving
        };
        let leaving = |ran_ms, elapsed, elsewhere| leaving_of(1_000_000, 100, ran_ms, elapsed, elsewhere);
        assert_eq!(leaving(100, PERIOD, Some(0)), 4);
        assert_eq!(leaving(100, PERIOD, Some(500)), 4);
        assert_eq!(leaving(100, PERIOD, Some(501)), 0, "it would soon be full there");
        assert_eq!(leaving(100, PERIOD, None), 0, "there is no other thread");
        assert_eq!(leaving(10, PERIOD, Some(0)), 0);
        assert_eq!(leaving(200, 2 * PERIOD, Some(0)), 0, "a rest was in between");
        assert_eq!(leaving_of(2_001, 0, 100, PERIOD, Some(0)), 0, "they are short, and no core is idle");
        assert_eq!(leaving_of(2_000, 0, 100, PERIOD, Some(0)), 4);
    }

    #[test]
    fn what_is_said_grows_old() {
        let load = Load::new(Instant::now());
        assert_eq!(load.now(), 0);
        load.say(700);
        assert_eq!(load.now(), 700);
        load.said.store(700, Ordering::Relaxed);
        let later = Load { epoch: Instant::now() - 4 * PERIOD, ..load };
        assert_eq!(later.now(), 0);
    }
}
