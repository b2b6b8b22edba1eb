//! How far long work is, on standard error.
//!
//! Guarantees: nothing is shown where standard error is no terminal, under `--quiet`, or where `CI` or `NO_COLOR` is set
//! or `TERM` is `dumb`; work that is done at once shows nothing; the line is gone before anything else is said, also by a
//! log that goes on meanwhile ([`Beside`]).

use std::io::{IsTerminal as _, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks; also how long work may take without anything being shown.
const TICK: Duration = Duration::from_millis(150);

/// Characters of a whole bar.
const BAR_CHARS: usize = 24;

static QUIET: AtomicBool = AtomicBool::new(false);

/// Whether the line is on the terminal now; looked at and changed under the lock of standard error alone.
static DRAWN: AtomicBool = AtomicBool::new(false);

/// To the beginning of the line, and nothing is left of it.
const CLEARED: &str = "\r\u{1b}[K";

/// Nothing is shown from now on.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Work under way; dropped when it is over.
pub(crate) struct Progress {
    tally: Arc<Tally>,
    shown: Option<(SyncSender<()>, JoinHandle<()>)>,
}

#[derive(Debug)]
struct Tally {
    what: String,
    /// What of it is done, and 0 of nothing that is known.
    done: Arc<AtomicUsize>,
    total: Arc<AtomicUsize>,
    now: Mutex<String>,
    begun: Instant,
}

impl Progress {
    /// `total` is 0 where nobody knows.
    pub(crate) fn new(what: &str, total: usize) -> Self {
        let tally = Arc::new(Tally {
            what: what.to_owned(),
            done: Arc::default(),
            total: Arc::new(AtomicUsize::new(total)),
            now: Mutex::default(),
            begun: Instant::now(),
        });
        let shown = is_wanted().then(|| show(tally.clone()));
        Self { tally, shown }
    }

    /// What is worked on now.
    pub(crate) fn at(&self, name: &str) {
        let name = toolcrib_contract::text::one_line(name);
        *self.tally.now.lock().unwrap_or_else(PoisonError::into_inner) = name;
    }

    pub(crate) fn one_done(&self) {
        self.tally.done.fetch_add(1, Ordering::Relaxed);
    }

    /// The counters, for work that counts by itself: done, and of how many.
    pub(crate) fn counters(&self) -> (Arc<AtomicUsize>, Arc<AtomicUsize>) {
        (self.tally.done.clone(), self.tally.total.clone())
    }

    /// A reader that counts what was read of it.
    pub(crate) fn reading<R: Read>(&self, inner: R) -> Reading<R> {
        Reading { inner, done: self.tally.done.clone() }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.shown.take() {
            drop(end);
            // A thread that only draws has nothing to say about how it ended.
            let _ = thread.join();
        }
    }
}

pub(crate) struct Reading<R> {
    inner: R,
    done: Arc<AtomicUsize>,
}

impl<R: Read> Read for Reading<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.done.fetch_add(count, Ordering::Relaxed);
        Ok(count)
    }
}

/// Standard error for whoever speaks while work is under way: a line that is drawn there goes first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beside;

impl Write for Beside {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut out = std::io::stderr().lock();
        if DRAWN.swap(false, Ordering::Relaxed) {
            out.write_all(CLEARED.as_bytes())?;
        }
        out.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().lock().flush()
    }
}

fn is_wanted() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let off = QUIET.load(Ordering::Relaxed) || dumb || is_set("CI") || is_set("NO_COLOR");
    !off && std::io::stderr().is_terminal()
}

fn show(tally: Arc<Tally>) -> (SyncSender<()>, JoinHandle<()>) {
    let (end, ended) = mpsc::sync_channel(1);
    let thread = std::thread::spawn(move || {
        while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            let columns = rustix::termios::tcgetwinsize(std::io::stderr()).map_or(80, |size| size.ws_col);
            let line: String = tally.line().chars().take(usize::from(columns).saturating_sub(1)).collect();
            let mut out = std::io::stderr().lock();
            // A terminal that went away has nobody to tell.
            let _ = write!(out, "{CLEARED}{line}").and_then(|()| out.flush());
            DRAWN.store(true, Ordering::Relaxed);
        }
        let mut out = std::io::stderr().lock();
        if DRAWN.swap(false, Ordering::Relaxed) {
            let _ = write!(out, "{CLEARED}").and_then(|()| out.flush());
        }
    });
    (end, thread)
}

impl Tally {
    fn line(&self) -> String {
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let seconds = self.begun.elapsed().as_secs();
        if total == 0 {
            return format!("{} {now} {seconds} s", self.what);
        }
        let done = done.min(total);
        let full = BAR_CHARS * done / total;
        let bar = format!("{}{}", "=".repeat(full), " ".repeat(BAR_CHARS - full));
        format!("{} [{bar}] {:>3} % {now}", self.what, 100 * done / total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is() {
        let progress = Progress::new("reading servers", 4);
        progress.at("files\u{1b}[2J");
        progress.one_done();
        assert_eq!(progress.tally.line(), "reading servers [======                  ]  25 % files\\u{1b}[2J");
        let (done, total) = progress.counters();
        done.store(9, Ordering::Relaxed);
        total.store(3, Ordering::Relaxed);
        assert!(progress.tally.line().contains("[========================] 100 %"));
        assert_eq!(Progress::new("converting", 0).tally.line(), "converting  0 s");
        assert!(progress.shown.is_none(), "a test has no terminal");
    }
}
