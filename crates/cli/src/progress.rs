//! Progress of long work, drawn as one line on standard error.
//!
//! Guarantees: nothing is drawn if standard error is no terminal, under `--quiet`, or if `CI` or `NO_COLOR` is set or
//! `TERM` is `dumb`. Work shorter than one tick draws nothing. The line is erased before other output, also before log
//! lines during the work ([`Beside`]).

use std::io::{IsTerminal as _, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval between redraws, and delay before the first.
const TICK: Duration = Duration::from_millis(150);

/// Width of the bar in characters.
const BAR_CHARS: usize = 24;

static QUIET: AtomicBool = AtomicBool::new(false);

/// `true` while the line is on the terminal. Read and changed only under the lock of standard error.
static DRAWN: AtomicBool = AtomicBool::new(false);

/// Control sequence: carriage return, then erase to the end of the line.
const CLEARED: &str = "\r\u{1b}[K";

/// Turns progress off for the rest of the process.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Progress of one piece of work; dropped at its end.
pub(crate) struct Progress {
    tally: Arc<Tally>,
    shown: Option<(SyncSender<()>, JoinHandle<()>)>,
}

#[derive(Debug)]
struct Tally {
    what: String,
    /// Amount done. A `total` of 0 means that it is unknown.
    done: Arc<AtomicUsize>,
    total: Arc<AtomicUsize>,
    now: Mutex<String>,
    begun: Instant,
}

impl Progress {
    /// Starts showing progress. `total` is 0 if it is unknown.
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

    /// Names the current item.
    pub(crate) fn at(&self, name: &str) {
        let name = toolcrib_contract::text::one_line(name);
        *self.tally.now.lock().unwrap_or_else(PoisonError::into_inner) = name;
    }

    pub(crate) fn one_done(&self) {
        self.tally.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the counters of done and total, for work that updates them itself.
    pub(crate) fn counters(&self) -> (Arc<AtomicUsize>, Arc<AtomicUsize>) {
        (self.tally.done.clone(), self.tally.total.clone())
    }

    /// Wraps a reader so that bytes read count as done.
    pub(crate) fn reading<R: Read>(&self, inner: R) -> Reading<R> {
        Reading { inner, done: self.tally.done.clone() }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.shown.take() {
            drop(end);
            // A panic of the drawing thread is ignored.
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

/// Standard error for writers during the work: erases the drawn line first.
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
            // Write errors of a closed terminal are ignored.
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
