//! The catalogue as programs hold it: an address, and the two ways to use it.

use std::path::Path;

use super::shelves::Shelves;
use super::sqlite::SqliteShelves;
use crate::error::StoreError;
use crate::migration;
#[cfg(feature = "postgres")]
use crate::postgres::Postgres;
use crate::store::{Pending, Store};

/// An open catalogue. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Catalogue(Database);

#[derive(Debug, Clone)]
enum Database {
    Sqlite(Store),
    #[cfg(feature = "postgres")]
    Postgres(Postgres),
}

impl Catalogue {
    /// Opens what `address` names: a PostgreSQL database by `postgres://…`, else SQLite's file of that path, which is
    /// made if there is none. Either is brought up to date. The path of a data folder's journal names the catalogue of
    /// that folder.
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

    /// A catalogue that dies with the program.
    pub fn in_memory() -> Result<Self, StoreError> {
        Ok(Store::in_memory()?.into())
    }

    /// One transaction: all of `work` or, if it fails, nothing of it. Changes happen one after the other, those of
    /// other processes included.
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

    /// A look at what was last committed.
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

/// `true` for the address of a server, as opposed to the path of a file.
fn is_url(address: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| address.starts_with(scheme))
}

impl From<Store> for Catalogue {
    fn from(store: Store) -> Self {
        Self(Database::Sqlite(store))
    }
}
