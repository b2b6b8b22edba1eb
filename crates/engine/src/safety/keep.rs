//! [`SafetyStore`]: storage that safety needs, implementable by any database. The store holds no policy.
//!
//! Every decision comes with its audit record, and both become durable together or not at all.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::allowance::{Allowance, Exceeded, User};
use super::audit::Event;
use super::credential::Credential;
pub use super::scope::Scope;
use super::ticket::{Approval, Binding, Clearance, Keyed, Spent, Token};
use crate::ending::Ending;
use crate::tool::BoxFuture;

/// The store failed: nothing was stored.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the store failed: {0}")]
pub struct Unkept(pub Arc<dyn std::error::Error + Send + Sync>);

/// Future of a store operation.
pub type Keeping<'a, T> = BoxFuture<'a, Result<T, Unkept>>;

/// Call that was about to run when this was written.
#[derive(Debug, Clone)]
pub struct Intent {
    pub id: String,
    pub binding: Binding,
    pub started_ms: u64,
    /// Ending of the call; `None` while it has not ended.
    pub ending: Option<Ending>,
}

/// Call that asks to pass.
#[derive(Debug)]
pub struct Admission {
    pub clearance: Clearance,
    pub intent: Intent,
    pub event: Event,
    pub now_ms: u64,
}

/// Emergency stop in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    pub scope: Scope,
    pub by: String,
    pub reason: String,
    pub since_ms: u64,
    /// Time at which the stop ends by itself; `None` if only an operator lifts it.
    pub expires_ms: Option<u64>,
}

impl Stop {
    #[must_use]
    pub fn is_over(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|expires_ms| now_ms >= expires_ms)
    }
}

/// Quota of the approval queue for one caller.
#[derive(Debug, Clone)]
pub struct Room {
    /// Text of the share, different for different shares.
    pub share: String,
    pub user: User,
    pub calls: Allowance,
    pub bytes: Allowance,
}

/// Outcome of putting a call into the approval queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queued {
    New,
    /// The call waits already, under this handle.
    Already(String),
    /// The quota is exhausted; the first call that takes part of it is decided or expires by this time at the latest.
    Full {
        exceeded: Exceeded,
        until_ms: u64,
    },
}

/// Calls that wait for a person, as many as are shown at once.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// Each share's first call, then each share's second, and so on; within a round, the oldest first.
    pub approvals: Vec<Approval>,
    /// Number of further calls that wait.
    pub more: usize,
}

/// Outcome of a decision.
#[derive(Debug, Clone)]
pub enum Decided {
    Done(Box<Approval>),
    Unknown,
    /// The approval is not pending any more.
    Over(Box<Approval>),
}

/// Limits of the audit in the database. Whole segments are removed, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention {
    /// Records from this time on are kept, in milliseconds since the Unix epoch.
    pub since_ms: Option<u64>,
    /// Maximum bytes of the database, without its free pages.
    pub bytes_max: Option<u64>,
    /// Folder that segments are written to before they are removed; `None` deletes them.
    pub archive: Option<PathBuf>,
    /// Name of the decider, for the audit.
    pub by: String,
}

/// Store of tickets, intents, audit records, stops and credentials.
pub trait SafetyStore: Send + Sync + fmt::Debug {
    fn put_token(&self, token: Token, event: Event) -> Keeping<'_, ()>;
    /// Returns the tokens that are neither used nor revoked nor expired.
    fn tokens(&self, now_ms: u64) -> Keeping<'_, Vec<Token>>;
    /// Revokes a token; returns false if there is none.
    fn revoke_token(&self, id: String, event: Event) -> Keeping<'_, bool>;

    /// Queues a call for a person. An identical call of the same share is queued only once.
    fn put_approval(&self, approval: Approval, room: Room, event: Event) -> Keeping<'_, Queued>;
    /// Returns the approvals that wait for a decision, up to `APPROVALS_SHOWN_BYTES_MAX` bytes of arguments.
    fn approvals(&self, now_ms: u64) -> Keeping<'_, Waiting>;
    fn decide(&self, id: String, allow: bool, by: String, now_ms: u64, event: Event) -> Keeping<'_, Decided>;

    /// Burns the clearance and writes the call's intent and record: all or nothing. Of many concurrent calls with one
    /// ticket, exactly one passes. Returns the ticket's name.
    fn admit(&self, admission: Admission) -> Keeping<'_, Result<Option<String>, Spent>>;
    /// Writes the ending of a call. Starts at once and is not awaited: a crash before it is durable leaves *unknown*.
    fn finish(&self, intent: String, ending: Ending, event: Event);
    /// Marks the intents of dead processes as *unknown* and returns them.
    fn recover(&self, now_ms: u64) -> Keeping<'_, Vec<Intent>>;
    /// Returns intents with an unknown outcome, latest first.
    fn unknown(&self, limit: u32) -> Keeping<'_, Vec<Intent>>;

    /// Appends audit records without other changes.
    fn append(&self, events: Vec<Event>) -> Keeping<'_, ()>;
    /// Appends records that the caller keeps until they are written.
    fn append_shared(&self, events: Arc<Vec<Event>>) -> Keeping<'_, ()> {
        self.append(events.to_vec())
    }
    /// Retries the endings that could not be written; returns how many still wait.
    fn retry(&self) -> Keeping<'_, usize> {
        Box::pin(async { Ok(0) })
    }
    /// Returns the number of endings that were dropped because too many waited.
    fn lost(&self) -> u64 {
        0
    }
    /// Starts to prune the audit in the background. Does nothing while an earlier pruning runs.
    fn retain(&self, _retention: Retention) {}

    /// Stores a stop and returns the revision that contains it. At most `STOPS_MAX` stops with an end are kept: the
    /// one that began first is dropped.
    fn put_stop(&self, stop: Stop, event: Event) -> Keeping<'_, u64>;
    /// Lifts a stop; returns false if there was none.
    fn lift_stop(&self, scope: Scope, event: Event) -> Keeping<'_, bool>;
    /// Returns the stops that are not over.
    fn stops(&self, now_ms: u64) -> Keeping<'_, Vec<Stop>>;

    /// Stores a credential; returns false if the name is taken.
    fn put_credential(&self, credential: Credential, hash: Keyed, event: Event) -> Keeping<'_, bool>;
    fn revoke_credential(&self, name: String, event: Event) -> Keeping<'_, bool>;
    fn credentials(&self) -> Keeping<'_, Vec<(Credential, Keyed)>>;

    /// Returns a number that grows with every change of stops, credentials and profiles, by any process.
    fn revision(&self) -> Keeping<'_, u64>;
    /// Tells the other processes of this store that this one has put everything up to `revision` in force.
    fn acknowledge(&self, revision: u64) -> Result<(), Unkept>;
    /// Returns the names of the other live processes of this store that have not acknowledged `revision`.
    fn behind(&self, revision: u64) -> Result<Vec<String>, Unkept>;
    /// Reloads what the store caches of data that other processes change.
    fn reread(&self) -> Keeping<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}
