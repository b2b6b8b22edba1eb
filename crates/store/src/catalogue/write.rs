//! Putting servers in, and changing what may change.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::Status;
use crate::error::StoreError;

/// A version of a server to be kept.
#[derive(Debug, Clone)]
pub struct NewServer {
    pub name: String,
    pub version: String,
    pub title: Option<String>,
    pub description: String,
    pub status: Status,
    /// server.json as given.
    pub document: String,
    pub digest: String,
    pub tools: Vec<NewTool>,
    /// Whether it becomes the latest of its name, given the version that is the latest now.
    pub replaces: fn(new: &str, latest: &str) -> bool,
}

/// A tool to be kept.
#[derive(Debug, Clone)]
pub struct NewTool {
    pub name: String,
    pub definition: String,
    pub digest: Option<String>,
    pub read_only: bool,
    pub destructive: bool,
    pub has_output: bool,
    /// The words that a name is made of.
    pub words: String,
    pub description: String,
    /// Names and descriptions of its parameters.
    pub parameters: String,
}

/// What became of a server that was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It was not there.
    Added,
    /// The same document was there.
    Same,
    /// Another document of the same version is there; nothing was changed.
    Conflict,
}

/// Keeps a version of a server; `now` is the time of this.
///
/// # Errors
/// When the database fails.
pub fn put(db: &Connection, server: &NewServer, now: &str) -> Result<Put, StoreError> {
    let known: Option<String> = db
        .prepare_cached("SELECT digest FROM catalogue_servers WHERE name = ?1 AND version = ?2")?
        .query_row(params![server.name, server.version], |row| row.get(0))
        .optional()?;
    match known {
        Some(digest) if digest == server.digest => return Ok(Put::Same),
        Some(_) => return Ok(Put::Conflict),
        None => {}
    }
    let latest: Option<(i64, String)> = db
        .prepare_cached("SELECT id, version FROM catalogue_servers WHERE name = ?1 AND is_latest = 1")?
        .query_row([&server.name], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let is_latest = latest.as_ref().is_none_or(|(_, version)| (server.replaces)(&server.version, version));
    if let Some((id, _)) = latest.filter(|_| is_latest) {
        db.prepare_cached("UPDATE catalogue_servers SET is_latest = 0 WHERE id = ?1")?.execute([id])?;
    }
    db.prepare_cached(
        "INSERT INTO catalogue_servers (name, version, title, description, status, status_changed_at, published_at,
            updated_at, is_latest, tool_count, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        server.name,
        server.version,
        server.title,
        server.description,
        server.status.name(),
        now,
        is_latest,
        count(server.tools.len()),
        server.digest
    ])?;
    let id = db.last_insert_rowid();
    db.prepare_cached("INSERT INTO catalogue_documents (server, document) VALUES (?1, ?2)")?
        .execute(params![id, server.document])?;
    for (place, tool) in server.tools.iter().enumerate() {
        put_tool(db, id, place, tool, server)?;
    }
    Ok(Put::Added)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn put_tool(
    db: &Connection,
    server: i64,
    place: usize,
    tool: &NewTool,
    of: &NewServer,
) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO catalogue_tools (server, place, name, definition, digest, read_only, destructive, has_output)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        server,
        count(place),
        tool.name,
        tool.definition,
        tool.digest,
        tool.read_only,
        tool.destructive,
        tool.has_output
    ])?;
    let id = db.last_insert_rowid();
    db.prepare_cached(
        "INSERT INTO catalogue_words (rowid, name, words, description, parameters, server)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![id, tool.name, tool.words, tool.description, tool.parameters, of.name])?;
    Ok(())
}

/// Takes a version out, with its tools and their words; `false` if it was not there.
///
/// # Errors
/// When the database fails.
pub fn remove(
    db: &Connection,
    name: &str,
    version: &str,
    replaces: fn(&str, &str) -> bool,
) -> Result<bool, StoreError> {
    db.execute(
        "DELETE FROM catalogue_words WHERE rowid IN (SELECT t.id FROM catalogue_tools t
            JOIN catalogue_servers s ON s.id = t.server WHERE s.name = ?1 AND s.version = ?2)",
        [name, version],
    )?;
    let gone =
        db.execute("DELETE FROM catalogue_servers WHERE name = ?1 AND version = ?2", [name, version])?;
    elect(db, name, replaces)?;
    Ok(gone > 0)
}

/// Changes the status of one version, or of every version of a name; says how many changed.
///
/// # Errors
/// When the database fails.
pub fn set_status(
    db: &Connection,
    name: &str,
    version: Option<&str>,
    status: Status,
    message: Option<&str>,
    now: &str,
    replaces: fn(&str, &str) -> bool,
) -> Result<usize, StoreError> {
    let changed = db.execute(
        "UPDATE catalogue_servers SET status = ?3, status_message = ?4, status_changed_at = ?5, updated_at = ?5
            WHERE name = ?1 AND (?2 IS NULL OR version = ?2) AND (status <> ?3 OR status_message IS NOT ?4)",
        params![name, version, status.name(), message, now],
    )?;
    elect(db, name, replaces)?;
    Ok(changed)
}

/// Makes the newest version that is not deleted the latest; the newest deleted one where all are.
fn elect(db: &Connection, name: &str, replaces: fn(&str, &str) -> bool) -> Result<(), StoreError> {
    let mut statement = db.prepare(
        "SELECT id, version, status = 'deleted' FROM catalogue_servers WHERE name = ?1 ORDER BY id",
    )?;
    let rows: Vec<(i64, String, bool)> = statement
        .query_map([name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let mut latest: Option<&(i64, String, bool)> = None;
    for row in &rows {
        let better = latest.is_none_or(|(_, version, deleted)| match (*deleted, row.2) {
            (true, false) => true,
            (false, true) => false,
            _ => replaces(&row.1, version),
        });
        if better {
            latest = Some(row);
        }
    }
    db.execute(
        "UPDATE catalogue_servers SET is_latest = (id = ?2) WHERE name = ?1",
        params![name, latest.map(|(id, ..)| *id)],
    )?;
    Ok(())
}
