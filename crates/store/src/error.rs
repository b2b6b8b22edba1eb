//! Errors of the store.

use std::path::PathBuf;
use std::sync::Arc;

/// Reason why a value could not be stored or read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error("the database failed: {0}")]
    Sqlite(Arc<rusqlite::Error>),
    #[cfg(feature = "postgres")]
    #[error("PostgreSQL: {0}")]
    Postgres(crate::postgres::PostgresFailure),
    #[error("this program was built without PostgreSQL")]
    NoPostgres,
    #[error("nothing was kept, the commit failed: {0}")]
    NotCommitted(Arc<rusqlite::Error>),
    #[error("kept, but the end of the audit could not be written beside it: {0}")]
    Unanchored(Arc<StoreError>),
    #[error("the audit is broken: {0}")]
    Broken(#[from] toolcrib_engine::safety::audit::Broken),
    #[error("{records} records are left: {carried} of them would have to be written again to prune them")]
    NothingGained { records: u64, carried: u64 },
    #[error("the database was opened for reading only")]
    ReadOnly,
    #[error("the database has to be brought up to date by a program that may write it")]
    Outdated,
    #[error(
        "{} holds records that cannot be read without writing beside it: copy the folder to a place that can be written, \
         and read the copy",
        log.display()
    )]
    UnreadLog { log: PathBuf },
    #[error("cannot use {path}: {cause}")]
    File { path: PathBuf, cause: Arc<std::io::Error> },
    #[error("{module}/{name} has changed since it was applied to this database")]
    MigrationChanged { module: &'static str, name: &'static str },
    #[error("this database was written by a newer program (it has {module}/{name})")]
    Newer { module: String, name: String },
    #[error(
        "{} and {} both hold a catalogue, and not the same one: take the file that is not wanted away, or name one with --store",
        journal.display(),
        catalogue.display()
    )]
    TwoCatalogues { journal: PathBuf, catalogue: PathBuf },
    #[error("a stored value cannot be read: {what}")]
    Corrupt { what: &'static str },
    #[error("too much is waiting for the database")]
    Busy,
    #[error("a query panicked")]
    Panicked,
    #[error("the store is closed")]
    Closed,
}

impl From<rusqlite::Error> for StoreError {
    fn from(cause: rusqlite::Error) -> Self {
        Self::Sqlite(Arc::new(cause))
    }
}
