//! The engine's [`SafetyStore`] in SQLite.
//!
//! Guarantees: what the trait says, each as one transaction. An intent belongs to the process that wrote it; a process
//! holds a lock on a file of its own as long as it lives, so that another one can tell which are no more.

mod admit;
mod approvals;
mod audit_log;
mod control;
mod intents;
mod process;
mod profiles;
mod rows;
mod states;
#[cfg(test)]
mod tests;
mod tokens;

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use toolcrib_engine::ending::Ending;
use toolcrib_engine::safety::audit::{Event, Signer};
use toolcrib_engine::safety::credential::Credential;
use toolcrib_engine::safety::keep::{
    Admission, Decided, Intent, Keeping, Queued, Room, SafetyStore, Scope, Stop, Unkept, Waiting,
};
use toolcrib_engine::safety::ticket::{Approval, Keyed, Spent, Token};

use crate::error::StoreError;
use crate::migration::{Migration, Module};
use crate::store::{Pending, Store};
pub use audit_log::{AuditLog, Page, Verified};
pub(crate) use audit_log::{head as audit_head, holds as audit_holds};
use process::ProcessLock;
pub use profiles::SqliteProfiles;

pub(crate) const MODULE: Module = Module {
    name: "safety",
    steps: &[
        Migration { name: "1", sql: include_str!("../migrations/safety-1.sql") },
        Migration { name: "2", sql: include_str!("../migrations/safety-2.sql") },
        Migration { name: "3", sql: include_str!("../migrations/safety-3.sql") },
        Migration { name: "4", sql: include_str!("../migrations/safety-4.sql") },
    ],
};

#[derive(Debug)]
pub struct SqliteSafety {
    store: Store,
    signer: Signer,
    process: Arc<ProcessLock>,
}

impl SqliteSafety {
    /// `folder` holds the locks of the processes that use this store; in memory there is only one.
    pub fn new(store: Store, signer: Signer, folder: Option<&Path>) -> Result<Self, StoreError> {
        let process = Arc::new(ProcessLock::take(folder)?);
        Ok(Self { store, signer, process })
    }

    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// A change and its record, in one transaction.
    fn change<T, F>(&self, event: Event, work: F) -> Keeping<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.change_if(event, work, |_| true)
    }

    /// The same; the record is written only if the change came to something.
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

/// The write has begun already; this only waits for it.
fn keeping<'a, T: Send + 'static>(pending: Pending<T, StoreError>) -> Keeping<'a, T> {
    Box::pin(async move { pending.wait().await.map_err(|error| Unkept(Arc::new(error))) })
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
        keeping(self.store.write(move |db| admit::admit(db, &signer, &process, admission)))
    }

    fn finish(&self, intent: String, ending: Ending, event: Event) {
        // Begins at once; a failure leaves the intent open, which a later start finds.
        let (signer, id) = (self.signer.clone(), intent.clone());
        let pending =
            self.store.write::<(), StoreError, _>(move |db| match intents::finish(db, &id, ending)? {
                true => audit_log::append(db, &signer, &[event]),
                false => Ok(()),
            });
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = pending.wait().await {
                    let word = ending.word();
                    tracing::error!(target: "toolcrib", intent, "a call ended as {word}, which cannot be written: {error}");
                }
            });
        }
    }

    fn recover(&self, now_ms: u64) -> Keeping<'_, Vec<Intent>> {
        let (signer, process) = (self.signer.clone(), self.process.clone());
        keeping(self.store.write(move |db| intents::recover(db, &signer, &process, now_ms)))
    }

    fn unknown(&self, limit: u32) -> Keeping<'_, Vec<Intent>> {
        self.look(move |db| intents::unknown(db, limit))
    }

    fn append(&self, events: Vec<Event>) -> Keeping<'_, ()> {
        let signer = self.signer.clone();
        keeping(self.store.write(move |db| audit_log::append(db, &signer, &events)))
    }

    fn put_stop(&self, stop: Stop, event: Event) -> Keeping<'_, ()> {
        self.change(event, move |db| control::put_stop(db, &stop))
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
}
