//! The catalogue: servers by name and version, their server.json, their tools, and an index of words.
//!
//! Guarantees: a name and version stand once and never change but in status; of each name exactly one version that is
//! not deleted is the latest; the words of a tool are found as long as its server stands. Texts are kept as given.
//!
//! [`Shelves`] is everything that can be asked or changed inside one transaction; [`Catalogue`] opens transactions, in
//! SQLite (a file of one machine) or in PostgreSQL (many machines, one database). One suite of tests runs over both.

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
