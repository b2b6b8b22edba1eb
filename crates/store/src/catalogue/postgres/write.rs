//! Inserts servers and changes their status.

use super::search::folded;
use super::{PostgresShelves, text};
use crate::catalogue::latest::{Candidate, newest};
use crate::catalogue::row::{NewServer, Put, StatusChange};
use crate::catalogue::shelves::Replaces;
use crate::error::StoreError;

pub(super) fn put(db: &mut PostgresShelves<'_>, server: &NewServer, now: &str) -> Result<Put, StoreError> {
    let (name, version) = (text(&server.name), text(&server.version));
    let known =
        db.row("SELECT digest FROM catalogue_servers WHERE name = $1 AND version = $2", &[&name, &version])?;
    if let Some(row) = known {
        let digest: String = row.try_get(0)?;
        return Ok(if digest == server.digest { Put::Same } else { Put::Conflict });
    }
    let latest =
        db.row("SELECT id, version FROM catalogue_servers WHERE name = $1 AND is_latest", &[&name])?;
    let latest = latest.map(|row| Ok::<(i64, String), StoreError>((row.try_get(0)?, row.try_get(1)?)));
    let latest = latest.transpose()?;
    let is_latest = latest.as_ref().is_none_or(|(_, version)| (server.replaces)(&server.version, version));
    if let Some((id, _)) = latest.filter(|_| is_latest) {
        db.change("UPDATE catalogue_servers SET is_latest = FALSE WHERE id = $1", &[&id])?;
    }
    let made = db.row(
        "WITH made AS (
            INSERT INTO catalogue_servers (name, version, title, description, status, status_changed_at, published_at,
                updated_at, is_latest, tool_count, digest)
            VALUES ($1, $2, $3, $4, $5, $6, $6, $6, $7, $8, $9) RETURNING id
         ) INSERT INTO catalogue_documents (server, document) SELECT id, $10 FROM made RETURNING server",
        &[
            &name,
            &version,
            &server.title.as_deref().map(text),
            &text(&server.description),
            &server.status.name(),
            &now,
            &is_latest,
            &i32::try_from(server.tools.len()).unwrap_or(i32::MAX),
            &server.digest,
            &server.document,
        ],
    )?;
    let id: i64 = made.ok_or(StoreError::Corrupt { what: "a server that was not kept" })?.try_get(0)?;
    put_tools(db, id, server)?;
    Ok(Put::Added)
}

/// Inserts all tools of a server with one statement; one statement per tool would be one network round trip per tool.
fn put_tools(db: &mut PostgresShelves<'_>, id: i64, server: &NewServer) -> Result<(), StoreError> {
    if server.tools.is_empty() {
        return Ok(());
    }
    let tools = &server.tools;
    let of = folded(&server.name);
    let names: Vec<_> = tools.iter().map(|tool| text(&tool.name)).collect();
    let definitions: Vec<&str> = tools.iter().map(|tool| tool.definition.as_str()).collect();
    let digests: Vec<Option<&str>> = tools.iter().map(|tool| tool.digest.as_deref()).collect();
    let read_only: Vec<bool> = tools.iter().map(|tool| tool.read_only).collect();
    let destructive: Vec<bool> = tools.iter().map(|tool| tool.destructive).collect();
    let has_output: Vec<bool> = tools.iter().map(|tool| tool.has_output).collect();
    let own: Vec<String> = tools.iter().map(|tool| folded(&tool.name)).collect();
    let words: Vec<String> = tools.iter().map(|tool| folded(&tool.words)).collect();
    let prose: Vec<String> = tools.iter().map(|tool| format!("{} {of}", folded(&tool.description))).collect();
    let parameters: Vec<String> = tools.iter().map(|tool| folded(&tool.parameters)).collect();
    db.change(
        "INSERT INTO catalogue_tools
            (server, place, name, definition, digest, read_only, destructive, has_output, words)
         SELECT $1, t.place - 1, t.name, t.definition, t.digest, t.read_only, t.destructive, t.has_output,
            setweight(to_tsvector('catalogue_words', t.own), 'A')
                || setweight(to_tsvector('catalogue_words', t.words), 'B')
                || setweight(to_tsvector('catalogue_words', t.prose), 'C')
                || setweight(to_tsvector('catalogue_words', t.parameters), 'D')
         FROM unnest($2::text[], $3::text[], $4::text[], $5::boolean[], $6::boolean[], $7::boolean[], $8::text[],
            $9::text[], $10::text[], $11::text[]) WITH ORDINALITY
            AS t (name, definition, digest, read_only, destructive, has_output, own, words, prose, parameters, place)",
        &[
            &id,
            &names,
            &definitions,
            &digests,
            &read_only,
            &destructive,
            &has_output,
            &own,
            &words,
            &prose,
            &parameters,
        ],
    )?;
    Ok(())
}

pub(super) fn remove(
    db: &mut PostgresShelves<'_>,
    name: &str,
    version: &str,
    replaces: Replaces,
) -> Result<bool, StoreError> {
    let gone = db.change(
        "DELETE FROM catalogue_servers WHERE name = $1 AND version = $2",
        &[&text(name), &text(version)],
    )?;
    elect(db, name, replaces)?;
    Ok(gone > 0)
}

pub(super) fn set_status(
    db: &mut PostgresShelves<'_>,
    name: &str,
    version: Option<&str>,
    change: StatusChange<'_>,
    replaces: Replaces,
) -> Result<usize, StoreError> {
    let changed = db.change(
        "UPDATE catalogue_servers SET status = $3, status_message = $4, status_changed_at = $5, updated_at = $5
            WHERE name = $1 AND ($2::text IS NULL OR version = $2)
              AND (status <> $3 OR status_message IS DISTINCT FROM $4)",
        &[
            &text(name),
            &version.map(text),
            &change.status.name(),
            &change.message.map(text),
            &change.now,
        ],
    )?;
    elect(db, name, replaces)?;
    Ok(usize::try_from(changed).unwrap_or(usize::MAX))
}

fn elect(db: &mut PostgresShelves<'_>, name: &str, replaces: Replaces) -> Result<(), StoreError> {
    let rows = db.rows(
        "SELECT id, version, status = 'deleted' FROM catalogue_servers WHERE name = $1 ORDER BY id",
        &[&text(name)],
    )?;
    let candidates = rows.iter().map(|row| {
        Ok::<_, StoreError>(Candidate {
            id: row.try_get(0)?,
            version: row.try_get(1)?,
            deleted: row.try_get(2)?,
        })
    });
    let candidates = candidates.collect::<Result<Vec<_>, _>>()?;
    let Some(latest) = newest(&candidates, replaces) else { return Ok(()) };
    db.change("UPDATE catalogue_servers SET is_latest = (id = $2) WHERE name = $1", &[&text(name), &latest])?;
    Ok(())
}
