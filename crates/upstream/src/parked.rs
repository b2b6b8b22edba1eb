//! Parked calls: calls that wait while their modern client asks a person.
//!
//! Guarantees: a parked call is resumed once, by the client that brings back the state which names it (the engine
//! sealed that for one principal and one request). A call that is not resumed in time is dropped. Their number is
//! bounded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use toolcrib_engine::{Question, SessionId};

use crate::limits::{PARKED_MAX, PARKED_MS_MAX};
use crate::pending::Pending;

/// A call in flight and the question that it waits for.
pub(crate) struct Waiting {
    pub(crate) pending: Pending,
    pub(crate) question: Question,
    /// The server's raw id of its question.
    pub(crate) question_id: Box<str>,
    /// Key of the question towards the client.
    pub(crate) key: String,
    /// Questions asked so far.
    pub(crate) asked: usize,
}

/// Table of parked calls by id.
pub(crate) struct Parked<T = Waiting> {
    table: Mutex<HashMap<Box<str>, T>>,
}

impl<T> Default for Parked<T> {
    fn default() -> Self {
        Self { table: Mutex::default() }
    }
}

impl<T: Send + 'static> Parked<T> {
    /// Parks a call and returns its id; returns the call if there is no room.
    pub(crate) fn put(self: &Arc<Self>, waiting: T) -> Result<Box<str>, Box<T>> {
        let Ok(id) = SessionId::random() else { return Err(Box::new(waiting)) };
        let id: Box<str> = id.as_str().into();
        let mut table = self.lock();
        if table.len() >= PARKED_MAX {
            return Err(Box::new(waiting));
        }
        table.insert(id.clone(), waiting);
        drop(table);
        let (parked, name) = (Arc::downgrade(self), id.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(PARKED_MS_MAX)).await;
            if let Some(parked) = parked.upgrade() {
                drop(parked.take(&name));
            }
        });
        Ok(id)
    }

    pub(crate) fn take(&self, id: &str) -> Option<T> {
        self.lock().remove(id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, T>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R5.2, R5.6: parked calls are bounded in number and time, and each is resumed once.
    #[tokio::test(start_paused = true)]
    async fn no_more_than_parked_max_calls_wait_and_none_longer_than_parked_ms_max() {
        let parked = Arc::new(Parked::default());
        let ids: Vec<_> = (0..PARKED_MAX).map(|number| parked.put(number).unwrap()).collect();
        assert_eq!(*parked.put(usize::MAX).unwrap_err(), usize::MAX, "it is given back");
        assert_eq!((parked.take(&ids[7]), parked.take(&ids[7])), (Some(7), None), "taken up once");
        let late = parked.put(1_000).unwrap();
        tokio::time::sleep(Duration::from_millis(PARKED_MS_MAX - 1)).await;
        assert_eq!(parked.take(&late), Some(1_000));
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert!(parked.lock().is_empty());
    }
}
