//! What modern principals have enabled (R3.4), at hand in memory and kept in the store.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use rusqlite::{Connection, OptionalExtension, params};
use toolcrib_engine::Principal;
use toolcrib_engine::limits::PROFILES_MAX;
use toolcrib_engine::tool::BoxFuture;
use toolcrib_engine::toolset::profile::{Enabled, ProfileError, Profiles, Step};

use crate::error::StoreError;
use crate::store::Store;

#[derive(Debug)]
pub struct SqliteProfiles {
    store: Store,
    at_hand: RwLock<HashMap<String, Arc<Enabled>>>,
}

impl SqliteProfiles {
    /// Reads every profile; blocks while it does.
    pub fn open(store: Store) -> Result<Self, StoreError> {
        let all = store
            .read::<_, StoreError, _>(|db| {
                let mut query = db.prepare("SELECT principal, enabled FROM profiles")?;
                let rows =
                    query.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
                Ok(rows.collect::<Result<Vec<_>, _>>()?)
            })
            .wait_blocking()?;
        let mut at_hand = HashMap::with_capacity(all.len());
        for (principal, text) in all {
            at_hand.insert(principal, Arc::new(read(&text)?));
        }
        Ok(Self { store, at_hand: RwLock::new(at_hand) })
    }
}

impl Profiles for SqliteProfiles {
    fn get(&self, principal: &Principal) -> Option<Arc<Enabled>> {
        self.at_hand.read().unwrap_or_else(PoisonError::into_inner).get(&principal.key()).cloned()
    }

    fn change<'a>(
        &'a self,
        principal: &'a Principal,
        start: Enabled,
        step: Step,
    ) -> BoxFuture<'a, Result<(), ProfileError>> {
        let key = principal.key();
        // Read and written in one transaction: another process may have changed it since it was last read here.
        let row = key.clone();
        let written = self.store.write(move |db| change(db, &row, start, &step));
        Box::pin(async move {
            let enabled = written.wait().await.map_err(|error| {
                tracing::error!(target: "toolcrib", "{error}");
                ProfileError::NotKept
            })?;
            let enabled = enabled.ok_or(ProfileError::Full)?;
            self.at_hand.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::new(enabled));
            Ok(())
        })
    }
}

/// The changed profile; `None` where there is no room for a new one.
fn change(db: &Connection, key: &str, start: Enabled, step: &Step) -> Result<Option<Enabled>, StoreError> {
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
    db.execute(
        "INSERT INTO profiles (principal, enabled) VALUES (?1, ?2)
         ON CONFLICT (principal) DO UPDATE SET enabled = ?2",
        params![key, text],
    )?;
    Ok(Some(enabled))
}

fn read(text: &str) -> Result<Enabled, StoreError> {
    let names: Vec<String> =
        serde_json::from_str(text).map_err(|_| StoreError::Corrupt { what: "profile" })?;
    Ok(names.into_iter().map(Arc::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R3.4: a profile outlives the process, belongs to one principal, and of many changes at once none is lost.
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
}
