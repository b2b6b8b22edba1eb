//! Queries for servers and tools by name, with pagination.

use ::postgres::Row;

use super::{PostgresShelves, server_row, text};
use crate::catalogue::query::ListQuery;
use crate::catalogue::row::{ServerRow, ToolRow};
use crate::error::StoreError;

/// SELECT of servers: the columns that [`server_row`] reads, with or without the documents.
macro_rules! servers {
    ($document:literal, $join:literal, $rest:literal) => {
        concat!(
            "SELECT s.name, s.version, s.title, s.description, s.status, s.status_message, s.status_changed_at, ",
            "s.published_at, s.updated_at, s.is_latest, s.tool_count, s.digest, ",
            $document,
            " FROM catalogue_servers s ",
            $join,
            $rest
        )
    };
}

macro_rules! page {
    ($document:literal, $join:literal) => {
        servers!(
            $document,
            $join,
            " WHERE (s.name, s.version) > ($1, $2)
                AND ($3::text IS NULL OR strpos(lower(s.name COLLATE \"C\"), $3) > 0)
                AND ($4::text IS NULL OR s.updated_at >= $4)
                AND ($5::text IS NULL OR ($5 = 'latest' AND s.is_latest) OR s.version = $5)
                AND ($6 OR s.status <> 'deleted')
              ORDER BY s.name, s.version LIMIT $7"
        )
    };
}

pub(super) fn list(db: &mut PostgresShelves<'_>, query: &ListQuery) -> Result<Vec<ServerRow>, StoreError> {
    let sql = if query.documents {
        page!("d.document", "JOIN catalogue_documents d ON d.server = s.id")
    } else {
        page!("''", "")
    };
    let (name, version) =
        query.after.as_ref().map_or(("".into(), "".into()), |at| (text(&at.name), text(&at.version)));
    let search = query.search.as_ref().map(|part| text(&part.to_lowercase()).into_owned());
    let exact = query.version.as_deref().map(text);
    let rows = db.rows(
        sql,
        &[
            &name,
            &version,
            &search,
            &query.updated_since,
            &exact,
            &query.include_deleted,
            &i64::from(query.limit),
        ],
    )?;
    rows.iter().map(server_row).collect()
}

pub(super) fn versions(
    db: &mut PostgresShelves<'_>,
    name: &str,
    include_deleted: bool,
) -> Result<Vec<ServerRow>, StoreError> {
    let sql = servers!(
        "d.document",
        "JOIN catalogue_documents d ON d.server = s.id",
        " WHERE s.name = $1 AND ($2 OR s.status <> 'deleted') ORDER BY s.published_at DESC, s.id DESC"
    );
    db.rows(sql, &[&text(name), &include_deleted])?.iter().map(server_row).collect()
}

pub(super) fn server(
    db: &mut PostgresShelves<'_>,
    name: &str,
    version: &str,
    include_deleted: bool,
) -> Result<Option<ServerRow>, StoreError> {
    let sql = servers!(
        "d.document",
        "JOIN catalogue_documents d ON d.server = s.id",
        " WHERE s.name = $1 AND (s.version = $2 OR ($2 = 'latest' AND s.is_latest)) AND ($3 OR s.status <> 'deleted')
          LIMIT 1"
    );
    db.row(sql, &[&text(name), &text(version), &include_deleted])?.as_ref().map(server_row).transpose()
}

pub(super) fn tools(
    db: &mut PostgresShelves<'_>,
    name: &str,
    version: &str,
) -> Result<Vec<ToolRow>, StoreError> {
    let sql = "SELECT t.name, t.definition, t.digest FROM catalogue_tools t JOIN catalogue_servers s ON s.id = t.server
         WHERE s.name = $1 AND (s.version = $2 OR ($2 = 'latest' AND s.is_latest)) ORDER BY t.place";
    db.rows(sql, &[&text(name), &text(version)])?.iter().map(tool_row).collect()
}

pub(super) fn tool(
    db: &mut PostgresShelves<'_>,
    name: &str,
    version: &str,
    tool: &str,
) -> Result<Option<ToolRow>, StoreError> {
    let sql = "SELECT t.name, t.definition, t.digest FROM catalogue_tools t JOIN catalogue_servers s ON s.id = t.server
         WHERE s.name = $1 AND (s.version = $2 OR ($2 = 'latest' AND s.is_latest)) AND t.name = $3
           AND s.status <> 'deleted' LIMIT 1";
    db.row(sql, &[&text(name), &text(version), &text(tool)])?.as_ref().map(tool_row).transpose()
}

fn tool_row(row: &Row) -> Result<ToolRow, StoreError> {
    Ok(ToolRow { name: row.try_get(0)?, definition: row.try_get(1)?, digest: row.try_get(2)? })
}
