//! What modern principals have enabled (R3.4), at hand in memory and kept in the store.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use rusqlite::params;
use toolcrib_engine::Principal;
use toolcrib_engine::limits::PROFILES_MAX;
use toolcrib_engine::tool::BoxFuture;
use toolcrib_engine::toolset::profile::{Enabled, ProfileError, Profiles};

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
            let names: Vec<String> =
                serde_json::from_str(&text).map_err(|_| StoreError::Corrupt { what: "profile" })?;
            at_hand.insert(principal, Arc::new(names.into_iter().map(Arc::from).collect()));
        }
        Ok(Self { store, at_hand: RwLock::new(at_hand) })
    }
}

impl Profiles for SqliteProfiles {
    fn get(&self, principal: &Principal) -> Option<Arc<Enabled>> {
        self.at_hand.read().unwrap_or_else(PoisonError::into_inner).get(&principal.key()).cloned()
    }

    fn put<'a>(
        &'a self,
        principal: &'a Principal,
        enabled: Enabled,
    ) -> BoxFuture<'a, Result<(), ProfileError>> {
        Box::pin(async move {
            let key = principal.key();
            {
                let at_hand = self.at_hand.read().unwrap_or_else(PoisonError::into_inner);
                if at_hand.len() >= PROFILES_MAX && !at_hand.contains_key(&key) {
                    return Err(ProfileError::Full);
                }
            }
            let names: Vec<&str> = enabled.iter().map(|name| &**name).collect();
            let text = serde_json::to_string(&names).map_err(|_| ProfileError::NotKept)?;
            let row = key.clone();
            let written = self.store.write::<_, StoreError, _>(move |db| {
                db.execute(
                    "INSERT INTO profiles (principal, enabled) VALUES (?1, ?2)
                     ON CONFLICT (principal) DO UPDATE SET enabled = ?2",
                    params![row, text],
                )?;
                Ok(())
            });
            written.wait().await.map_err(|error| {
                tracing::error!(target: "toolcrib", "{error}");
                ProfileError::NotKept
            })?;
            self.at_hand.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::new(enabled));
            Ok(())
        })
    }
}
