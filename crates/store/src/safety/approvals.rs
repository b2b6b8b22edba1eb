//! Calls that wait, or waited, for a person.

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use toolcrib_engine::safety::keep::{Decided, Queued};
use toolcrib_engine::safety::ticket::{Approval, ApprovalState, Binding};

use super::rows::{digest, number, positive};
use crate::error::StoreError;
use crate::limits::TOKENS_SPENT_KEPT_MS;

const STATES: [(ApprovalState, &str); 4] = [
    (ApprovalState::Pending, "pending"),
    (ApprovalState::Allowed, "allowed"),
    (ApprovalState::Denied, "denied"),
    (ApprovalState::Used, "used"),
];

pub(super) fn put(db: &Connection, approval: &Approval, pending_max: u32) -> Result<Queued, StoreError> {
    let binding = &approval.binding;
    let same: Option<String> = db
        .prepare_cached(
            "SELECT id FROM approvals WHERE state = 'pending' AND expires_ms > ?1 AND caller = ?2 AND session IS ?3
                AND tool = ?4 AND contract = ?5 AND arguments_digest = ?6 AND policy = ?7",
        )?
        .query_row(
            params![
                number(approval.created_ms),
                binding.caller,
                binding.session,
                binding.tool,
                binding.contract.to_string(),
                binding.arguments.to_string(),
                binding.policy.to_string()
            ],
            |row| row.get(0),
        )
        .optional()?;
    if let Some(id) = same {
        return Ok(Queued::Already(id));
    }
    let waiting: u32 = db
        .prepare_cached(
            "SELECT count(*) FROM approvals WHERE state = 'pending' AND expires_ms > ?1 AND caller = ?2",
        )?
        .query_row(params![number(approval.created_ms), approval.binding.caller], |row| row.get(0))?;
    if waiting >= pending_max {
        return Ok(Queued::Full);
    }
    db.prepare_cached(
        "INSERT INTO approvals (id, caller, session, client, tool, contract, arguments_digest, policy, arguments,
                                created_ms, expires_ms, state)
         VALUES (:id, :caller, :session, :client, :tool, :contract, :digest, :policy, :arguments, :created_ms,
                 :expires_ms, 'pending')",
    )?
    .execute(named_params! {
        ":id": approval.id,
        ":caller": approval.binding.caller,
        ":session": approval.binding.session,
        ":client": approval.client,
        ":tool": approval.binding.tool,
        ":contract": approval.binding.contract.to_string(),
        ":digest": approval.binding.arguments.to_string(),
        ":policy": approval.binding.policy.to_string(),
        ":arguments": approval.arguments,
        ":created_ms": number(approval.created_ms),
        ":expires_ms": number(approval.expires_ms),
    })?;
    let long_ago = number(approval.created_ms.saturating_sub(TOKENS_SPENT_KEPT_MS));
    db.prepare_cached("DELETE FROM approvals WHERE expires_ms < ?1")?.execute([long_ago])?;
    Ok(Queued::New)
}

fn read(row: &Row<'_>) -> Result<Approval, StoreError> {
    let text = |column: &str| row.get::<_, String>(column);
    let state = text("state")?;
    Ok(Approval {
        id: text("id")?,
        binding: Binding {
            caller: text("caller")?,
            session: row.get("session")?,
            tool: text("tool")?,
            contract: digest(&text("contract")?)?,
            arguments: digest(&text("arguments_digest")?)?,
            policy: digest(&text("policy")?)?,
        },
        client: row.get("client")?,
        arguments: text("arguments")?,
        created_ms: positive(row.get("created_ms")?),
        expires_ms: positive(row.get("expires_ms")?),
        state: STATES
            .iter()
            .find(|(_, name)| *name == state)
            .map(|(state, _)| *state)
            .ok_or(StoreError::Corrupt { what: "state of an approval" })?,
        decided_by: row.get("decided_by")?,
    })
}

pub(super) fn find(db: &Connection, id: &str) -> Result<Option<Approval>, StoreError> {
    let mut query = db.prepare_cached("SELECT * FROM approvals WHERE id = ?1")?;
    query.query_row([id], |row| Ok(read(row))).optional()?.transpose()
}

/// Marks an allowed approval used; false if it is not allowed any more.
pub(super) fn burn(db: &Connection, id: &str) -> Result<bool, StoreError> {
    let burnt = db
        .prepare_cached("UPDATE approvals SET state = 'used' WHERE id = ?1 AND state = 'allowed'")?
        .execute([id])?;
    Ok(burnt == 1)
}

pub(super) fn waiting(db: &Connection, now_ms: u64) -> Result<Vec<Approval>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT * FROM approvals WHERE state = 'pending' AND expires_ms > ?1 ORDER BY created_ms, id LIMIT 10000",
    )?;
    let mut rows = query.query([number(now_ms)])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

pub(super) fn decide(
    db: &Connection,
    id: &str,
    allow: bool,
    by: &str,
    now_ms: u64,
) -> Result<Decided, StoreError> {
    let state = if allow { "allowed" } else { "denied" };
    let changed = db
        .prepare_cached(
            "UPDATE approvals SET state = ?2, decided_by = ?3 WHERE id = ?1 AND state = 'pending' AND expires_ms > ?4",
        )?
        .execute(params![id, state, by, number(now_ms)])?;
    Ok(match find(db, id)? {
        None => Decided::Unknown,
        Some(approval) if changed == 1 => Decided::Done(Box::new(approval)),
        Some(approval) => Decided::Over(Box::new(approval)),
    })
}
