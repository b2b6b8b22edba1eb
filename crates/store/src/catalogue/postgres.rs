//! The catalogue in PostgreSQL, with full-text search by `tsvector`.
//!
//! Finds the same tools as SQLite: words are split and folded here before the database sees them, and both databases
//! use the Porter stemmer. Ranking uses each database's own function with the same weights.

mod list;
mod search;
mod write;

use std::borrow::Cow;
use std::collections::HashMap;

use ::postgres::types::ToSql;
use ::postgres::{Row, Statement, Transaction};

use super::query::{ListQuery, ToolQuery};
use super::row::{NewServer, Put, ServerRow, Status, StatusChange, ToolHit, ToolRow};
use super::shelves::{Replaces, Shelves};
use crate::error::StoreError;
use crate::migration::{Migration, Module};

/// The catalogue's tables.
pub(crate) const MODULE: Module = Module {
    name: "catalogue",
    steps: &[Migration { name: "tables", sql: include_str!("postgres/schema.sql") }],
};

/// Access to the catalogue inside an open PostgreSQL transaction.
pub(crate) struct PostgresShelves<'t> {
    transaction: Transaction<'t>,
    statements: &'t mut HashMap<&'static str, Statement>,
}

impl<'t> PostgresShelves<'t> {
    pub(crate) fn new(
        transaction: Transaction<'t>,
        statements: &'t mut HashMap<&'static str, Statement>,
    ) -> Self {
        Self { transaction, statements }
    }

    pub(crate) fn commit(self) -> Result<(), StoreError> {
        Ok(self.transaction.commit()?)
    }

    fn statement(&mut self, sql: &'static str) -> Result<Statement, StoreError> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        let made = self.transaction.prepare(sql)?;
        self.statements.insert(sql, made.clone());
        Ok(made)
    }

    fn rows(&mut self, sql: &'static str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
        let statement = self.statement(sql)?;
        Ok(self.transaction.query(&statement, values)?)
    }

    fn row(&mut self, sql: &'static str, values: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>, StoreError> {
        let statement = self.statement(sql)?;
        Ok(self.transaction.query_opt(&statement, values)?)
    }

    fn change(&mut self, sql: &'static str, values: &[&(dyn ToSql + Sync)]) -> Result<u64, StoreError> {
        let statement = self.statement(sql)?;
        Ok(self.transaction.execute(&statement, values)?)
    }
}

impl Shelves for PostgresShelves<'_> {
    fn list(&mut self, query: &ListQuery) -> Result<Vec<ServerRow>, StoreError> {
        list::list(self, query)
    }

    fn versions(&mut self, name: &str, include_deleted: bool) -> Result<Vec<ServerRow>, StoreError> {
        list::versions(self, name, include_deleted)
    }

    fn server(
        &mut self,
        name: &str,
        version: &str,
        include_deleted: bool,
    ) -> Result<Option<ServerRow>, StoreError> {
        list::server(self, name, version, include_deleted)
    }

    fn tools(&mut self, name: &str, version: &str) -> Result<Vec<ToolRow>, StoreError> {
        list::tools(self, name, version)
    }

    fn tool(&mut self, name: &str, version: &str, tool: &str) -> Result<Option<ToolRow>, StoreError> {
        list::tool(self, name, version, tool)
    }

    fn search(&mut self, query: &ToolQuery) -> Result<Vec<ToolHit>, StoreError> {
        search::search(self, query)
    }

    fn put(&mut self, server: &NewServer, now: &str) -> Result<Put, StoreError> {
        write::put(self, server, now)
    }

    fn remove(&mut self, name: &str, version: &str, replaces: Replaces) -> Result<bool, StoreError> {
        write::remove(self, name, version, replaces)
    }

    fn set_status(
        &mut self,
        name: &str,
        version: Option<&str>,
        change: StatusChange<'_>,
        replaces: Replaces,
    ) -> Result<usize, StoreError> {
        write::set_status(self, name, version, change, replaces)
    }
}

/// Replaces U+0000, which PostgreSQL cannot store, by U+FFFD. It occurs only in hostile names and prose.
fn text(given: &str) -> Cow<'_, str> {
    if given.contains('\0') { Cow::Owned(given.replace('\0', "\u{FFFD}")) } else { Cow::Borrowed(given) }
}

fn server_row(row: &Row) -> Result<ServerRow, StoreError> {
    let status: String = row.try_get(4)?;
    let tool_count: i32 = row.try_get(10)?;
    Ok(ServerRow {
        name: row.try_get(0)?,
        version: row.try_get(1)?,
        title: row.try_get(2)?,
        description: row.try_get(3)?,
        status: Status::from_name(&status).unwrap_or(Status::Deleted),
        status_message: row.try_get(5)?,
        status_changed_at: row.try_get(6)?,
        published_at: row.try_get(7)?,
        updated_at: row.try_get(8)?,
        is_latest: row.try_get(9)?,
        tool_count: u32::try_from(tool_count).unwrap_or(0),
        digest: row.try_get(11)?,
        document: row.try_get(12)?,
    })
}
