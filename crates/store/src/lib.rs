//! Persistent state of Toolcrib: SQLite for everything, PostgreSQL optionally for the catalogue. Contains no policy.
//!
//! Guarantees: [`Store::write`] is one transaction, which is on disk before its future resolves. Writes of one process
//! are serialised, and writes that wait together share a commit. Readers never wait for the writer. A database that a
//! newer program has migrated is refused.
//!
//! A module that stores data adds its migrations to [`migration::ALL`] and puts its queries into a file of its own, on
//! top of `write` and `read`. Another database can be put behind the engine's storage traits.

mod anchor;
pub mod catalogue;
mod connection;
pub mod data;
pub mod error;
pub mod keys;
pub mod limits;
pub mod migration;
#[cfg(feature = "postgres")]
mod postgres;
mod readers;
pub mod safety;
mod separation;
mod store;
mod writer;

pub use data::{DataFolder, ReadFolder};
pub use error::StoreError;
pub use keys::Keys;
pub use migration::{Migration, Module};
#[cfg(feature = "postgres")]
pub use postgres::PostgresFailure;
pub use rusqlite;
pub use safety::{Archive, AuditLog, Cut, Pruned, SqliteProfiles, SqliteSafety};
pub use store::{Pending, Store};
