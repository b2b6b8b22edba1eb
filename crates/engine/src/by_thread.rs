//! What is used again, and best by the thread that used it before: a connection or a timer is driven by the runtime of
//! the thread that made it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SHARDS: usize = 16;
static THREAD_LAST: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static THREAD: usize = THREAD_LAST.fetch_add(1, Ordering::Relaxed);
}

/// The number of this thread, which no other has or had.
#[must_use]
pub fn thread() -> usize {
    THREAD.with(|thread| *thread)
}

/// In a place of its own: where one thread writes, others do not wait for what stands beside it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Apart<T>(pub T);

/// One of it for each of so many threads; further ones share.
#[derive(Debug, Default)]
pub struct ByThread<T>([Apart<Mutex<T>>; SHARDS]);

impl<T> ByThread<T> {
    /// That of this thread.
    pub fn lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.get(thread() % SHARDS).map(locked)
    }

    /// Those of all threads, one after the other.
    pub fn each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.0.iter().map(locked)
    }
}

fn locked<T>(Apart(shard): &Apart<Mutex<T>>) -> MutexGuard<'_, T> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
