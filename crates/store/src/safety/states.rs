//! States of calls and tokens, compared between their tables and the audit.
//!
//! The tables can be edited by anybody who can write the file; the audit is signed, so a state that differs from it is
//! detected. If the first records were pruned, later records carry the states that those reported.

use std::collections::HashMap;

use rusqlite::Connection;
use serde::Deserialize;
use toolcrib_engine::safety::audit::Broken;

use crate::error::StoreError;

/// State of a call that has not ended, and of a token that was not used.
const OPEN: &str = "open";
const LIVE: &str = "live";
/// Outcome of a call whose ending nobody knows.
const UNKNOWN: &str = "unknown";

/// State of one row: in its table, and according to the audit so far.
#[derive(Debug)]
struct State {
    kept: String,
    told: Option<String>,
    /// `true` if the told state was carried over from pruned records. Any other record is newer.
    is_carried: bool,
}

/// State that pruned records reported and that the remaining records have to carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Carried {
    Call { id: String, told: String },
    Token { id: String, told: String },
}

/// States of all calls and tokens, in their tables and according to the audit.
#[derive(Debug)]
pub(super) struct States {
    calls: HashMap<String, State>,
    tokens: HashMap<String, State>,
    /// Calls that the audit reports as open or unknown and that have no row. Rows of such calls are never deleted by
    /// us.
    deleted: HashMap<String, &'static str>,
    /// `true` if a pruning recorded that the remaining records report every state.
    is_complete: bool,
}

/// Members of an audit record that report the state of a call or token.
#[derive(Debug, Deserialize)]
struct Told<'a> {
    kind: &'a str,
    #[serde(default)]
    intent: Option<&'a str>,
    #[serde(default)]
    outcome: Option<&'a str>,
    #[serde(default)]
    ticket: Option<&'a str>,
    #[serde(default)]
    decision: Option<&'a str>,
    #[serde(default)]
    complete: Option<bool>,
}

impl States {
    pub(super) fn read(db: &Connection) -> Result<Self, StoreError> {
        Ok(Self {
            calls: rows(db, "SELECT id, outcome FROM intents")?,
            tokens: rows(db, "SELECT id, state FROM tokens")?,
            deleted: HashMap::new(),
            is_complete: false,
        })
    }

    /// Returns the states reported so far, of calls and tokens that have a row.
    pub(super) fn told(self) -> Vec<Carried> {
        let told = |states: HashMap<String, State>, carried: fn(String, String) -> Carried| {
            states.into_iter().filter_map(move |(id, state)| Some(carried(id, state.told?)))
        };
        let mut all: Vec<Carried> = told(self.calls, |id, told| Carried::Call { id, told }).collect();
        all.extend(told(self.tokens, |id, told| Carried::Token { id, told }));
        all
    }

    /// Takes in the states that one record reports.
    pub(super) fn hear(&mut self, body: &str) {
        // An unreadable record breaks the chain, which the walk detects.
        let Ok(told) = serde_json::from_str::<Told<'_>>(body) else { return };
        let tell = |state: Option<&mut State>, word: &str| {
            if let Some(state) = state {
                (state.told, state.is_carried) = (Some(word.to_owned()), false);
            }
        };
        let carry = |state: Option<&mut State>, word: Option<&str>| {
            if let (Some(state), Some(word)) = (state, word)
                && (state.told.is_none() || state.is_carried)
            {
                (state.told, state.is_carried) = (Some(word.to_owned()), true);
            }
        };
        if let Some(id) = told.intent.filter(|id| !self.calls.contains_key(*id)) {
            match (told.kind, told.outcome) {
                ("intent", _) | ("carried", Some(OPEN)) => self.deleted.insert(id.to_owned(), OPEN),
                ("outcome" | "carried", Some(UNKNOWN)) => self.deleted.insert(id.to_owned(), UNKNOWN),
                ("outcome", _) => self.deleted.remove(id),
                _ => None,
            };
        }
        let call = told.intent.and_then(|id| self.calls.get_mut(id));
        let token = told.ticket.and_then(|id| self.tokens.get_mut(id));
        match told.kind {
            "intent" => {
                tell(call, OPEN);
                tell(token, "used");
            }
            "outcome" => tell(call, told.outcome.unwrap_or_default()),
            "token" => tell(token, LIVE),
            "revoked" => tell(token, "revoked"),
            "carried" => {
                carry(call, told.outcome);
                carry(token, told.decision);
            }
            "pruned" => self.is_complete |= told.complete.unwrap_or_default(),
            _ => {}
        }
    }

    /// Compares tables and audit. A row without any record is forged, unless the log starts later and its first
    /// records do not carry every state.
    pub(super) fn check(self, begins_later: bool) -> Result<(), Broken> {
        let begins_later = begins_later && !self.is_complete;
        let different = |what: &'static str, states: HashMap<String, State>| {
            let mut states = states.into_iter().filter(|(_, state)| state.told.is_some() || !begins_later);
            let found = states.find(|(_, state)| state.told.as_ref() != Some(&state.kept));
            match found {
                None => Ok(()),
                Some((name, State { kept, told, .. })) => {
                    let told = told.unwrap_or_else(|| "not mentioned".to_owned());
                    Err(Broken::State { what, name, kept, told })
                }
            }
        };
        different("call", self.calls)?;
        if let Some((name, told)) = self.deleted.into_iter().next() {
            let (kept, told) = ("deleted".to_owned(), told.to_owned());
            return Err(Broken::State { what: "call", name, kept, told });
        }
        different("token", self.tokens)
    }
}

fn rows(db: &Connection, query: &str) -> Result<HashMap<String, State>, StoreError> {
    let mut query = db.prepare(query)?;
    let rows = query
        .query_map([], |row| Ok((row.get(0)?, State { kept: row.get(1)?, told: None, is_carried: false })))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
