//! The engine's [`SafetyStore`] in SQLite.
//!
//! Guarantees: every change that the trait describes is one transaction. An intent belongs to the process that wrote
//! it. A process holds a lock on a file of its own while it lives, so another process can tell which ones have died.

mod admit;
mod approvals;
mod archive;
mod audit_log;
mod control;
mod endings;
mod intents;
mod look;
mod process;
mod profiles;
mod retention;
mod rows;
mod states;
#[cfg(test)]
mod tests;
mod tokens;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rusqlite::Connection;
use toolcrib_engine::ending::Ending;
use toolcrib_engine::safety::audit::{Event, Kind, Signer};
use toolcrib_engine::safety::credential::Credential;
use toolcrib_engine::safety::keep::{
    Admission, Decided, Intent, Keeping, Queued, Retention, Room, SafetyStore, Scope, Stop, Unkept, Waiting,
};
use toolcrib_engine::safety::ticket::{Approval, Keyed, Spent, Token};

use crate::error::StoreError;
use crate::migration::{Migration, Module};
use crate::store::{Pending, Store};
pub use archive::Archive;
pub use audit_log::{AuditLog, Page, Verified};
pub(crate) use audit_log::{head as audit_head, holds as audit_holds};
use endings::{Ended, Endings};
pub use look::Look;
use process::ProcessLock;
pub use profiles::SqliteProfiles;
use retention::Pruning;
pub use retention::{Cut, Pruned};

pub(crate) const MODULE: Module = Module {
    name: "safety",
    steps: &[
        Migration { name: "1", sql: include_str!("../migrations/safety-1.sql") },
        Migration { name: "2", sql: include_str!("../migrations/safety-2.sql") },
        Migration { name: "3", sql: include_str!("../migrations/safety-3.sql") },
        Migration { name: "4", sql: include_str!("../migrations/safety-4.sql") },
    ],
};

/// Safety store of one process over an SQLite database.
#[derive(Debug)]
pub struct SqliteSafety {
    store: Store,
    signer: Signer,
    process: Arc<ProcessLock>,
    endings: Arc<Endings>,
    /// Profiles that are reread after another process changed something.
    profiles: Arc<OnceLock<Arc<SqliteProfiles>>>,
    pruning: Pruning,
}

impl SqliteSafety {
    /// `folder` gets the lock files of the processes that use this store; `None` for a store in memory.
    pub fn new(store: Store, signer: Signer, folder: Option<&Path>) -> Result<Self, StoreError> {
        let process = Arc::new(ProcessLock::take(folder)?);
        let pruning = Pruning::new(store.clone(), signer.clone());
        Ok(Self { store, signer, process, endings: Arc::default(), profiles: Arc::default(), pruning })
    }

    /// Sets the profiles that `reread` updates after changes of other processes.
    #[must_use]
    pub(crate) fn with_profiles(mut self, profiles: Arc<OnceLock<Arc<SqliteProfiles>>>) -> Self {
        self.profiles = profiles;
        self
    }

    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Makes a change and writes its audit record in one transaction.
    fn change<T, F>(&self, event: Event, work: F) -> Keeping<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.change_if(event, work, |_| true)
    }

    /// Makes a change; its audit record is written in the same transaction if `recorded` returns `true` for the
    /// result.
    fn change_if<T, F>(&self, event: Event, work: F, recorded: fn(&T) -> bool) -> Keeping<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let signer = self.signer.clone();
        keeping(self.store.write(move |db| {
            let done = work(db)?;
            if recorded(&done) {
                audit_log::append(db, &signer, &[event])?;
            }
            Ok(done)
        }))
    }

    fn look<T, F>(&self, work: F) -> Keeping<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        keeping(self.store.read(work))
    }
}

/// Returns a future that waits for a write which is already queued.
fn keeping<'a, T: Send + 'static>(pending: Pending<T, StoreError>) -> Keeping<'a, T> {
    Box::pin(async move { pending.wait().await.map_err(|error| Unkept(Arc::new(error))) })
}

/// Treats `Unanchored` as success: the records are durable and only missing from the anchor. The writer has logged the
/// error, and the next commit updates the anchor.
fn kept(written: Result<(), StoreError>) -> Result<(), StoreError> {
    match written {
        Err(StoreError::Unanchored(_)) => Ok(()),
        other => other,
    }
}

/// Waits for a write that counts as done once it is durable, even if the anchor is behind.
fn keeping_unanchored<'a>(pending: Pending<(), StoreError>) -> Keeping<'a, ()> {
    Box::pin(async move { kept(pending.wait().await).map_err(|error| Unkept(Arc::new(error))) })
}

impl SafetyStore for SqliteSafety {
    fn put_token(&self, token: Token, event: Event) -> Keeping<'_, ()> {
        self.change(event, move |db| tokens::put(db, &token))
    }

    fn tokens(&self, now_ms: u64) -> Keeping<'_, Vec<Token>> {
        self.look(move |db| tokens::live(db, now_ms))
    }

    fn revoke_token(&self, id: String, event: Event) -> Keeping<'_, bool> {
        self.change_if(event, move |db| tokens::revoke(db, &id), |revoked| *revoked)
    }

    fn put_approval(&self, approval: Approval, room: Room, event: Event) -> Keeping<'_, Queued> {
        let put = move |db: &Connection| approvals::put(db, &approval, &room);
        self.change_if(event, put, |queued| *queued == Queued::New)
    }

    fn approvals(&self, now_ms: u64) -> Keeping<'_, Waiting> {
        self.look(move |db| approvals::waiting(db, now_ms))
    }

    fn decide(&self, id: String, allow: bool, by: String, now_ms: u64, event: Event) -> Keeping<'_, Decided> {
        let signer = self.signer.clone();
        keeping(self.store.write(move |db| {
            let decided = approvals::decide(db, &id, allow, &by, now_ms)?;
            if let Decided::Done(approval) = &decided {
                let binding = &approval.binding;
                let event = Event {
                    caller: Some(binding.caller.clone()),
                    session: binding.session.clone(),
                    tool: Some(binding.tool.clone()),
                    contract: Some(binding.contract.to_string()),
                    arguments: Some(binding.arguments.to_string()),
                    ..event
                };
                audit_log::append(db, &signer, &[event])?;
            }
            Ok(decided)
        }))
    }

    fn admit(&self, admission: Admission) -> Keeping<'_, Result<Option<String>, Spent>> {
        let (signer, process) = (self.signer.clone(), self.process.name().to_owned());
        let (intent, event) = (admission.intent.id.clone(), admission.event.clone());
        let pending = self.store.write(move |db| admit::admit(db, &signer, &process, admission));
        Box::pin(async move {
            let admitted = pending.wait().await;
            if let Err(error @ StoreError::Unanchored(_)) = &admitted {
                // The intent is durable, but its call is refused.
                let (ending, kind) = (Ending::Refused, Kind::Outcome);
                let note = Some("the end of the audit could not be written".to_owned());
                let event = Event { kind, outcome: Some(ending.word()), note, ..event };
                self.endings.keep(Arc::new(Ended { intent, ending, event }), error);
            }
            admitted.map_err(|error| Unkept(Arc::new(error)))
        })
    }

    fn finish(&self, intent: String, ending: Ending, event: Event) {
        let ended = Arc::new(Ended { intent, ending, event });
        let (signer, endings, written) = (self.signer.clone(), self.endings.clone(), ended.clone());
        // The write is queued now. If it cannot be queued, the closure gets the error as well.
        let _ = self.store.write_then(
            move |db| written.write(db, &signer),
            move |result| {
                if let Err(error) = kept(result) {
                    endings.keep(ended, &error);
                }
            },
        );
    }

    fn recover(&self, now_ms: u64) -> Keeping<'_, Vec<Intent>> {
        let (signer, process) = (self.signer.clone(), self.process.clone());
        keeping(self.store.write(move |db| intents::recover(db, &signer, &process, now_ms)))
    }

    fn unknown(&self, limit: u32) -> Keeping<'_, Vec<Intent>> {
        self.look(move |db| intents::unknown(db, limit))
    }

    fn append(&self, events: Vec<Event>) -> Keeping<'_, ()> {
        self.append_shared(Arc::new(events))
    }

    fn append_shared(&self, events: Arc<Vec<Event>>) -> Keeping<'_, ()> {
        let signer = self.signer.clone();
        keeping_unanchored(self.store.write(move |db| audit_log::append(db, &signer, &events)))
    }

    fn retry(&self) -> Keeping<'_, usize> {
        Box::pin(async move {
            let ended = Arc::new(self.endings.take());
            if ended.is_empty() {
                return Ok(0);
            }
            let (signer, written) = (self.signer.clone(), ended.clone());
            let pending = self.store.write::<_, StoreError, _>(move |db| {
                written.iter().try_for_each(|ended| ended.write(db, &signer))
            });
            let result = kept(pending.wait().await);
            if result.is_err() {
                self.endings.put_back(ended.to_vec());
            }
            result.map(|()| self.endings.count()).map_err(|error| Unkept(Arc::new(error)))
        })
    }

    fn lost(&self) -> u64 {
        self.endings.lost()
    }

    fn retain(&self, retention: Retention) {
        self.pruning.begin(retention);
    }

    fn put_stop(&self, stop: Stop, event: Event) -> Keeping<'_, u64> {
        let signer = self.signer.clone();
        let pending = self.store.write::<_, StoreError, _>(move |db| {
            let revision = control::put_stop(db, &stop)?;
            audit_log::append(db, &signer, &[event])?;
            Ok(revision)
        });
        Box::pin(async move {
            match pending.wait().await {
                // A durable stop is in force everywhere, even if the anchor is behind.
                Err(StoreError::Unanchored(_)) => self.revision().await,
                other => other.map_err(|error| Unkept(Arc::new(error))),
            }
        })
    }

    fn lift_stop(&self, scope: Scope, event: Event) -> Keeping<'_, bool> {
        self.change_if(event, move |db| control::lift_stop(db, &scope), |lifted| *lifted)
    }

    fn stops(&self, now_ms: u64) -> Keeping<'_, Vec<Stop>> {
        self.look(move |db| control::stops(db, now_ms))
    }

    fn put_credential(&self, credential: Credential, hash: Keyed, event: Event) -> Keeping<'_, bool> {
        self.change_if(event, move |db| control::put_credential(db, &credential, hash), |put| *put)
    }

    fn revoke_credential(&self, name: String, event: Event) -> Keeping<'_, bool> {
        self.change_if(event, move |db| control::revoke_credential(db, &name), |revoked| *revoked)
    }

    fn credentials(&self) -> Keeping<'_, Vec<(Credential, Keyed)>> {
        self.look(control::credentials)
    }

    fn revision(&self) -> Keeping<'_, u64> {
        self.look(control::revision)
    }

    fn reread(&self) -> Keeping<'_, ()> {
        Box::pin(async move {
            match self.profiles.get() {
                Some(profiles) => profiles.refresh().await.map_err(|error| Unkept(Arc::new(error))),
                None => Ok(()),
            }
        })
    }

    fn acknowledge(&self, revision: u64) -> Result<(), Unkept> {
        self.process.acknowledge(revision).map_err(|error| Unkept(Arc::new(error)))
    }

    fn behind(&self, revision: u64) -> Result<Vec<String>, Unkept> {
        self.process.behind(revision).map_err(|error| Unkept(Arc::new(error)))
    }
}
