//! A data folder: the safety journal, the catalogue, the keys, and the lock files of the processes that use it.
//!
//! Journal and catalogue are separate databases, so that a long write to one never delays the other.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rusqlite::Connection;
use toolcrib_engine::clock::SystemClock;
use toolcrib_engine::safety::Safety;
use toolcrib_engine::safety::audit::PublicKey;
use toolcrib_engine::safety::keep::Unkept;
use toolcrib_engine::safety::policy::Policy;

use crate::anchor::Anchor;
use crate::catalogue::Catalogue;
use crate::connection;
use crate::error::StoreError;
use crate::keys::Keys;
use crate::safety::{AuditLog, SqliteProfiles, SqliteSafety};
use crate::separation::{self, CATALOGUE, JOURNAL};
use crate::store::Store;

/// An open data folder.
#[derive(Debug, Clone)]
pub struct DataFolder {
    path: PathBuf,
    /// The safety journal: audit, intents, tokens, approvals, stops, credentials, profiles.
    pub store: Store,
    pub keys: Keys,
    /// Opened at first use.
    catalogue: Arc<OnceLock<Catalogue>>,
    profiles: Arc<OnceLock<Arc<SqliteProfiles>>>,
}

impl DataFolder {
    /// Opens the folder; creates it and its keys if they do not exist.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        connection::make_folder(path)?;
        let keys = Keys::load_or_create(path)?;
        separation::separate(path)?;
        // Before the database, so that there is no moment in which it has records and no anchor.
        let mut anchor = Anchor::open(path, keys.signer.clone(), !path.join(JOURNAL).exists())?;
        let after = Box::new(move |db: &Connection| anchor.follow(db));
        let store = Store::open_followed(&path.join(JOURNAL), after)?;
        let (catalogue, profiles) = (Arc::default(), Arc::default());
        Ok(Self { keys, store, path: path.to_path_buf(), catalogue, profiles })
    }

    /// Opens only the catalogue of a folder; creates folder and catalogue if they do not exist.
    pub fn open_catalogue(path: &Path) -> Result<Catalogue, StoreError> {
        let file = path.join(CATALOGUE);
        let address = file.to_str().ok_or(StoreError::Corrupt { what: "path of the data folder" })?;
        Catalogue::open(address)
    }

    /// Returns the catalogue, a separate database that is opened at first use.
    pub fn catalogue(&self) -> Result<Catalogue, StoreError> {
        if let Some(open) = self.catalogue.get() {
            return Ok(open.clone());
        }
        let opened = Self::open_catalogue(&self.path)?;
        Ok(self.catalogue.get_or_init(|| opened).clone())
    }

    /// Returns the toolset profiles of modern principals. The safety of this folder rereads those that another process
    /// changed.
    pub fn profiles(&self) -> Result<Arc<SqliteProfiles>, StoreError> {
        if let Some(open) = self.profiles.get() {
            return Ok(open.clone());
        }
        let opened = Arc::new(SqliteProfiles::open(self.store.clone())?);
        Ok(self.profiles.get_or_init(|| opened).clone())
    }

    /// Default path of the data folder: `$TOOLCRIB_DATA`, else `$XDG_DATA_HOME/toolcrib`, else
    /// `~/.local/share/toolcrib`.
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

    /// Opens the gate, the emergency stop and the audit over this folder.
    pub async fn safety(&self, policy: Policy) -> Result<Arc<Safety>, Unkept> {
        let safety = SqliteSafety::new(self.store.clone(), self.keys.signer.clone(), Some(&self.path))
            .map_err(|error| Unkept(Arc::new(error)))?
            .with_profiles(self.profiles.clone());
        let (secrets, clock) = (self.keys.secrets.clone(), Arc::new(SystemClock));
        let safety = Safety::open(Arc::new(safety), policy, secrets, clock).await?;
        safety.set_voucher(self.keys.voucher.clone());
        Ok(safety)
    }
}

/// A data folder opened for reading only. Nothing in it is created or changed, so it may be on a read-only file
/// system.
#[derive(Debug, Clone)]
pub struct ReadFolder {
    path: PathBuf,
    store: Store,
}

impl ReadFolder {
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { store: Store::open_read_only(&path.join(JOURNAL))?, path: path.to_path_buf() })
    }

    /// Returns `true` if the folder has a safety journal.
    #[must_use]
    pub fn exists(path: &Path) -> bool {
        path.join(JOURNAL).exists()
    }

    #[must_use]
    pub fn audit(&self) -> AuditLog {
        AuditLog::new(self.store.clone(), &self.path)
    }

    /// Returns the public half of the key that signs the audit, from the folder's keys.
    pub fn key(&self) -> Result<PublicKey, StoreError> {
        Ok(Keys::load(&self.path)?.signer.public())
    }

    /// Returns the public key that the file `audit.pub` names.
    pub fn published(&self) -> Result<Option<PublicKey>, StoreError> {
        Keys::published_in(&self.path)
    }
}
