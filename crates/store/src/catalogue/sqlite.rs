//! The catalogue in SQLite, with full-text search by FTS5.

mod list;
mod search;
mod write;

use rusqlite::{Connection, Row};

use super::query::{ListQuery, ToolQuery};
use super::row::{NewServer, Put, ServerRow, Status, StatusChange, ToolHit, ToolRow};
use super::shelves::{Replaces, Shelves};
use crate::error::StoreError;
use crate::migration::{Migration, Module};

/// The catalogue's tables.
pub const MODULE: Module = Module {
    name: "catalogue",
    steps: &[Migration { name: "tables", sql: include_str!("sqlite/schema.sql") }],
};

/// Access to the catalogue inside an open SQLite transaction.
#[derive(Debug)]
pub(crate) struct SqliteShelves<'c>(pub(crate) &'c Connection);

impl Shelves for SqliteShelves<'_> {
    fn list(&mut self, query: &ListQuery) -> Result<Vec<ServerRow>, StoreError> {
        list::list(self.0, query)
    }

    fn versions(&mut self, name: &str, include_deleted: bool) -> Result<Vec<ServerRow>, StoreError> {
        list::versions(self.0, name, include_deleted)
    }

    fn server(
        &mut self,
        name: &str,
        version: &str,
        include_deleted: bool,
    ) -> Result<Option<ServerRow>, StoreError> {
        list::server(self.0, name, version, include_deleted)
    }

    fn tools(&mut self, name: &str, version: &str) -> Result<Vec<ToolRow>, StoreError> {
        list::tools(self.0, name, version)
    }

    fn tool(&mut self, name: &str, version: &str, tool: &str) -> Result<Option<ToolRow>, StoreError> {
        list::tool(self.0, name, version, tool)
    }

    fn search(&mut self, query: &ToolQuery) -> Result<Vec<ToolHit>, StoreError> {
        search::search(self.0, query)
    }

    fn put(&mut self, server: &NewServer, now: &str) -> Result<Put, StoreError> {
        write::put(self.0, server, now)
    }

    fn remove(&mut self, name: &str, version: &str, replaces: Replaces) -> Result<bool, StoreError> {
        write::remove(self.0, name, version, replaces)
    }

    fn set_status(
        &mut self,
        name: &str,
        version: Option<&str>,
        change: StatusChange<'_>,
        replaces: Replaces,
    ) -> Result<usize, StoreError> {
        write::set_status(self.0, name, version, change, replaces)
    }

    fn begin_many(&mut self) -> Result<(), StoreError> {
        write::begin_many(self.0)
    }

    fn end_many(&mut self) -> Result<(), StoreError> {
        write::end_many(self.0)
    }
}

/// Columns that [`server_row`] reads, in its order.
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
