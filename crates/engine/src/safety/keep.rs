//! What safety needs to be kept, as any database can keep it. No policy is behind this trait.
//!
//! Every change that is decided brings its audit record along, and both become durable together or not at all.

use std::fmt;
use std::sync::Arc;

use super::audit::Event;
use super::credential::Credential;
use super::ticket::{Approval, Binding, Clearance, Keyed, Spent, Token};
use crate::tool::BoxFuture;

/// The store failed: what was to be kept is not.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the store failed: {0}")]
pub struct Unkept(pub Arc<dyn std::error::Error + Send + Sync>);

pub type Keeping<'a, T> = BoxFuture<'a, Result<T, Unkept>>;

/// How a call with an intent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It has not.
    Open,
    Done,
    Failed,
    /// Nobody can say; it is never tried again.
    Unknown,
    /// It asked something before it did anything; the next round has an intent of its own.
    Asked,
}

impl Outcome {
    pub const ALL: [Self; 5] = [Self::Open, Self::Done, Self::Failed, Self::Unknown, Self::Asked];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Asked => "asked",
        }
    }
}

/// A call that was about to run when this was written.
#[derive(Debug, Clone)]
pub struct Intent {
    pub id: String,
    pub binding: Binding,
    pub started_ms: u64,
    pub outcome: Outcome,
}

/// One call that wants to pass.
#[derive(Debug)]
pub struct Admission {
    pub clearance: Clearance,
    pub intent: Intent,
    pub event: Event,
    pub now_ms: u64,
}

/// Who is stopped.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    Everybody,
    Caller(String),
}

impl Scope {
    /// The empty text is everybody; no caller has that.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Everybody => "",
            Self::Caller(caller) => caller,
        }
    }

    #[must_use]
    pub fn from_key(key: &str) -> Self {
        if key.is_empty() { Self::Everybody } else { Self::Caller(key.to_owned()) }
    }
}

/// A stop in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    pub scope: Scope,
    pub by: String,
    pub reason: String,
    pub since_ms: u64,
}

/// What became of a call that was to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queued {
    New,
    /// It waits already, under this name.
    Already(String),
    /// The caller has as many waiting as it may.
    Full,
}

/// What a decision came to.
#[derive(Debug, Clone)]
pub enum Decided {
    Done(Box<Approval>),
    Unknown,
    /// It is not waiting any more.
    Over(Box<Approval>),
}

pub trait SafetyStore: Send + Sync + fmt::Debug {
    fn put_token(&self, token: Token, event: Event) -> Keeping<'_, ()>;
    /// Tokens that are neither used nor revoked nor expired.
    fn tokens(&self, now_ms: u64) -> Keeping<'_, Vec<Token>>;
    /// False if there is no such token to take back.
    fn revoke_token(&self, id: String, event: Event) -> Keeping<'_, bool>;

    /// The very same call of the same caller waits only once.
    fn put_approval(&self, approval: Approval, pending_max: u32, event: Event) -> Keeping<'_, Queued>;
    /// Those that wait for a decision.
    fn approvals(&self, now_ms: u64) -> Keeping<'_, Vec<Approval>>;
    fn decide(&self, id: String, allow: bool, by: String, now_ms: u64, event: Event) -> Keeping<'_, Decided>;

    /// Burns what clears the call, writes its intent and its record: all or nothing. Of many at once with the same
    /// ticket exactly one passes. Gives the ticket's name.
    fn admit(&self, admission: Admission) -> Keeping<'_, Result<Option<String>, Spent>>;
    /// Writes how a call ended. Begins at once and is not waited for: a crash before it leaves *unknown*.
    fn finish(&self, intent: String, outcome: Outcome, event: Event);
    /// Intents of processes that are no more become *unknown*; gives them.
    fn recover(&self, now_ms: u64) -> Keeping<'_, Vec<Intent>>;
    /// Intents whose outcome nobody knows, latest first.
    fn unknown(&self, limit: u32) -> Keeping<'_, Vec<Intent>>;

    /// Records that stand alone.
    fn append(&self, events: Vec<Event>) -> Keeping<'_, ()>;

    fn put_stop(&self, stop: Stop, event: Event) -> Keeping<'_, ()>;
    /// False if there was none.
    fn lift_stop(&self, scope: Scope, event: Event) -> Keeping<'_, bool>;
    fn stops(&self) -> Keeping<'_, Vec<Stop>>;

    /// False if the name is taken.
    fn put_credential(&self, credential: Credential, hash: Keyed, event: Event) -> Keeping<'_, bool>;
    fn revoke_credential(&self, name: String, event: Event) -> Keeping<'_, bool>;
    fn credentials(&self) -> Keeping<'_, Vec<(Credential, Keyed)>>;

    /// Grows with every change of stops and credentials, whichever process made it.
    fn revision(&self) -> Keeping<'_, u64>;
}
