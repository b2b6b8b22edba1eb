//! The catalogue: servers by name and version, their server.json, their tools, and a full-text index.
//!
//! Guarantees: a name and version is stored once and only its status changes. Exactly one version of each name is the
//! latest, and it is not deleted unless all are. The tools of a server are indexed as long as the server is stored.
//! Texts are kept as given.
//!
//! [`Shelves`] is every query and change inside one transaction; [`Catalogue`] opens transactions in SQLite (a file of
//! one machine) or PostgreSQL (one database for many machines). One test suite runs over both.

mod handle;
mod latest;
#[cfg(feature = "postgres")]
mod postgres;
mod query;
mod row;
mod shelves;
mod sqlite;
mod words;

pub use handle::Catalogue;
pub use query::{Cursor, ListQuery, ToolQuery};
pub use row::{NewServer, NewTool, Put, ServerRow, Status, StatusChange, ToolHit, ToolRow};
pub use shelves::{Replaces, Shelves};

#[cfg(feature = "postgres")]
pub(crate) use postgres::{MODULE as POSTGRES_MODULE, PostgresShelves};
pub use sqlite::MODULE;
