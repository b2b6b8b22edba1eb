//! CPU time and memory of another process, from `/proc`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval between two samples of the resident memory.
const SAMPLE_EVERY: Duration = Duration::from_millis(20);
/// `/proc/PID/stat` counts ticks of 10 ms, for user and system time each: smaller differences are meaningless.
const STAT_RESOLUTION_MS: f64 = 20.0;
const TICK_MS: f64 = 10.0;

/// CPU time of a process so far, from two sources.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cpu {
    /// Sum over the existing threads in milliseconds: exact, but without threads that have ended.
    threads_ms: f64,
    /// Whole process in milliseconds, with ended threads, rounded to ticks.
    process_ms: f64,
}

impl Cpu {
    pub(crate) fn of(pid: u32) -> Self {
        Self { threads_ms: threads_ms(pid), process_ms: process_ms(pid) }
    }

    /// Returns the CPU milliseconds spent since an earlier reading.
    pub(crate) fn since(self, earlier: Self) -> f64 {
        let (threads, process) = (self.threads_ms - earlier.threads_ms, self.process_ms - earlier.process_ms);
        // A larger difference means that a thread has ended in between.
        if process - threads > STAT_RESOLUTION_MS { process } else { threads.max(0.0) }
    }
}

fn threads_ms(pid: u32) -> f64 {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return 0.0 };
    let run_ns = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    tasks.flatten().filter_map(run_ns).sum::<f64>() / 1e6
}

fn process_ms(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The program's name may contain spaces; the fields after its closing parenthesis do not.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = |at: usize| fields.split_whitespace().nth(at).and_then(|text| text.parse::<f64>().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) * TICK_MS
}

/// Returns a value in KiB from `/proc/PID/status`; `line` is its label, such as `VmRSS:`.
pub(crate) fn memory_kib(pid: u32, line: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let found = status.lines().find_map(|own| own.strip_prefix(line))?;
    found.trim().trim_end_matches(" kB").parse().ok()
}

/// Resets the kernel's peak of memory use, so that `VmHWM` starts anew.
pub(crate) fn reset_peak(pid: u32) {
    let _ = std::fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

/// Samples the memory of a process until it is dropped; the peak is kept after the process ended.
#[derive(Debug)]
pub(crate) struct PeakMemory {
    peak_kib: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PeakMemory {
    pub(crate) fn watch(pid: u32) -> Self {
        let peak_kib: Arc<AtomicU64> = Arc::default();
        let stopped: Arc<AtomicBool> = Arc::default();
        let (peak, flag) = (peak_kib.clone(), stopped.clone());
        let thread = std::thread::spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                for line in ["VmHWM:", "VmRSS:"] {
                    peak.fetch_max(memory_kib(pid, line).unwrap_or(0), Ordering::Relaxed);
                }
                std::thread::park_timeout(SAMPLE_EVERY);
            }
        });
        Self { peak_kib, stopped, thread: Some(thread) }
    }

    pub(crate) fn kib(&self) -> u64 {
        self.peak_kib.load(Ordering::Relaxed)
    }
}

impl Drop for PeakMemory {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_this_process_is_counted() {
        let pid = std::process::id();
        let before = Cpu::of(pid);
        let begun = std::time::Instant::now();
        let mut sum = 0u64;
        while begun.elapsed() < Duration::from_millis(200) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        // The machine may be busy, so only a small part of the time is required.
        assert!(Cpu::of(pid).since(before) > 10.0, "{sum}");
    }

    #[test]
    fn memory_of_this_process_is_read() {
        assert!(memory_kib(std::process::id(), "VmRSS:").unwrap() > 100);
        assert_eq!(memory_kib(0, "VmRSS:"), None);
    }
}
