//! What a modern principal has enabled, kept for it across connections (R3.4).
//!
//! Reading is on the way of every call, so it does not wait: a store keeps what it has at hand.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits::PROFILES_MAX;
use crate::principal::Principal;
use crate::tool::BoxFuture;

/// The toolsets that are loaded for a principal, besides those that always are.
pub type Enabled = BTreeSet<Arc<str>>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    #[error("more than {PROFILES_MAX} profiles are kept already")]
    Full,
    #[error("the profile could not be kept")]
    NotKept,
}

/// Where profiles are kept.
pub trait Profiles: Send + Sync {
    fn get(&self, principal: &Principal) -> Option<Arc<Enabled>>;
    fn put<'a>(
        &'a self,
        principal: &'a Principal,
        enabled: Enabled,
    ) -> BoxFuture<'a, Result<(), ProfileError>>;
}

impl fmt::Debug for dyn Profiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Profiles")
    }
}

/// Profiles that live as long as the process.
#[derive(Debug, Default)]
pub struct MemoryProfiles {
    by_principal: Mutex<HashMap<Principal, Arc<Enabled>>>,
}

impl MemoryProfiles {
    fn lock(&self) -> MutexGuard<'_, HashMap<Principal, Arc<Enabled>>> {
        self.by_principal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Profiles for MemoryProfiles {
    fn get(&self, principal: &Principal) -> Option<Arc<Enabled>> {
        self.lock().get(principal).cloned()
    }

    fn put<'a>(
        &'a self,
        principal: &'a Principal,
        enabled: Enabled,
    ) -> BoxFuture<'a, Result<(), ProfileError>> {
        let mut profiles = self.lock();
        let outcome = if profiles.len() >= PROFILES_MAX && !profiles.contains_key(principal) {
            Err(ProfileError::Full)
        } else {
            profiles.insert(principal.clone(), Arc::new(enabled));
            Ok(())
        };
        Box::pin(std::future::ready(outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R3.4: a profile belongs to one principal.
    #[tokio::test]
    async fn a_profile_is_found_only_by_its_principal() {
        let profiles = MemoryProfiles::default();
        let (ann, bob) = (Principal::subject("ann"), Principal::subject("bob"));
        profiles.put(&ann, Enabled::from(["git".into()])).await.unwrap();
        assert_eq!(profiles.get(&ann).unwrap().len(), 1);
        assert_eq!(profiles.get(&bob), None);
    }

    /// `PROFILES_MAX`: a store in memory does not grow without end, and keeps what it has.
    #[tokio::test]
    async fn no_more_than_profiles_max_profiles_are_kept() {
        let profiles = MemoryProfiles::default();
        for number in 0..PROFILES_MAX {
            profiles.put(&Principal::subject(&number.to_string()), Enabled::new()).await.unwrap();
        }
        let one_more = Principal::subject("one more");
        assert_eq!(profiles.put(&one_more, Enabled::new()).await, Err(ProfileError::Full));
        assert_eq!(profiles.put(&Principal::subject("7"), Enabled::new()).await, Ok(()));
    }
}
