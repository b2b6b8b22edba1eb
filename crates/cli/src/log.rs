//! The log of `serve` on standard error: lines are gathered in memory and written by one thread.
//!
//! Guarantees: whoever logs never waits for standard error, so a terminal that is stopped, or a pipe that nobody reads,
//! holds no call. Lines keep their order and are written within [`LOG_DELAY_MS_MAX`] while standard error takes them.
//! Lines over [`LOG_BYTES_MAX`] are dropped, and the next line that is written says how many. A clean end writes what
//! is left. A process that is killed loses the lines of its last moment; what must survive that is in the audit.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::limits::{LOG_BYTES_MAX, LOG_DELAY_MS_MAX, LOG_END_MS_MAX};

/// Lines on their way to the log.
#[derive(Debug, Default)]
struct Gathered {
    lines: Vec<u8>,
    /// Lines dropped since the last write.
    dropped: u64,
    /// The writing thread holds lines that are not written yet.
    is_writing: bool,
    has_ended: bool,
}

#[derive(Debug, Default)]
struct Shared {
    gathered: Mutex<Gathered>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writer of one line; a clone for each thread that logs.
#[derive(Debug, Clone)]
pub(crate) struct Lines(Arc<Shared>);

impl Write for Lines {
    /// Takes one line, or several whole ones.
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let mut gathered = self.0.lock();
        if gathered.lines.len() + line.len() > LOG_BYTES_MAX {
            gathered.dropped += 1;
            return Ok(line.len());
        }
        let was_empty = gathered.lines.is_empty();
        gathered.lines.extend_from_slice(line);
        drop(gathered);
        if was_empty {
            self.0.changed.notify_all();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Log of the process; what is left is written when it is dropped.
#[derive(Debug)]
pub(crate) struct Log {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Log {
    /// Starts the thread that writes to `out`.
    pub(crate) fn start(out: impl Write + Send + 'static) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let for_thread = shared.clone();
        let thread = std::thread::Builder::new()
            .name("toolcrib-log".to_owned())
            .spawn(move || write_until_the_end(&for_thread, out))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    pub(crate) fn lines(&self) -> Lines {
        Lines(self.shared.clone())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let end = Instant::now() + Duration::from_millis(LOG_END_MS_MAX);
        let mut gathered = self.shared.lock();
        gathered.has_ended = true;
        self.shared.changed.notify_all();
        while gathered.is_writing || !gathered.lines.is_empty() {
            let Some(left) = end.checked_duration_since(Instant::now()) else { return };
            gathered =
                self.shared.changed.wait_timeout(gathered, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(gathered);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed already.
            let _ = thread.join();
        }
    }
}

fn write_until_the_end(shared: &Shared, mut out: impl Write) {
    let mut lines = Vec::new();
    loop {
        let mut gathered = shared.lock();
        while gathered.lines.is_empty() && !gathered.has_ended {
            gathered = shared.changed.wait(gathered).unwrap_or_else(PoisonError::into_inner);
        }
        if !gathered.has_ended {
            // Lines of the next moment travel with these: one write for many calls.
            let moment = Duration::from_millis(LOG_DELAY_MS_MAX);
            let wait = shared.changed.wait_timeout_while(gathered, moment, |gathered| !gathered.has_ended);
            gathered = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::swap(&mut lines, &mut gathered.lines);
        let dropped = std::mem::take(&mut gathered.dropped);
        gathered.is_writing = true;
        drop(gathered);
        // Nobody is left to be told that standard error is closed.
        let _ = out.write_all(&lines);
        if dropped > 0 {
            let _ =
                writeln!(out, "{dropped} log lines were dropped: LOG_BYTES_MAX ({LOG_BYTES_MAX}) bytes wait");
        }
        let _ = out.flush();
        lines.clear();
        let mut gathered = shared.lock();
        gathered.is_writing = false;
        let is_over = gathered.has_ended && gathered.lines.is_empty();
        drop(gathered);
        shared.changed.notify_all();
        if is_over {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::*;

    /// Output that takes a write only when the test says so.
    struct Held {
        written: Arc<Mutex<Vec<u8>>>,
        may: Receiver<()>,
    }

    impl Write for Held {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.may.recv();
            self.written.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn held() -> (Log, Arc<Mutex<Vec<u8>>>, SyncSender<()>) {
        let (let_go, may) = sync_channel(1_000);
        let written = Arc::new(Mutex::new(Vec::new()));
        let log = Log::start(Held { written: written.clone(), may }).unwrap();
        (log, written, let_go)
    }

    /// R5.10: standard error that takes nothing holds nobody. Lines over `LOG_BYTES_MAX` are dropped and counted.
    #[test]
    fn a_log_that_nobody_reads_holds_no_call_and_counts_what_it_drops() {
        let (log, written, let_go) = held();
        let line = vec![b'x'; LOG_BYTES_MAX / 4];
        let begun = Instant::now();
        for _ in 0..12 {
            log.lines().write_all(&line).unwrap();
        }
        assert!(begun.elapsed() < Duration::from_secs(5));
        drop(let_go);
        drop(log);
        let written = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        assert!(written.contains(" log lines were dropped: LOG_BYTES_MAX ("), "{} bytes", written.len());
    }

    /// R5.10: `LOG_DELAY_MS_MAX` gathers lines, which keep their order; a clean end writes what is left.
    #[test]
    fn lines_are_written_in_order_and_whole_at_the_end() {
        let (log, written, let_go) = held();
        for number in 0..1_000 {
            log.lines().write_all(format!("line {number}\n").as_bytes()).unwrap();
        }
        drop(let_go);
        drop(log);
        let expected: String = (0..1_000).map(|number| format!("line {number}\n")).collect();
        assert_eq!(String::from_utf8(written.lock().unwrap().clone()).unwrap(), expected);
    }

    /// `LOG_END_MS_MAX`: a clean end does not wait for ever for standard error.
    #[test]
    fn the_end_waits_only_so_long_for_standard_error() {
        let (log, _written, _let_go) = held();
        log.lines().write_all(b"line\n").unwrap();
        let begun = Instant::now();
        drop(log);
        assert!(begun.elapsed() >= Duration::from_millis(LOG_END_MS_MAX));
        assert!(begun.elapsed() < Duration::from_millis(LOG_END_MS_MAX * 5));
    }
}
