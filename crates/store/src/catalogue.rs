//! The catalogue: servers by name and version, their server.json, their tools, and an index of words.
//!
//! Guarantees: a name and version stand once and never change but in status; of each name exactly one version that is
//! not deleted is the latest; the words of a tool are found as long as its server stands. Texts are kept as given.

mod list;
mod search;
mod write;

pub use list::{Cursor, ListQuery, list, server, tool, tools, versions};
pub use search::{ToolHit, ToolQuery, search};
pub use write::{NewServer, NewTool, Put, put, remove, set_status};

use rusqlite::Row;

use crate::migration::{Migration, Module};

/// The catalogue's tables.
pub const MODULE: Module = Module {
    name: "catalogue",
    steps: &[Migration { name: "tables", sql: include_str!("catalogue/schema.sql") }],
};

/// Whether a version is to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Active,
    Deprecated,
    Deleted,
}

impl Status {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Deprecated => "deprecated",
            Self::Deleted => "deleted",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Active, Self::Deprecated, Self::Deleted].into_iter().find(|status| status.name() == name)
    }
}

/// One version of a server, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRow {
    pub name: String,
    pub version: String,
    pub title: Option<String>,
    pub description: String,
    pub status: Status,
    pub status_message: Option<String>,
    pub status_changed_at: String,
    pub published_at: String,
    pub updated_at: String,
    pub is_latest: bool,
    pub tool_count: u32,
    /// The digest of the document.
    pub digest: String,
    /// server.json; empty where it was not asked for.
    pub document: String,
}

/// One tool of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRow {
    pub name: String,
    /// The definition's text as given.
    pub definition: String,
    /// The digest of the definition; none where a number in it has no canonical form.
    pub digest: Option<String>,
}

/// The columns that [`server_row`] reads, in its order.
const SERVER_COLUMNS: &str = "s.name, s.version, s.title, s.description, s.status, s.status_message, \
     s.status_changed_at, s.published_at, s.updated_at, s.is_latest, s.tool_count, s.digest";

fn server_row(row: &Row<'_>) -> rusqlite::Result<ServerRow> {
    let status: String = row.get(4)?;
    Ok(ServerRow {
        name: row.get(0)?,
        version: row.get(1)?,
        title: row.get(2)?,
        description: row.get(3)?,
        status: Status::from_name(&status).unwrap_or(Status::Deleted),
        status_message: row.get(5)?,
        status_changed_at: row.get(6)?,
        published_at: row.get(7)?,
        updated_at: row.get(8)?,
        is_latest: row.get(9)?,
        tool_count: row.get(10)?,
        digest: row.get(11)?,
        document: row.get(12)?,
    })
}
