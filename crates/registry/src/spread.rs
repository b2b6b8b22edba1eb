//! Processes the entries of a large file on all cores, with results in file order.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Minimum file size; a smaller file is done before a second thread has started.
const SPREAD_BYTES_MIN: usize = 256 * 1024;
/// Maximum threads; beyond these, memory is the bottleneck.
const THREADS_MAX: usize = 8;
/// Entries that a thread takes at a time.
const SHARE: usize = 8;

/// Applies `work` to every item and returns the results in order. `bytes` is the total size of the items.
pub(crate) fn in_order<T: Sync, R: Send>(items: &[T], bytes: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(THREADS_MAX);
    if cores < 2 || bytes < SPREAD_BYTES_MIN || items.len() <= SHARE {
        return items.iter().map(work).collect();
    }
    let shares: Vec<&[T]> = items.chunks(SHARE).collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Vec<R>)>> = Mutex::new(Vec::with_capacity(shares.len()));
    let take = || {
        while let Some((at, share)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            shares.get(at).map(|share| (at, *share))
        } {
            let made: Vec<R> = share.iter().map(&work).collect();
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, made));
        }
    };
    // A panic of a thread propagates when the scope ends.
    std::thread::scope(|scope| {
        for _ in 1..cores {
            scope.spawn(take);
        }
        take();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().flat_map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..1_003).collect();
        for bytes in [0, SPREAD_BYTES_MIN] {
            assert_eq!(
                in_order(&items, bytes, |item| item * 2),
                items.iter().map(|item| item * 2).collect::<Vec<_>>()
            );
        }
        assert!(in_order(&[] as &[usize], SPREAD_BYTES_MIN, |item| *item).is_empty());
    }
}
