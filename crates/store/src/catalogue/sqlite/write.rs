//! Inserts servers and changes their status.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::catalogue::latest::{Candidate, newest};
use crate::catalogue::row::{NewServer, NewTool, Put, StatusChange};
use crate::catalogue::shelves::Replaces;
use crate::error::StoreError;

/// Inserts a version of a server; `now` becomes its time of publication.
pub(super) fn put(db: &Connection, server: &NewServer, now: &str) -> Result<Put, StoreError> {
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
        // The unary plus keeps SQLite from using the index of latest versions, which it would scan from end to end.
        .prepare_cached("SELECT id, version FROM catalogue_servers WHERE name = ?1 AND +is_latest = 1")?
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

/// Deletes a version with its tools and their index entries; returns `false` if it was not stored.
pub(super) fn remove(
    db: &Connection,
    name: &str,
    version: &str,
    replaces: Replaces,
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

/// Changes the status of one version, or of every version of a name; returns how many changed.
pub(super) fn set_status(
    db: &Connection,
    name: &str,
    version: Option<&str>,
    change: StatusChange<'_>,
    replaces: Replaces,
) -> Result<usize, StoreError> {
    let changed = db.execute(
        "UPDATE catalogue_servers SET status = ?3, status_message = ?4, status_changed_at = ?5, updated_at = ?5
            WHERE name = ?1 AND (?2 IS NULL OR version = ?2) AND (status <> ?3 OR status_message IS NOT ?4)",
        params![name, version, change.status.name(), change.message, change.now],
    )?;
    elect(db, name, replaces)?;
    Ok(changed)
}

/// Makes the newest version that is not deleted the latest, or the newest deleted one if all are.
fn elect(db: &Connection, name: &str, replaces: Replaces) -> Result<(), StoreError> {
    let mut statement = db.prepare(
        "SELECT id, version, status = 'deleted' FROM catalogue_servers WHERE name = ?1 ORDER BY id",
    )?;
    let rows: Vec<Candidate> = statement
        .query_map([name], |row| {
            Ok(Candidate { id: row.get(0)?, version: row.get(1)?, deleted: row.get(2)? })
        })?
        .collect::<Result<_, _>>()?;
    db.execute(
        "UPDATE catalogue_servers SET is_latest = (id = ?2) WHERE name = ?1",
        params![name, newest(&rows, replaces)],
    )?;
    Ok(())
}

/// Size of SQLite's page cache in KiB, during an import and otherwise.
const IMPORT_CACHE_KIB: u32 = 48 * 1024;
const USUAL_CACHE_KIB: u32 = 2_000;

/// Enlarges the page cache: an index larger than the usual cache would be written out and read back all the time.
pub(super) fn begin_many(db: &Connection) -> Result<(), StoreError> {
    Ok(db.execute_batch(&format!("PRAGMA cache_size = -{IMPORT_CACHE_KIB}"))?)
}

pub(super) fn end_many(db: &Connection) -> Result<(), StoreError> {
    Ok(db.execute_batch(&format!("PRAGMA cache_size = -{USUAL_CACHE_KIB}"))?)
}
