//! Credentials that the operator gives out: who a bearer token is, and what the operator marked it with.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use serde::Serialize;
use subtle::ConstantTimeEq;

use super::ticket::{Keyed, SecretKey};

/// Begins every credential's secret.
pub const CREDENTIAL_PREFIX: &str = "tcb_";

/// A subject and its marks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Credential {
    pub name: String,
    /// May decide over approvals, mint tokens that prove a person, stop and unlock.
    pub operator: bool,
    /// Its clients are believed when they say that they ask their person themselves (R4.4).
    pub honours: bool,
    pub created_ms: u64,
}

/// All of them, at hand for every request.
#[derive(Debug, Default)]
pub struct Credentials {
    by_hash: ArcSwap<HashMap<[u8; 32], Arc<Credential>>>,
}

impl Credentials {
    pub(crate) fn set(&self, all: Vec<(Credential, Keyed)>) {
        let by_hash = all.into_iter().map(|(credential, Keyed(hash))| (hash, Arc::new(credential))).collect();
        self.by_hash.store(Arc::new(by_hash));
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_hash.load().is_empty()
    }

    /// Who a secret belongs to. The comparison is of keyed hashes, and takes the same time whatever differs.
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
