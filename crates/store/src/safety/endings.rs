//! Endings of calls that could not be written when the call ended.
//!
//! Guarantees: an ending that the database refused is kept in a queue of at most `AUDIT_WAITING_MAX` and retried until
//! it is written. One that does not fit is counted and logged; its intent stays open and becomes *unknown* at the next
//! start.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use toolcrib_engine::ending::Ending;
use toolcrib_engine::limits::AUDIT_WAITING_MAX;
use toolcrib_engine::safety::audit::{Event, Signer};

use super::{audit_log, intents};
use crate::error::StoreError;

/// Maximum endings per transaction when they are retried.
const RETRIED_AT_ONCE: usize = 256;

/// Ending of one call and its audit record.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) intent: String,
    pub(super) ending: Ending,
    pub(super) event: Event,
}

impl Ended {
    /// Writes the ending and its record, unless the intent is not open.
    pub(super) fn write(&self, db: &Connection, signer: &Signer) -> Result<(), StoreError> {
        match intents::finish(db, &self.intent, self.ending)? {
            true => audit_log::append(db, signer, std::slice::from_ref(&self.event)),
            false => Ok(()),
        }
    }
}

/// Queue of endings that wait for a retry, and the number of lost ones.
#[derive(Debug, Default)]
pub(super) struct Endings {
    waiting: Mutex<VecDeque<Arc<Ended>>>,
    lost: AtomicU64,
}

impl Endings {
    /// Queues an ending that the database refused; counts it as lost if the queue is full.
    pub(super) fn keep(&self, ended: Arc<Ended>, error: &StoreError) {
        let word = ended.ending.word();
        let mut waiting = self.lock();
        if waiting.len() < AUDIT_WAITING_MAX {
            tracing::error!(
                target: "toolcrib", intent = ended.intent,
                "a call ended as {word}, which cannot be written yet: {error}"
            );
            waiting.push_back(ended);
        } else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                target: "toolcrib", intent = ended.intent,
                "a call ended as {word}, which is lost: {error}"
            );
        }
    }

    /// Takes the oldest endings out of the queue to retry them.
    pub(super) fn take(&self) -> Vec<Arc<Ended>> {
        let mut waiting = self.lock();
        let count = waiting.len().min(RETRIED_AT_ONCE);
        waiting.drain(..count).collect()
    }

    /// Puts endings back whose retry failed.
    pub(super) fn put_back(&self, ended: Vec<Arc<Ended>>) {
        let mut waiting = self.lock();
        for one in ended.into_iter().rev() {
            waiting.push_front(one);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Returns the number of endings that will never be written.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Ended>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
