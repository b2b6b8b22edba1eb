//! What an operator does: stop, unlock, decide, revoke, give out credentials. The same for tools, REST and command line.

use super::Safety;
use super::audit::{Event, Kind};
use super::credential::{CREDENTIAL_PREFIX, Credential};
use super::keep::{Decided, Scope, Stop, Unkept};
use super::ticket::Keyed;
use crate::seal::{NoRandomness, random_bytes};

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
        let stop = Stop { scope, by: by.to_owned(), reason: reason.to_owned(), since_ms: self.now_ms() };
        self.stops.add(&stop);
        let scope = stop.scope.clone();
        let event = self.about_stop(Kind::Stop, &scope, by, Some(reason));
        // Where it cannot be kept it stays in force here.
        self.store().put_stop(stop, event).await?;
        self.stops.is_durable(&scope);
        Ok(())
    }

    /// Lifts a stop; false if there was none. Who may do this is the caller's to decide: never a model alone.
    pub async fn unlock(&self, scope: Scope, by: &str) -> Result<bool, Unkept> {
        let event = self.about_stop(Kind::Unlock, &scope, by, None);
        self.stops.is_durable(&scope);
        let lifted = self.store().lift_stop(scope, event).await?;
        self.refresh().await?;
        Ok(lifted)
    }

    fn about_stop(&self, kind: Kind, scope: &Scope, by: &str, reason: Option<&str>) -> Event {
        let caller = match scope {
            Scope::Everybody => None,
            Scope::Caller(caller) => Some(caller.clone()),
        };
        Event {
            caller,
            by: Some(by.to_owned()),
            note: reason.map(str::to_owned),
            ..Event::new(self.now_ms(), kind)
        }
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
