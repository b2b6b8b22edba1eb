//! Profiles: the toolsets that a modern principal has enabled, kept across connections (R3.4).
//!
//! Every call reads the caller's profile, so [`Profiles::get`] must not wait: a store keeps profiles in memory.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits::PROFILES_MAX;
use crate::principal::Principal;
use crate::tool::BoxFuture;

/// Toolsets loaded for a principal, besides those that are always loaded.
pub type Enabled = BTreeSet<Arc<str>>;

/// Reason why a profile was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    #[error("more than {PROFILES_MAX} profiles are kept already")]
    Full,
    #[error("the profile could not be kept")]
    NotKept,
}

/// Change of a profile: one toolset is loaded or unloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub toolset: Arc<str>,
    pub load: bool,
}

impl Step {
    pub fn apply(&self, enabled: &mut Enabled) {
        if self.load {
            enabled.insert(self.toolset.clone());
        } else {
            enabled.remove(&self.toolset);
        }
    }
}

/// Store of profiles.
pub trait Profiles: Send + Sync {
    fn get(&self, principal: &Principal) -> Option<Arc<Enabled>>;

    /// Changes a profile. Reads and writes atomically, so that no concurrent change is lost. A principal without a
    /// profile begins with `start`.
    fn change<'a>(
        &'a self,
        principal: &'a Principal,
        start: Enabled,
        step: Step,
    ) -> BoxFuture<'a, Result<(), ProfileError>>;
}

impl fmt::Debug for dyn Profiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Profiles")
    }
}

/// Profiles kept in memory for the life of the process.
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

    fn change<'a>(
        &'a self,
        principal: &'a Principal,
        start: Enabled,
        step: Step,
    ) -> BoxFuture<'a, Result<(), ProfileError>> {
        let mut profiles = self.lock();
        let known = profiles.get(principal).map(|enabled| Enabled::clone(enabled));
        let outcome = if known.is_none() && profiles.len() >= PROFILES_MAX {
            Err(ProfileError::Full)
        } else {
            let mut enabled = known.unwrap_or(start);
            step.apply(&mut enabled);
            profiles.insert(principal.clone(), Arc::new(enabled));
            Ok(())
        };
        Box::pin(std::future::ready(outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(toolset: &str) -> Step {
        Step { toolset: toolset.into(), load: true }
    }

    /// R3.4: a profile belongs to one principal, and a change keeps the toolsets enabled before.
    #[tokio::test]
    async fn a_profile_is_found_only_by_its_principal() {
        let profiles = MemoryProfiles::default();
        let (ann, bob) = (Principal::subject("ann"), Principal::subject("bob"));
        profiles.change(&ann, Enabled::from(["git".into()]), load("admin")).await.unwrap();
        profiles.change(&ann, Enabled::new(), load("issues")).await.unwrap();
        assert_eq!(profiles.get(&ann).unwrap().len(), 3);
        profiles.change(&ann, Enabled::new(), Step { load: false, ..load("git") }).await.unwrap();
        assert_eq!(*profiles.get(&ann).unwrap(), Enabled::from(["admin".into(), "issues".into()]));
        assert_eq!(profiles.get(&bob), None);
    }

    /// `PROFILES_MAX`: the store in memory is bounded, and keeps the profiles it has.
    #[tokio::test]
    async fn no_more_than_profiles_max_profiles_are_kept() {
        let profiles = MemoryProfiles::default();
        let change =
            async |name: &str| profiles.change(&Principal::subject(name), Enabled::new(), load("git")).await;
        for number in 0..PROFILES_MAX {
            change(&number.to_string()).await.unwrap();
        }
        assert_eq!(change("one more").await, Err(ProfileError::Full));
        assert_eq!(change("7").await, Ok(()));
    }
}
