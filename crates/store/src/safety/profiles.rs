//! Toolsets that modern principals have enabled (R3.4: enabling is per session or per principal), cached in memory and
//! kept in the store.
//!
//! Guarantees: a profile that another process changed is cached after [`SqliteProfiles::refresh`], which the
//! housekeeper calls when the store's revision has grown. An older state never replaces a newer one.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use rusqlite::{Connection, OptionalExtension, params};
use toolcrib_engine::Principal;
use toolcrib_engine::limits::PROFILES_MAX;
use toolcrib_engine::tool::BoxFuture;
use toolcrib_engine::toolset::profile::{Enabled, ProfileError, Profiles, Step};

use super::control;
use super::rows::{number, positive};
use crate::error::StoreError;
use crate::store::{Pending, Store};

/// Toolset profiles in an SQLite database, cached in memory.
#[derive(Debug)]
pub struct SqliteProfiles {
    store: Store,
    at_hand: RwLock<AtHand>,
}

#[derive(Debug, Default)]
struct AtHand {
    profiles: HashMap<String, Profile>,
    /// Number of the newest change that was read from the store.
    read: u64,
}

/// Toolsets of one principal, and the number of the change that wrote them.
#[derive(Debug, Clone)]
struct Profile {
    changed: u64,
    enabled: Arc<Enabled>,
}

impl AtHand {
    /// Caches a profile, unless a newer one is cached.
    fn put(&mut self, principal: String, profile: Profile) {
        let newer = self.profiles.get(&principal).is_some_and(|kept| kept.changed > profile.changed);
        if !newer {
            self.profiles.insert(principal, profile);
        }
    }
}

impl SqliteProfiles {
    /// Reads all profiles. Blocks the calling thread.
    pub fn open(store: Store) -> Result<Self, StoreError> {
        let profiles = Self { store, at_hand: RwLock::default() };
        // Profiles of an earlier version have the number 0.
        let all = profiles.newer_than(-1).wait_blocking()?;
        profiles.take(all);
        Ok(profiles)
    }

    /// Reads the profiles that any process has changed since the last read.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        let read = self.at_hand.read().unwrap_or_else(PoisonError::into_inner).read;
        let newer = self.newer_than(number(read)).wait().await?;
        self.take(newer);
        Ok(())
    }

    fn newer_than(&self, changed: i64) -> Pending<Vec<(String, Profile)>, StoreError> {
        self.store.read(move |db| {
            let mut query = db.prepare_cached(
                "SELECT principal, enabled, changed FROM profiles WHERE changed > ?1 ORDER BY changed",
            )?;
            let mut rows = query.query([changed])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                let enabled = Arc::new(read(&row.get::<_, String>(1)?)?);
                all.push((row.get(0)?, Profile { changed: positive(row.get(2)?), enabled }));
            }
            Ok(all)
        })
    }

    fn take(&self, profiles: Vec<(String, Profile)>) {
        let mut at_hand = self.at_hand.write().unwrap_or_else(PoisonError::into_inner);
        for (principal, profile) in profiles {
            at_hand.read = at_hand.read.max(profile.changed);
            at_hand.put(principal, profile);
        }
    }
}

impl Profiles for SqliteProfiles {
    fn get(&self, principal: &Principal) -> Option<Arc<Enabled>> {
        let at_hand = self.at_hand.read().unwrap_or_else(PoisonError::into_inner);
        at_hand.profiles.get(&principal.key()).map(|profile| profile.enabled.clone())
    }

    fn change<'a>(
        &'a self,
        principal: &'a Principal,
        start: Enabled,
        step: Step,
    ) -> BoxFuture<'a, Result<(), ProfileError>> {
        let key = principal.key();
        // Read and written in one transaction, because another process may have changed the profile since it was
        // cached.
        let row = key.clone();
        let written = self.store.write(move |db| change(db, &row, start, &step));
        Box::pin(async move {
            let profile = written.wait().await.map_err(|error| {
                tracing::error!(target: "toolcrib", "{error}");
                ProfileError::NotKept
            })?;
            let profile = profile.ok_or(ProfileError::Full)?;
            self.at_hand.write().unwrap_or_else(PoisonError::into_inner).put(key, profile);
            Ok(())
        })
    }
}

/// Applies `step` to a profile and stores it; returns `None` if a new profile would exceed `PROFILES_MAX`.
fn change(db: &Connection, key: &str, start: Enabled, step: &Step) -> Result<Option<Profile>, StoreError> {
    let known: Option<String> = db
        .query_row("SELECT enabled FROM profiles WHERE principal = ?1", [key], |row| row.get(0))
        .optional()?;
    let mut enabled = match known {
        Some(text) => read(&text)?,
        None => {
            let count: i64 = db.query_row("SELECT count(*) FROM profiles", [], |row| row.get(0))?;
            if usize::try_from(count).is_ok_and(|count| count >= PROFILES_MAX) {
                return Ok(None);
            }
            start
        }
    };
    step.apply(&mut enabled);
    let names: Vec<&str> = enabled.iter().map(|name| &**name).collect();
    let text = serde_json::to_string(&names).map_err(|_| StoreError::Corrupt { what: "profile" })?;
    let changed = control::next_revision(db)?;
    db.execute(
        "INSERT INTO profiles (principal, enabled, changed) VALUES (?1, ?2, ?3)
         ON CONFLICT (principal) DO UPDATE SET enabled = ?2, changed = ?3",
        params![key, text, number(changed)],
    )?;
    Ok(Some(Profile { changed, enabled: Arc::new(enabled) }))
}

fn read(text: &str) -> Result<Enabled, StoreError> {
    let names: Vec<String> =
        serde_json::from_str(text).map_err(|_| StoreError::Corrupt { what: "profile" })?;
    Ok(names.into_iter().map(Arc::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R3.4: a profile outlives the process, belongs to one principal, and no concurrent change is lost.
    #[test]
    fn a_profile_is_kept_and_no_change_is_lost() {
        let store = Store::in_memory().unwrap();
        let profiles = SqliteProfiles::open(store.clone()).unwrap();
        let (ann, bob) = (Principal::subject("ann"), Principal::subject("bob"));
        let start = || Enabled::from(["core".into()]);
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let step = |number: usize| Step { toolset: format!("s{number}").into(), load: true };
            let changes: Vec<_> =
                (0..20).map(|number| profiles.change(&ann, start(), step(number))).collect();
            for change in changes {
                change.await.unwrap();
            }
            let unload = Step { toolset: "core".into(), load: false };
            profiles.change(&ann, start(), unload).await.unwrap();
        });
        let again = SqliteProfiles::open(store).unwrap();
        assert_eq!(again.get(&ann).unwrap().len(), 20);
        assert_eq!((again.get(&bob), again.get(&ann)), (None, profiles.get(&ann)));
    }

    /// R3.4: a profile that another process of the same folder changed is seen at the housekeeper's next check, and an
    /// older state never replaces a newer one.
    #[test]
    fn a_profile_that_another_process_changed_is_seen() {
        let folder = std::env::temp_dir().join(format!("toolcrib-profiles-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let (one, other) =
            (crate::DataFolder::open(&folder).unwrap(), crate::DataFolder::open(&folder).unwrap());
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let ann = Principal::subject("ann");
        let load = |toolset: &str| Step { toolset: toolset.into(), load: true };
        let (here, there) = (one.profiles().unwrap(), other.profiles().unwrap());
        let safety = runtime.block_on(one.safety(Default::default())).unwrap();
        runtime.block_on(there.change(&ann, Enabled::new(), load("first"))).unwrap();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while here.get(&ann).is_none() {
            assert!(std::time::Instant::now() < end, "the change was never seen");
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
        // A change here builds on the one made there, and the next one there builds on both.
        runtime.block_on(here.change(&ann, Enabled::new(), load("second"))).unwrap();
        runtime.block_on(there.change(&ann, Enabled::new(), load("third"))).unwrap();
        while here.get(&ann).is_none_or(|enabled| enabled.len() < 3) {
            assert!(std::time::Instant::now() < end, "the second change was never seen");
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
        assert_eq!(here.get(&ann), there.get(&ann));
        let stale = Profile { changed: 1, enabled: Arc::new(Enabled::new()) };
        here.take(vec![(ann.key(), stale)]);
        assert_eq!(here.get(&ann).unwrap().len(), 3, "an older state was taken over");
        drop(safety);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
