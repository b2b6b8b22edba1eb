//! What safety needs to be kept, as any database can keep it. No policy is behind this trait.
//!
//! Every change that is decided brings its audit record along, and both become durable together or not at all.

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

/// The store failed: what was to be kept is not.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the store failed: {0}")]
pub struct Unkept(pub Arc<dyn std::error::Error + Send + Sync>);

pub type Keeping<'a, T> = BoxFuture<'a, Result<T, Unkept>>;

/// A call that was about to run when this was written.
#[derive(Debug, Clone)]
pub struct Intent {
    pub id: String,
    pub binding: Binding,
    pub started_ms: u64,
    /// How it ended; absent while it has not.
    pub ending: Option<Ending>,
}

/// One call that wants to pass.
#[derive(Debug)]
pub struct Admission {
    pub clearance: Clearance,
    pub intent: Intent,
    pub event: Event,
    pub now_ms: u64,
}

/// A stop in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    pub scope: Scope,
    pub by: String,
    pub reason: String,
    pub since_ms: u64,
    /// When it ends by itself; absent: only an operator lifts it.
    pub expires_ms: Option<u64>,
}

impl Stop {
    #[must_use]
    pub fn is_over(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|expires_ms| now_ms >= expires_ms)
    }
}

/// Under whom a waiting call is counted, and how much may wait.
#[derive(Debug, Clone)]
pub struct Room {
    /// Text of the share; no two shares have the same.
    pub share: String,
    pub user: User,
    pub calls: Allowance,
    pub bytes: Allowance,
}

/// What became of a call that was to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queued {
    New,
    /// It waits already, under this name.
    Already(String),
    /// As much waits as may; the first of what is in the way is decided or expires by this time at the latest.
    Full {
        exceeded: Exceeded,
        until_ms: u64,
    },
}

/// Calls that wait for a person, as many as are shown at once.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// Each share's first call, then each one's second, and so on; the oldest first among those.
    pub approvals: Vec<Approval>,
    /// Further calls that wait.
    pub more: usize,
}

/// What a decision came to.
#[derive(Debug, Clone)]
pub enum Decided {
    Done(Box<Approval>),
    Unknown,
    /// It is not waiting any more.
    Over(Box<Approval>),
}

/// How much of the audit is kept in the database. Whole segments are taken out, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention {
    /// Records from this time on are kept, in milliseconds of Unix time.
    pub since_ms: Option<u64>,
    /// Maximum bytes of the database, without its free pages.
    pub bytes_max: Option<u64>,
    /// Folder that the segments are written to before they are taken out; absent: they are deleted.
    pub archive: Option<PathBuf>,
    /// Name of the decider, for the audit.
    pub by: String,
}

pub trait SafetyStore: Send + Sync + fmt::Debug {
    fn put_token(&self, token: Token, event: Event) -> Keeping<'_, ()>;
    /// Tokens that are neither used nor revoked nor expired.
    fn tokens(&self, now_ms: u64) -> Keeping<'_, Vec<Token>>;
    /// False if there is no such token to take back.
    fn revoke_token(&self, id: String, event: Event) -> Keeping<'_, bool>;

    /// The very same call of the same share waits only once.
    fn put_approval(&self, approval: Approval, room: Room, event: Event) -> Keeping<'_, Queued>;
    /// Those that wait for a decision, up to `APPROVALS_SHOWN_BYTES_MAX` bytes of arguments.
    fn approvals(&self, now_ms: u64) -> Keeping<'_, Waiting>;
    fn decide(&self, id: String, allow: bool, by: String, now_ms: u64, event: Event) -> Keeping<'_, Decided>;

    /// Burns what clears the call, writes its intent and its record: all or nothing. Of many at once with the same
    /// ticket exactly one passes. Gives the ticket's name.
    fn admit(&self, admission: Admission) -> Keeping<'_, Result<Option<String>, Spent>>;
    /// Writes how a call ended. Begins at once and is not waited for: a crash before it leaves *unknown*.
    fn finish(&self, intent: String, ending: Ending, event: Event);
    /// Intents of processes that are no more become *unknown*; gives them.
    fn recover(&self, now_ms: u64) -> Keeping<'_, Vec<Intent>>;
    /// Intents whose outcome nobody knows, latest first.
    fn unknown(&self, limit: u32) -> Keeping<'_, Vec<Intent>>;

    /// Records that stand alone.
    fn append(&self, events: Vec<Event>) -> Keeping<'_, ()>;
    /// Appends records that the caller keeps until they are written.
    fn append_shared(&self, events: Arc<Vec<Event>>) -> Keeping<'_, ()> {
        self.append(events.to_vec())
    }
    /// Writes the ends of calls that could not be written when they ended; gives how many still wait.
    fn retry(&self) -> Keeping<'_, usize> {
        Box::pin(async { Ok(0) })
    }
    /// Number of ends of calls that were never written, because too many waited.
    fn lost(&self) -> u64 {
        0
    }
    /// Begins to take out of the audit what need not be kept, and returns at once. Does nothing while an earlier call's
    /// work goes on.
    fn retain(&self, _retention: Retention) {}

    /// Keeps a stop and returns the revision that has it. Keeps at most `STOPS_MAX` stops that end by themselves: the
    /// one that began first makes room.
    fn put_stop(&self, stop: Stop, event: Event) -> Keeping<'_, u64>;
    /// False if there was none.
    fn lift_stop(&self, scope: Scope, event: Event) -> Keeping<'_, bool>;
    /// Stops that are not over.
    fn stops(&self, now_ms: u64) -> Keeping<'_, Vec<Stop>>;

    /// False if the name is taken.
    fn put_credential(&self, credential: Credential, hash: Keyed, event: Event) -> Keeping<'_, bool>;
    fn revoke_credential(&self, name: String, event: Event) -> Keeping<'_, bool>;
    fn credentials(&self) -> Keeping<'_, Vec<(Credential, Keyed)>>;

    /// Grows with every change of stops, credentials and profiles, whichever process made it.
    fn revision(&self) -> Keeping<'_, u64>;
    /// Tells the other processes of this store that this one has put everything up to `revision` in force.
    fn acknowledge(&self, revision: u64) -> Result<(), Unkept>;
    /// Returns the names of the other live processes of this store that have not acknowledged `revision`.
    fn behind(&self, revision: u64) -> Result<Vec<String>, Unkept>;
    /// Reads again what the store keeps in memory of things that other processes change.
    fn reread(&self) -> Keeping<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}
