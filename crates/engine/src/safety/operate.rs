//! Operator actions: stop, unlock, decide, revoke, manage credentials. Shared by tools, REST and the command line.

use std::time::{Duration, Instant};

use super::Safety;
use super::audit::{Event, Kind};
use super::credential::{CREDENTIAL_PREFIX, Credential};
use super::keep::{Decided, Scope, Stop, Unkept};
use super::ticket::Keyed;
use crate::limits::{LOOP_STOP_MS, STOP_HELD_MS_MAX};
use crate::seal::{NoRandomness, random_bytes};
use crate::share::Share;

/// Reason why a credential was not created.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error("a credential's name has 1 to 64 of A-Z a-z 0-9 _ . -")]
    BadName,
    #[error("there is a credential {0} already")]
    Taken(String),
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    #[error(transparent)]
    Unkept(#[from] Unkept),
}

/// Interval at which a stop checks if the other processes have confirmed it.
const HELD_LOOK: Duration = Duration::from_millis(10);

/// Reach of a stop: this process, and every other process except those that have not confirmed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForce {
    /// Descriptions of other processes that did not confirm within `STOP_HELD_MS_MAX`; each may still serve calls.
    pub unconfirmed: Vec<String>,
}

impl InForce {
    /// Returns a warning that names the unconfirmed processes; `None` if all have confirmed.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        if self.unconfirmed.is_empty() {
            return None;
        }
        let (names, has) =
            (self.unconfirmed.join(", "), if self.unconfirmed.len() == 1 { "has" } else { "have" });
        Some(format!(
            "the stop is written, but {names} {has} not confirmed it within {STOP_HELD_MS_MAX} ms and may still serve"
        ))
    }
}

impl Safety {
    /// Stops everybody or one caller. When this returns, the stop is durable and in force in every process, except
    /// those that the result names.
    pub async fn stop(&self, scope: Scope, by: &str, reason: &str) -> Result<InForce, Unkept> {
        let (by, reason) = (by.to_owned(), reason.to_owned());
        let stop = Stop { scope, by, reason, since_ms: self.now_ms(), expires_ms: None };
        let revision = self.put_stop(stop).await?;
        Ok(self.confirmed(revision).await)
    }

    /// Waits until every other process has put `revision` in force, at most `STOP_HELD_MS_MAX`.
    async fn confirmed(&self, revision: u64) -> InForce {
        let deadline = Instant::now() + Duration::from_millis(STOP_HELD_MS_MAX);
        loop {
            let unconfirmed: Vec<String> = match self.store().behind(revision) {
                Ok(behind) => behind.iter().map(|name| process(name)).collect(),
                Err(error) => {
                    tracing::error!(target: "toolcrib", "the other processes cannot be listed: {error}");
                    vec!["any other process (they cannot be listed)".to_owned()]
                }
            };
            if unconfirmed.is_empty() || Instant::now() >= deadline {
                return InForce { unconfirmed };
            }
            tokio::time::sleep(HELD_LOOK).await;
        }
    }

    /// Returns the stop for a caller that repeats a call without end. A stop of an anonymous session or address ends
    /// after `LOOP_STOP_MS`, because nobody may ever come to unlock it; others last until an operator unlocks them.
    pub(crate) fn looping(&self, share: &Share, reason: &str) -> Stop {
        let since_ms = self.now_ms();
        let lasts = matches!(share, Share::Subject(_) | Share::Local);
        Stop {
            scope: Scope::of(share),
            by: "loop detection".to_owned(),
            reason: reason.to_owned(),
            since_ms,
            expires_ms: (!lasts).then(|| since_ms.saturating_add(LOOP_STOP_MS)),
        }
    }

    /// Puts a stop in force in this process and stores it; returns the revision that other processes have to reach.
    pub(crate) async fn put_stop(&self, stop: Stop) -> Result<u64, Unkept> {
        self.stops.add(&stop);
        let scope = stop.scope.clone();
        let event = self.about_stop(Kind::Stop, &scope, &stop.by, Some(&stop.reason));
        // A stop that cannot be stored stays in force here, and the housekeeper retries.
        let revision = match self.store().put_stop(stop.clone(), event).await {
            Ok(revision) => revision,
            Err(error) => {
                self.stops.is_unkept(&stop);
                return Err(error);
            }
        };
        self.stops.is_durable(&scope);
        Ok(revision)
    }

    /// Lifts a stop; returns false if there was none. Callers must authorise it: never for a model alone.
    pub async fn unlock(&self, scope: Scope, by: &str) -> Result<bool, Unkept> {
        let event = self.about_stop(Kind::Unlock, &scope, by, None);
        let lifted = self.store().lift_stop(scope.clone(), event).await?;
        // Only now: a stop whose removal cannot be written stays in force.
        self.stops.is_durable(&scope);
        self.refresh().await?;
        Ok(lifted)
    }

    fn about_stop(&self, kind: Kind, scope: &Scope, by: &str, reason: Option<&str>) -> Event {
        let (caller, whom) = match scope {
            Scope::Everybody => (None, None),
            Scope::Caller(caller) => (Some(caller.clone()), Some(scope.words())),
        };
        let note = match (whom, reason) {
            (Some(whom), Some(reason)) => Some(format!("{whom}: {reason}")),
            (Some(whom), None) => Some(whom.into_owned()),
            (None, reason) => reason.map(str::to_owned),
        };
        Event { caller, by: Some(by.to_owned()), note, ..Event::new(self.now_ms(), kind) }
    }

    /// Records a person's decision on a waiting call.
    pub async fn decide(&self, id: &str, allow: bool, by: &str) -> Result<Decided, Unkept> {
        let now_ms = self.now_ms();
        let event = Event {
            ticket: Some(id.to_owned()),
            decision: Some(if allow { "allowed" } else { "denied" }),
            by: Some(by.to_owned()),
            ..Event::new(now_ms, Kind::Decided)
        };
        self.store().decide(id.to_owned(), allow, by.to_owned(), now_ms, event).await
    }

    /// Revokes a token; returns false if there is none.
    pub async fn revoke(&self, id: &str, by: &str) -> Result<bool, Unkept> {
        let event = Event {
            ticket: Some(id.to_owned()),
            by: Some(by.to_owned()),
            ..Event::new(self.now_ms(), Kind::Revoked)
        };
        self.store().revoke_token(id.to_owned(), event).await
    }

    /// Creates a credential and returns its secret, which is not stored.
    pub async fn add_credential(
        &self,
        name: &str,
        operator: bool,
        honours: bool,
    ) -> Result<String, CredentialError> {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(good) {
            return Err(CredentialError::BadName);
        }
        let hex: String = random_bytes::<32>()?.iter().map(|byte| format!("{byte:02x}")).collect();
        let secret = format!("{CREDENTIAL_PREFIX}{hex}");
        let credential = Credential { name: name.to_owned(), operator, honours, created_ms: self.now_ms() };
        let hash: Keyed = self.key().hash(&secret);
        let event =
            Event { note: Some(format!("made {name}")), ..Event::new(self.now_ms(), Kind::Credential) };
        if !self.store().put_credential(credential, hash, event).await? {
            return Err(CredentialError::Taken(name.to_owned()));
        }
        self.refresh().await?;
        Ok(secret)
    }

    /// Revokes a credential; returns false if there is none.
    pub async fn revoke_credential(&self, name: &str) -> Result<bool, Unkept> {
        let event =
            Event { note: Some(format!("revoked {name}")), ..Event::new(self.now_ms(), Kind::Credential) };
        let revoked = self.store().revoke_credential(name.to_owned(), event).await?;
        self.refresh().await?;
        Ok(revoked)
    }
}

/// Describes a process by its id; its lock file is named by process id and start time.
fn process(name: &str) -> String {
    let id = name.split_once('-').map_or(name, |(id, _)| id);
    format!("process {id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R12.5, `STOP_HELD_MS_MAX`: the warning names the processes that did not confirm, and the deadline.
    #[test]
    fn processes_that_did_not_confirm_are_named() {
        assert_eq!(InForce { unconfirmed: Vec::new() }.warning(), None);
        let one = InForce { unconfirmed: vec![process("12-1700000000000000000")] };
        let said = one.warning().unwrap();
        assert!(
            said.contains("process 12 has not") && said.contains(&STOP_HELD_MS_MAX.to_string()),
            "{said}"
        );
    }
}
