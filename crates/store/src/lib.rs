//! What must outlive the process, in SQLite; the catalogue in PostgreSQL as well; no policy.
//!
//! Guarantees: [`Store::write`] is one transaction that is on disk before its future is done; writes of one process
//! happen one after the other, and those that wait together are made durable together. Readers never wait for the
//! writer. A database that a newer program has changed is refused, not guessed at.
//!
//! A module that keeps something adds its migrations to [`migration::ALL`] and its queries in a file of its own, on
//! top of `write` and `read`. Another database can stand behind the same traits of the engine.

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
