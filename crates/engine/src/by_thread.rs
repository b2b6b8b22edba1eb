//! Values sharded by thread, for reuse by the thread that used them before: a connection or a timer is driven by the
//! runtime of the thread that created it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SHARDS: usize = 16;
static THREAD_LAST: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static THREAD: usize = THREAD_LAST.fetch_add(1, Ordering::Relaxed);
}

/// Returns this thread's number, unique in the process.
#[must_use]
pub fn thread() -> usize {
    THREAD.with(|thread| *thread)
}

/// Value aligned to 128 bytes, so that writes to it cause no false sharing with its neighbours.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Apart<T>(pub T);

/// One value per shard. A thread uses the shard of its number modulo `SHARDS`, so further threads share.
#[derive(Debug, Default)]
pub struct ByThread<T>([Apart<Mutex<T>>; SHARDS]);

impl<T> ByThread<T> {
    /// Locks the value of this thread's shard.
    pub fn lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.get(thread() % SHARDS).map(locked)
    }

    /// Locks the values of all shards, one after the other.
    pub fn each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.0.iter().map(locked)
    }
}

fn locked<T>(Apart(shard): &Apart<Mutex<T>>) -> MutexGuard<'_, T> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
