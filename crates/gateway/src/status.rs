//! Status of every server, for people and for `/readyz`.

use serde::Serialize;
use toolcrib_upstream::State;

/// A tool that is not served, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quarantined {
    pub tool: String,
    pub reason: String,
}

/// Status of one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerStatus {
    pub name: String,
    /// `starting`, `ready`, `failed` or `stopped`.
    pub state: &'static str,
    /// Reason of the failure; while the server restarts, the reason of the previous failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<&'static str>,
    /// `true` if the served list is from before the failure.
    pub stale: bool,
    pub tools: usize,
    pub resources: usize,
    pub prompts: usize,
    /// Number of calls in flight.
    pub in_flight: usize,
    pub quarantined: Vec<Quarantined>,
    /// Tools that differ from the lock and are served all the same, with the reasons.
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
