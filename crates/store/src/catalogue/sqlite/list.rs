//! Queries for servers and tools by name, with pagination.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{SERVER_COLUMNS, server_row};
use crate::catalogue::query::ListQuery;
use crate::catalogue::row::{ServerRow, ToolRow};
use crate::error::StoreError;

/// Returns a page of versions, ordered by name and version.
pub(super) fn list(db: &Connection, query: &ListQuery) -> Result<Vec<ServerRow>, StoreError> {
    let document = if query.documents { "d.document" } else { "''" };
    let join = if query.documents { "JOIN catalogue_documents d ON d.server = s.id" } else { "" };
    let sql = format!(
        "SELECT {SERVER_COLUMNS}, {document} FROM catalogue_servers s {join}
         WHERE (s.name, s.version) > (?1, ?2)
           AND (?3 IS NULL OR instr(lower(s.name), ?3) > 0)
           AND (?4 IS NULL OR s.updated_at >= ?4)
           AND (?5 IS NULL OR (?5 = 'latest' AND s.is_latest = 1) OR s.version = ?5)
           AND (?6 OR s.status <> 'deleted')
         ORDER BY s.name, s.version LIMIT ?7"
    );
    let (name, version) = query.after.as_ref().map_or(("", ""), |at| (&*at.name, &*at.version));
    let search = query.search.as_ref().map(|text| text.to_lowercase());
    let rows = db
        .prepare_cached(&sql)?
        .query_map(
            params![
                name,
                version,
                search,
                query.updated_since,
                query.version,
                query.include_deleted,
                query.limit
            ],
            server_row,
        )?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}

/// Returns every version of `name`, newest first.
pub(super) fn versions(
    db: &Connection,
    name: &str,
    include_deleted: bool,
) -> Result<Vec<ServerRow>, StoreError> {
    let sql = format!(
        "SELECT {SERVER_COLUMNS}, d.document FROM catalogue_servers s JOIN catalogue_documents d ON d.server = s.id
         WHERE s.name = ?1 AND (?2 OR s.status <> 'deleted') ORDER BY s.published_at DESC, s.id DESC"
    );
    let rows = db
        .prepare_cached(&sql)?
        .query_map(params![name, include_deleted], server_row)?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}

/// Returns one version of `name`; `latest` stands for the latest one.
pub(super) fn server(
    db: &Connection,
    name: &str,
    version: &str,
    include_deleted: bool,
) -> Result<Option<ServerRow>, StoreError> {
    let sql = format!(
        "SELECT {SERVER_COLUMNS}, d.document FROM catalogue_servers s JOIN catalogue_documents d ON d.server = s.id
         WHERE s.name = ?1 AND (s.version = ?2 OR (?2 = 'latest' AND s.is_latest = 1)) AND (?3 OR s.status <> 'deleted')"
    );
    Ok(db.prepare_cached(&sql)?.query_row(params![name, version, include_deleted], server_row).optional()?)
}

/// Returns the tools of one version, in the order they were given.
pub(super) fn tools(db: &Connection, name: &str, version: &str) -> Result<Vec<ToolRow>, StoreError> {
    let sql = "SELECT t.name, t.definition, t.digest FROM catalogue_tools t JOIN catalogue_servers s ON s.id = t.server
         WHERE s.name = ?1 AND (s.version = ?2 OR (?2 = 'latest' AND s.is_latest = 1)) ORDER BY t.place";
    let rows = db
        .prepare_cached(sql)?
        .query_map([name, version], |row| {
            Ok(ToolRow { name: row.get(0)?, definition: row.get(1)?, digest: row.get(2)? })
        })?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}

/// Returns one tool of one version that is not deleted.
pub(super) fn tool(
    db: &Connection,
    name: &str,
    version: &str,
    tool: &str,
) -> Result<Option<ToolRow>, StoreError> {
    let sql = "SELECT t.name, t.definition, t.digest FROM catalogue_tools t JOIN catalogue_servers s ON s.id = t.server
         WHERE s.name = ?1 AND (s.version = ?2 OR (?2 = 'latest' AND s.is_latest = 1)) AND t.name = ?3
           AND s.status <> 'deleted'";
    Ok(db
        .prepare_cached(sql)?
        .query_row([name, version, tool], |row| {
            Ok(ToolRow { name: row.get(0)?, definition: row.get(1)?, digest: row.get(2)? })
        })
        .optional()?)
}
