//! CPU time and peak memory of a closure on the current thread.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Address space limit of a process that runs targets, in bytes. A run that allocates endlessly aborts instead of
/// exhausting the machine's memory; the driver reports it as a finding.
pub const ADDRESS_SPACE_BYTES_MAX: u64 = 3 * 1024 * 1024 * 1024;

/// Resources that a closure used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub cpu: Duration,
    /// Peak of allocated bytes.
    pub memory: usize,
}

/// Runs `work` and measures it.
pub fn measured(work: impl FnOnce()) -> Usage {
    let begun = thread_cpu();
    let allocated = allocation_counter::measure(work);
    let cpu = thread_cpu().saturating_sub(begun);
    Usage { cpu, memory: usize::try_from(allocated.bytes_max).unwrap_or(usize::MAX) }
}

/// Applies [`ADDRESS_SPACE_BYTES_MAX`] to this process; a lower existing limit is kept.
pub fn limit_address_space() -> std::io::Result<()> {
    let now = getrlimit(Resource::As);
    let max = now.current.unwrap_or(u64::MAX).min(ADDRESS_SPACE_BYTES_MAX);
    Ok(setrlimit(Resource::As, Rlimit { current: Some(max), maximum: now.maximum })?)
}

fn thread_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let part = |value: i64| u64::try_from(value).unwrap_or_default();
    Duration::from_secs(part(now.tv_sec)) + Duration::from_nanos(part(now.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_the_peak_and_not_the_sum() {
        let usage = measured(|| {
            for _ in 0..10 {
                drop(std::hint::black_box(vec![1_u8; 100_000]));
            }
        });
        assert!((100_000..200_000).contains(&usage.memory), "{usage:?}");
    }

    #[test]
    fn sleeping_costs_no_cpu_and_working_does() {
        let slept = measured(|| std::thread::park_timeout(Duration::from_millis(50)));
        assert!(slept.cpu < Duration::from_millis(25), "{slept:?}");
        let end = std::time::Instant::now() + Duration::from_millis(50);
        let worked = measured(|| while std::time::Instant::now() < end {});
        assert!(worked.cpu > slept.cpu, "{worked:?}");
    }
}
