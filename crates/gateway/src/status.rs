//! How every server is, for people and for `/readyz`.

use serde::Serialize;
use toolcrib_upstream::State;

/// A tool that is not served, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quarantined {
    pub tool: String,
    pub reason: String,
}

/// One server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerStatus {
    pub name: String,
    /// `starting`, `ready`, `failed` or `stopped`.
    pub state: &'static str,
    /// Why it failed; while it starts again, why it failed before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<&'static str>,
    /// What is served is what the server said before it failed.
    pub stale: bool,
    pub tools: usize,
    pub resources: usize,
    pub prompts: usize,
    /// Calls under way at it.
    pub in_flight: usize,
    pub quarantined: Vec<Quarantined>,
    /// Tools that are not what the lock says, are served all the same, and why.
    pub drifted: Vec<Quarantined>,
}

impl ServerStatus {
    pub(crate) fn of(name: &str, state: &State, listed: bool) -> Self {
        let (word, reason, revision) = match state {
            State::Starting(after) => ("starting", after.as_ref().map(ToString::to_string), None),
            State::Ready(revision) => ("ready", None, Some(revision.as_str())),
            State::Failed(cause) => ("failed", Some(cause.to_string()), None),
            State::Stopped => ("stopped", None, None),
        };
        Self {
            name: name.to_owned(),
            state: word,
            reason,
            revision,
            stale: listed && !matches!(state, State::Ready(_)),
            tools: 0,
            resources: 0,
            prompts: 0,
            in_flight: 0,
            quarantined: Vec::new(),
            drifted: Vec::new(),
        }
    }
}
