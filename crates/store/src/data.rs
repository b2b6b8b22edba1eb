//! A data folder: the database, the keys, the locks of the processes that use it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use toolcrib_engine::clock::SystemClock;
use toolcrib_engine::safety::Safety;
use toolcrib_engine::safety::keep::Unkept;
use toolcrib_engine::safety::policy::Policy;

use crate::anchor::Anchor;
use crate::connection;
use crate::error::StoreError;
use crate::keys::Keys;
use crate::safety::{AuditLog, SqliteSafety};
use crate::store::Store;

const DATABASE: &str = "toolcrib.db";

/// An open data folder.
#[derive(Debug, Clone)]
pub struct DataFolder {
    path: PathBuf,
    pub store: Store,
    pub keys: Keys,
}

impl DataFolder {
    /// Opens the folder; makes it if there is none.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        connection::make_folder(path)?;
        let keys = Keys::load_or_create(path)?;
        let mut anchor = Anchor::open(path, keys.signer.clone())?;
        let after = Box::new(move |db: &Connection| anchor.follow(db));
        let store = Store::open_followed(&path.join(DATABASE), after)?;
        Ok(Self { keys, store, path: path.to_path_buf() })
    }

    /// Where a folder is when nobody says: `$XDG_DATA_HOME/toolcrib`, else `~/.local/share/toolcrib`.
    #[must_use]
    pub fn default_path(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set("TOOLCRIB_DATA")
            .or_else(|| {
                set("XDG_DATA_HOME").filter(|path| path.is_absolute()).map(|path| path.join("toolcrib"))
            })
            .or_else(|| set("HOME").map(|home| home.join(".local/share/toolcrib")))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[must_use]
    pub fn audit(&self) -> AuditLog {
        AuditLog::new(self.store.clone(), &self.path)
    }

    /// The gate, stop and audit over this folder.
    pub async fn safety(&self, policy: Policy) -> Result<Arc<Safety>, Unkept> {
        let safety = SqliteSafety::new(self.store.clone(), self.keys.signer.clone(), Some(&self.path))
            .map_err(|error| Unkept(Arc::new(error)))?;
        let (secrets, clock) = (self.keys.secrets.clone(), Arc::new(SystemClock));
        let safety = Safety::open(Arc::new(safety), policy, secrets, clock).await?;
        safety.set_voucher(self.keys.voucher.clone());
        Ok(safety)
    }
}
