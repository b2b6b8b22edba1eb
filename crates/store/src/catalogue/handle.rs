//! Handle of the catalogue: opened by an address, used by `write` and `read`.

use std::path::Path;

use super::shelves::Shelves;
use super::sqlite::SqliteShelves;
use crate::error::StoreError;
use crate::migration;
#[cfg(feature = "postgres")]
use crate::postgres::Postgres;
use crate::store::{Pending, Store};

/// An open catalogue. Clones share it.
#[derive(Debug, Clone)]
pub struct Catalogue(Database);

#[derive(Debug, Clone)]
enum Database {
    Sqlite(Store),
    #[cfg(feature = "postgres")]
    Postgres(Postgres),
}

impl Catalogue {
    /// Opens the catalogue at `address`: a PostgreSQL database for `postgres://…`, else the SQLite file of that path,
    /// which is created if it does not exist. Missing migrations are applied. The path of a data folder's journal
    /// stands for the catalogue of that folder.
    pub fn open(address: &str) -> Result<Self, StoreError> {
        if !is_url(address) {
            let path = crate::separation::catalogue_file(Path::new(address))?;
            return Ok(Store::open_with(&path, migration::CATALOGUE)?.into());
        }
        #[cfg(feature = "postgres")]
        return Ok(Self(Database::Postgres(Postgres::open(address)?)));
        #[cfg(not(feature = "postgres"))]
        Err(StoreError::NoPostgres)
    }

    /// Opens a catalogue in memory; its content is lost when it is dropped.
    pub fn in_memory() -> Result<Self, StoreError> {
        Ok(Store::in_memory()?.into())
    }

    /// Runs `work` in one transaction: all of its changes are kept or, if it fails, none. Writes are serialised,
    /// including those of other processes.
    pub fn write<T, E, F>(&self, work: F) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut dyn Shelves) -> Result<T, E> + Send + 'static,
    {
        match &self.0 {
            Database::Sqlite(store) => store.write(move |db| work(&mut SqliteShelves(db))),
            #[cfg(feature = "postgres")]
            Database::Postgres(postgres) => postgres.write(work),
        }
    }

    /// Runs a query on the last committed state.
    pub fn read<T, E, F>(&self, work: F) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut dyn Shelves) -> Result<T, E> + Send + 'static,
    {
        match &self.0 {
            Database::Sqlite(store) => store.read(move |db| work(&mut SqliteShelves(db))),
            #[cfg(feature = "postgres")]
            Database::Postgres(postgres) => postgres.read(work),
        }
    }
}

/// Returns `true` for the URL of a database server, `false` for the path of a file.
fn is_url(address: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| address.starts_with(scheme))
}

impl From<Store> for Catalogue {
    fn from(store: Store) -> Self {
        Self(Database::Sqlite(store))
    }
}
