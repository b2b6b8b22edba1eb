//! Rounds of a modern call that asks its client: the answers so far travel in the sealed `requestState`.
//!
//! Guarantees: a state is accepted only if this server sealed it for this principal, method and parameters and it has
//! not expired. Answers to questions that were not asked are ignored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolcrib_contract::Digest;
use toolcrib_contract::json::Node;
use toolcrib_protocol::Params;

use crate::ask::InputRequired;
use crate::clock::Clock;
use crate::limits::{STATE_BYTES_MAX, STATE_MS_MAX};
use crate::principal::Principal;
use crate::seal::Sealer;

/// State and answers that came with a call; empty in the first round.
#[derive(Debug, Clone, Default)]
pub struct Round(Option<Box<Brought>>);

/// Content of a later round.
#[derive(Debug, Clone, Default)]
struct Brought {
    /// Question key to raw JSON.
    answers: BTreeMap<String, Box<str>>,
    /// State that the handler saved, raw JSON.
    kept: Option<Box<str>>,
    /// `true` if the client brought back a state that this server sealed.
    sealed: bool,
    /// Nonce of a call that was confirmed in an earlier round; lets this round pass the gate once.
    cleared: Option<String>,
    expires_ms: u64,
}

/// Request that a state is bound to.
#[derive(Debug, Clone)]
pub struct Binding {
    principal: String,
    method: Box<str>,
    params: String,
}

/// The state was not sealed by this server for this request, or it has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "requestState is not valid for this request: it was altered, belongs to another request, or has expired"
)]
pub struct BadState;

/// The state cannot be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the state of this call cannot be sealed: it is over {STATE_BYTES_MAX} bytes or there is no randomness"
)]
pub struct CannotSeal;

#[derive(Serialize)]
struct Written<'a> {
    expires_ms: u64,
    asked: Vec<&'a str>,
    answers: BTreeMap<&'a str, &'a RawValue>,
    kept: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cleared: Option<&'a str>,
}

#[derive(Deserialize)]
struct Read {
    expires_ms: u64,
    asked: Vec<String>,
    answers: BTreeMap<String, Box<RawValue>>,
    kept: Option<Box<RawValue>>,
    #[serde(default)]
    cleared: Option<String>,
}

impl Binding {
    /// Binds to the principal, the method, and the parameters that do not change from round to round.
    #[must_use]
    pub fn of(principal: &Principal, method: &str, params: Params<'_>) -> Self {
        let mut salient = String::new();
        for name in ["name", "uri", "arguments"] {
            let part = params.get(name).map(canonical).unwrap_or_default();
            salient.push_str(&format!("{}:{part};", part.len()));
        }
        let digest = Digest::of_bytes(salient.as_bytes());
        Self { principal: principal.key(), method: method.into(), params: digest.to_string() }
    }

    fn parts(&self) -> [&str; 4] {
        ["request-state", &self.principal, &self.method, &self.params]
    }
}

/// Canonical text: a retry may order the members of its arguments differently, but must write the same digits.
fn canonical(node: Node<'_>) -> String {
    toolcrib_contract::canonical_verbatim(node)
}

impl Round {
    /// Reads the state and answers that the client brought back, if any.
    pub fn read(
        params: Params<'_>,
        sealer: &Sealer,
        clock: &dyn Clock,
        binding: impl FnOnce() -> Binding,
    ) -> Result<Self, BadState> {
        let (state, responses) = (params.request_state, params.input_responses);
        if state.is_none() && responses.is_none() {
            return Ok(Self::default());
        }
        let mut round = Brought::default();
        let mut asked = None;
        if let Some(state) = state {
            let state = state.as_str().ok_or(BadState)?;
            let plain = sealer.open(&binding().parts(), &state).ok_or(BadState)?;
            let read: Read = serde_json::from_slice(&plain).map_err(|_| BadState)?;
            if read.expires_ms <= clock.now_ms() {
                return Err(BadState);
            }
            round.sealed = true;
            round.answers = read.answers.into_iter().map(|(key, raw)| (key, raw.get().into())).collect();
            round.kept = read.kept.map(|raw| raw.get().into());
            round.cleared = read.cleared;
            round.expires_ms = read.expires_ms;
            asked = Some(read.asked);
        }
        for (key, value) in responses.into_iter().flat_map(Node::members) {
            let key = key.as_str().unwrap_or_default();
            if asked.as_ref().is_none_or(|asked| asked.iter().any(|name| *name == key)) {
                round.answers.insert(key.into_owned(), value.to_compact().into());
            }
        }
        Ok(Self(Some(Box::new(round))))
    }

    /// Question keys with their answers as raw JSON.
    fn answers(&self) -> impl Iterator<Item = (&str, &str)> {
        let answers = self.0.iter().flat_map(|brought| &brought.answers);
        answers.map(|(key, raw)| (key.as_str(), &**raw))
    }

    /// Returns the `input_required` result as raw JSON, without its closing brace.
    pub fn require(
        &self,
        required: &InputRequired,
        kept: Option<&str>,
        cleared: Option<&str>,
        sealer: &Sealer,
        clock: &dyn Clock,
        binding: &Binding,
    ) -> Result<Vec<u8>, CannotSeal> {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).map_err(|_| CannotSeal);
        let kept = kept.or(self.kept()).map(raw).transpose()?;
        let answers: Vec<(&str, Box<RawValue>)> = self
            .answers()
            .filter(|(key, _)| !required.questions.iter().any(|(asked, _)| **asked == **key))
            .map(|(key, text)| Ok((key, raw(text)?)))
            .collect::<Result<_, CannotSeal>>()?;
        let written = Written {
            expires_ms: clock.now_ms().saturating_add(STATE_MS_MAX),
            asked: required.questions.iter().map(|(key, _)| &**key).collect(),
            answers: answers.iter().map(|(key, raw)| (*key, &**raw)).collect(),
            kept: kept.as_deref(),
            cleared,
        };
        let plain = serde_json::to_vec(&written).map_err(|_| CannotSeal)?;
        if plain.len() > STATE_BYTES_MAX {
            return Err(CannotSeal);
        }
        let state = sealer.seal(&binding.parts(), &plain).map_err(|_| CannotSeal)?;
        let mut out = br#"{"resultType":"input_required","inputRequests":{"#.to_vec();
        for (index, (key, question)) in required.questions.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            toolcrib_protocol::write::string(&mut out, key);
            out.extend_from_slice(b":{\"method\":\"");
            out.extend_from_slice(question.method.as_bytes());
            out.extend_from_slice(b"\",\"params\":");
            out.extend_from_slice(question.params.as_bytes());
            out.push(b'}');
        }
        out.extend_from_slice(b"},\"requestState\":");
        toolcrib_protocol::write::string(&mut out, &state);
        Ok(out)
    }

    #[must_use]
    pub fn answer(&self, key: &str) -> Option<&str> {
        self.0.as_ref()?.answers.get(key).map(|raw| &**raw)
    }

    /// Returns the answers whose question key begins with `prefix`, with the rest of the key.
    pub(crate) fn answers_to<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.answers().filter_map(move |(key, raw)| Some((key.strip_prefix(prefix)?, raw)))
    }

    /// Returns the nonce that lets a call pass that was confirmed in an earlier round.
    pub(crate) fn cleared(&self) -> Option<&str> {
        self.0.as_ref()?.cleared.as_deref()
    }

    /// Returns the expiry of the state that came back; 0 if none did.
    pub(crate) fn expires_ms(&self) -> u64 {
        self.0.as_ref().map_or(0, |brought| brought.expires_ms)
    }

    #[must_use]
    pub fn kept(&self) -> Option<&str> {
        self.0.as_ref()?.kept.as_deref()
    }

    /// Returns true if a state sealed by this server came back; a confirmation needs one.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.0.as_ref().is_some_and(|brought| brought.sealed)
    }
}

impl Round {
    /// Adds answers to the round, for a tool that asks in the modern way behind a legacy client.
    #[must_use]
    pub(crate) fn with(
        mut self,
        replies: impl Iterator<Item = (Box<str>, crate::ask::Reply)>,
        kept: Option<Box<str>>,
    ) -> Self {
        let brought = self.0.get_or_insert_default();
        brought.answers.extend(replies.map(|(key, reply)| (key.into(), reply.0)));
        brought.kept = kept.or(brought.kept.take());
        self
    }
}
