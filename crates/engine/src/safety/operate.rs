//! What an operator does: stop, unlock, decide, revoke, give out credentials. The same for tools, REST and command line.

use super::Safety;
use super::audit::{Event, Kind};
use super::credential::{CREDENTIAL_PREFIX, Credential};
use super::keep::{Decided, Scope, Stop, Unkept};
use super::ticket::Keyed;
use crate::limits::LOOP_STOP_MS;
use crate::seal::{NoRandomness, random_bytes};
use crate::share::Share;

/// Why a credential was not made.
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

impl Safety {
    /// Stops everybody or one caller: at once in this process, durably, and soon everywhere.
    pub async fn stop(&self, scope: Scope, by: &str, reason: &str) -> Result<(), Unkept> {
        let (by, reason) = (by.to_owned(), reason.to_owned());
        self.put_stop(Stop { scope, by, reason, since_ms: self.now_ms(), expires_ms: None }).await
    }

    /// Returns the stop of a caller that repeats itself. An anonymous session or address is stopped for `LOOP_STOP_MS`,
    /// because nobody may ever come to unlock it; others until an operator unlocks them.
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

    pub(crate) async fn put_stop(&self, stop: Stop) -> Result<(), Unkept> {
        self.stops.add(&stop);
        let scope = stop.scope.clone();
        let event = self.about_stop(Kind::Stop, &scope, &stop.by, Some(&stop.reason));
        // A stop that cannot be kept stays in force here, and the housekeeper tries again.
        if let Err(error) = self.store().put_stop(stop.clone(), event).await {
            self.stops.is_unkept(&stop);
            return Err(error);
        }
        self.stops.is_durable(&scope);
        Ok(())
    }

    /// Lifts a stop; false if there was none. Whoever calls this decides who may: never a model alone.
    pub async fn unlock(&self, scope: Scope, by: &str) -> Result<bool, Unkept> {
        let event = self.about_stop(Kind::Unlock, &scope, by, None);
        let lifted = self.store().lift_stop(scope.clone(), event).await?;
        // Only now: a stop whose lifting cannot be written stays in force.
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

    /// A person's word on a waiting call.
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

    /// Takes a token back; false if there is none to take.
    pub async fn revoke(&self, id: &str, by: &str) -> Result<bool, Unkept> {
        let event = Event {
            ticket: Some(id.to_owned()),
            by: Some(by.to_owned()),
            ..Event::new(self.now_ms(), Kind::Revoked)
        };
        self.store().revoke_token(id.to_owned(), event).await
    }

    /// Makes a credential; its secret is told this once.
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

    /// Takes a credential back; false if there is none.
    pub async fn revoke_credential(&self, name: &str) -> Result<bool, Unkept> {
        let event =
            Event { note: Some(format!("revoked {name}")), ..Event::new(self.now_ms(), Kind::Credential) };
        let revoked = self.store().revoke_credential(name.to_owned(), event).await?;
        self.refresh().await?;
        Ok(revoked)
    }
}
