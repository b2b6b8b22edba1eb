//! Credentials that the operator issues: the subject of a bearer token and its permissions.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use serde::Serialize;
use subtle::ConstantTimeEq;

use super::ticket::{Keyed, SecretKey};

/// Prefix of every credential's secret.
pub const CREDENTIAL_PREFIX: &str = "tcb_";

/// Subject with its permissions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Credential {
    pub name: String,
    /// May decide about approvals, mint tokens that prove a person, stop and unlock.
    pub operator: bool,
    /// Its clients are trusted to ask their person themselves (R4.4).
    pub honours: bool,
    pub created_ms: u64,
}

/// All credentials in memory, for every request.
#[derive(Debug, Default)]
pub struct Credentials {
    by_hash: ArcSwap<HashMap<[u8; 32], Arc<Credential>>>,
    /// Number of updates that removed a credential.
    revocations: AtomicU64,
}

impl Credentials {
    pub(crate) fn set(&self, all: Vec<(Credential, Keyed)>) {
        let by_hash: HashMap<_, _> =
            all.into_iter().map(|(credential, Keyed(hash))| (hash, Arc::new(credential))).collect();
        let is_revoked = self.by_hash.load().keys().any(|hash| !by_hash.contains_key(hash));
        self.by_hash.store(Arc::new(by_hash));
        if is_revoked {
            self.revocations.fetch_add(1, Ordering::Release);
        }
    }

    /// Returns a number that grows whenever a credential was revoked.
    #[must_use]
    pub fn revocations(&self) -> u64 {
        self.revocations.load(Ordering::Acquire)
    }

    /// Returns true if a credential of this name is in force that already existed at `since_ms`: one that was revoked
    /// and created again under its name is a different one.
    #[must_use]
    pub fn holds(&self, name: &str, since_ms: u64) -> bool {
        self.named(name).is_some_and(|credential| credential.created_ms <= since_ms)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_hash.load().is_empty()
    }

    /// Returns the credential of a secret. Compares keyed hashes in constant time.
    #[must_use]
    pub fn find(&self, key: &SecretKey, secret: &str) -> Option<Arc<Credential>> {
        let Keyed(wanted) = key.hash(secret);
        let all = self.by_hash.load();
        let mut found = None;
        for (hash, credential) in all.iter() {
            if bool::from(hash.ct_eq(&wanted)) {
                found = Some(credential.clone());
            }
        }
        found
    }

    #[must_use]
    pub fn named(&self, name: &str) -> Option<Arc<Credential>> {
        self.by_hash.load().values().find(|credential| credential.name == name).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(name: &str, created_ms: u64, hash: u8) -> (Credential, Keyed) {
        (Credential { name: name.to_owned(), operator: false, honours: false, created_ms }, Keyed([hash; 32]))
    }

    /// R12.5: a revoked credential is noticed, even if another of the same name replaced it at once.
    #[test]
    fn a_credential_made_again_under_the_same_name_is_another_one() {
        let credentials = Credentials::default();
        credentials.set(vec![credential("ann", 5, 1)]);
        assert_eq!((credentials.revocations(), credentials.holds("ann", 7)), (0, true));
        credentials.set(vec![credential("ann", 5, 1), credential("bob", 6, 2)]);
        assert_eq!(credentials.revocations(), 0);
        credentials.set(vec![credential("ann", 8, 3), credential("bob", 6, 2)]);
        assert_eq!((credentials.revocations(), credentials.holds("ann", 7)), (1, false));
        assert!(credentials.holds("ann", 8) && credentials.holds("bob", 7) && !credentials.holds("eve", 7));
    }
}
