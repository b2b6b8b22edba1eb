//! Intents: calls that were about to run, and how they ended.

use rusqlite::{Connection, Row, named_params, params};
use toolcrib_engine::ending::Ending;
use toolcrib_engine::safety::audit::{Event, Kind, Signer};
use toolcrib_engine::safety::keep::Intent;
use toolcrib_engine::safety::ticket::Binding;

use super::audit_log;
use super::process::ProcessLock;
use super::rows::{digest, number, positive};
use crate::error::StoreError;
use crate::limits::INTENTS_KEPT_MS;

/// Outcome column of a call that has not ended.
const OPEN: &str = "open";

pub(super) fn put(db: &Connection, process: &str, intent: &Intent) -> Result<(), StoreError> {
    let binding = &intent.binding;
    db.prepare_cached(
        "INSERT INTO intents (id, process, caller, session, tool, contract, arguments, policy, started_ms, outcome)
         VALUES (:id, :process, :caller, :session, :tool, :contract, :arguments, :policy, :started_ms, :outcome)",
    )?
    .execute(named_params! {
        ":id": intent.id,
        ":process": process,
        ":caller": binding.caller,
        ":session": binding.session,
        ":tool": binding.tool,
        ":contract": binding.contract.to_string(),
        ":arguments": binding.arguments.to_string(),
        ":policy": binding.policy.to_string(),
        ":started_ms": number(intent.started_ms),
        ":outcome": intent.ending.map_or(OPEN, Ending::word),
    })?;
    Ok(())
}

/// Writes how a call ended; returns `false` if there is no open intent of this id.
pub(super) fn finish(db: &Connection, id: &str, ending: Ending) -> Result<bool, StoreError> {
    let mut update =
        db.prepare_cached("UPDATE intents SET outcome = ?2 WHERE id = ?1 AND outcome = 'open'")?;
    Ok(update.execute(params![id, ending.word()])? > 0)
}

fn read(row: &Row<'_>) -> Result<Intent, StoreError> {
    let text = |column: &str| row.get::<_, String>(column);
    let outcome = text("outcome")?;
    Ok(Intent {
        id: text("id")?,
        binding: Binding {
            caller: text("caller")?,
            session: row.get("session")?,
            tool: text("tool")?,
            contract: digest(&text("contract")?)?,
            arguments: digest(&text("arguments")?)?,
            policy: digest(&text("policy")?)?,
        },
        started_ms: positive(row.get("started_ms")?),
        ending: match &*outcome {
            OPEN => None,
            word => Some(Ending::named(word).ok_or(StoreError::Corrupt { what: "outcome" })?),
        },
    })
}

/// Marks open intents of dead processes as unknown, each with an audit record. Returns them.
pub(super) fn recover(
    db: &Connection,
    signer: &Signer,
    own: &ProcessLock,
    now_ms: u64,
) -> Result<Vec<Intent>, StoreError> {
    let mut found = Vec::new();
    {
        let mut query = db.prepare("SELECT * FROM intents WHERE outcome = 'open' ORDER BY started_ms, id")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let process: String = row.get("process")?;
            if !own.lives(&process) {
                found.push(Intent { ending: Some(Ending::Unknown), ..read(row)? });
            }
        }
    }
    // Their endings stand in the audit.
    let long_ago = number(now_ms.saturating_sub(INTENTS_KEPT_MS));
    db.execute(
        "DELETE FROM intents WHERE outcome IN ('done', 'failed', 'asked', 'refused') AND started_ms < ?1",
        [long_ago],
    )?;
    let mut events = Vec::with_capacity(found.len());
    for intent in &found {
        finish(db, &intent.id, Ending::Unknown)?;
        events.push(Event {
            caller: Some(intent.binding.caller.clone()),
            session: intent.binding.session.clone(),
            tool: Some(intent.binding.tool.clone()),
            contract: Some(intent.binding.contract.to_string()),
            arguments: Some(intent.binding.arguments.to_string()),
            intent: Some(intent.id.clone()),
            outcome: Some(Ending::Unknown.word()),
            note: Some("found open at start".to_owned()),
            ..Event::new(now_ms, Kind::Outcome)
        });
    }
    audit_log::append(db, signer, &events)?;
    Ok(found)
}

/// Returns the calls with an unknown outcome and those that have not ended, latest first.
pub(super) fn unended(db: &Connection) -> Result<Vec<Intent>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT * FROM intents WHERE outcome IN ('unknown', 'open') ORDER BY started_ms DESC, id",
    )?;
    let mut rows = query.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

pub(super) fn unknown(db: &Connection, limit: u32) -> Result<Vec<Intent>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT * FROM intents WHERE outcome = 'unknown' ORDER BY started_ms DESC, id LIMIT ?1",
    )?;
    let mut rows = query.query([limit])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}
