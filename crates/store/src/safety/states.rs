//! States of calls and tokens, in their tables and as the audit tells of them.
//!
//! The tables can be edited like any other. The audit cannot, so that a state which differs from it is found. Where the
//! first records were pruned, further ones carry the states that those told.

use std::collections::HashMap;

use rusqlite::Connection;
use serde::Deserialize;
use toolcrib_engine::safety::audit::Broken;

use crate::error::StoreError;

/// Word of a call that has not ended and of a token that was not used.
const OPEN: &str = "open";
const LIVE: &str = "live";
/// Word of a call whose end nobody knows.
const UNKNOWN: &str = "unknown";

/// One row: its state in the table, and in the audit so far.
#[derive(Debug)]
struct State {
    kept: String,
    told: Option<String>,
    /// Whether the told state was carried over from records that were pruned: any other record is newer.
    is_carried: bool,
}

/// A state that pruned records told, and that the records which are left have to carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Carried {
    Call { id: String, told: String },
    Token { id: String, told: String },
}

#[derive(Debug)]
pub(super) struct States {
    calls: HashMap<String, State>,
    tokens: HashMap<String, State>,
    /// Calls that the audit tells of as open or unknown and that have no row. Rows of such calls are kept for good.
    deleted: HashMap<String, &'static str>,
    /// Whether a pruning said that the records which it left tell every state.
    is_complete: bool,
}

/// Members of a record that say what became of a call or a token.
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

    /// Returns the states that were told so far, of calls and tokens that are kept.
    pub(super) fn told(self) -> Vec<Carried> {
        let told = |states: HashMap<String, State>, carried: fn(String, String) -> Carried| {
            states.into_iter().filter_map(move |(id, state)| Some(carried(id, state.told?)))
        };
        let mut all: Vec<Carried> = told(self.calls, |id, told| Carried::Call { id, told }).collect();
        all.extend(told(self.tokens, |id, told| Carried::Token { id, told }));
        all
    }

    /// Takes in what a record tells.
    pub(super) fn hear(&mut self, body: &str) {
        // A record that cannot be read breaks the chain, which is found elsewhere.
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

    /// Compares. Calls and tokens of which nothing was told are forged, unless the beginning of the log is elsewhere and
    /// nothing was carried over from it.
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
