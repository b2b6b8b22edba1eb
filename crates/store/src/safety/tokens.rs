//! Confirmation tokens.

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use toolcrib_engine::safety::ticket::{Issuer, Keyed, Token};

use super::rows::{bytes, digest, number, positive};
use crate::error::StoreError;
use crate::limits::TOKENS_SPENT_KEPT_MS;

const ISSUER: [(Issuer, &str); 2] = [(Issuer::Caller, "caller"), (Issuer::Operator, "operator")];

pub(super) fn put(db: &Connection, token: &Token) -> Result<(), StoreError> {
    let issuer = ISSUER.iter().find(|(issuer, _)| *issuer == token.issuer).map_or("caller", |(_, name)| name);
    db.prepare_cached(
        "INSERT INTO tokens (id, hash, caller, session, tool, contract, arguments, policy, summary, issuer,
                             created_ms, expires_ms)
         VALUES (:id, :hash, :caller, :session, :tool, :contract, :arguments, :policy, :summary, :issuer,
                 :created_ms, :expires_ms)",
    )?
    .execute(named_params! {
        ":id": token.id,
        ":hash": token.hash.0,
        ":caller": token.caller,
        ":session": token.session,
        ":tool": token.tool,
        ":contract": token.contract.to_string(),
        ":arguments": token.arguments.map(|digest| digest.to_string()),
        ":policy": token.policy.to_string(),
        ":summary": token.summary,
        ":issuer": issuer,
        ":created_ms": number(token.created_ms),
        ":expires_ms": number(token.expires_ms),
    })?;
    // Spent and expired tokens are kept for `TOKENS_SPENT_KEPT_MS`, so that a late use is refused with its reason.
    let long_ago = number(token.created_ms.saturating_sub(TOKENS_SPENT_KEPT_MS));
    db.prepare_cached("DELETE FROM tokens WHERE expires_ms < ?1")?.execute([long_ago])?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Token, StoreError> {
    let text = |column: &str| row.get::<_, String>(column);
    let issuer = text("issuer")?;
    Ok(Token {
        id: text("id")?,
        hash: Keyed(bytes(row, "hash")?),
        caller: text("caller")?,
        session: row.get("session")?,
        tool: text("tool")?,
        contract: digest(&text("contract")?)?,
        arguments: row.get::<_, Option<String>>("arguments")?.as_deref().map(digest).transpose()?,
        policy: digest(&text("policy")?)?,
        summary: text("summary")?,
        issuer: ISSUER
            .iter()
            .find(|(_, name)| *name == issuer)
            .map(|(issuer, _)| *issuer)
            .ok_or(StoreError::Corrupt { what: "issuer" })?,
        created_ms: positive(row.get("created_ms")?),
        expires_ms: positive(row.get("expires_ms")?),
    })
}

/// Returns the token with this hash and its state: live, used or revoked.
pub(super) fn find(db: &Connection, hash: Keyed) -> Result<Option<(Token, String)>, StoreError> {
    let mut query = db.prepare_cached("SELECT * FROM tokens WHERE hash = ?1")?;
    let found = query.query_row([hash.0], |row| Ok((read(row), row.get::<_, String>("state")))).optional()?;
    match found {
        None => Ok(None),
        Some((token, state)) => Ok(Some((token?, state?))),
    }
}

/// Marks a live token used; returns `false` if it is not live any more.
pub(super) fn burn(db: &Connection, id: &str) -> Result<bool, StoreError> {
    let burnt = db
        .prepare_cached("UPDATE tokens SET state = 'used' WHERE id = ?1 AND state = 'live'")?
        .execute([id])?;
    Ok(burnt == 1)
}

pub(super) fn live(db: &Connection, now_ms: u64) -> Result<Vec<Token>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT * FROM tokens WHERE state = 'live' AND expires_ms > ?1 ORDER BY created_ms, id LIMIT 10000",
    )?;
    let mut rows = query.query(params![number(now_ms)])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

pub(super) fn revoke(db: &Connection, id: &str) -> Result<bool, StoreError> {
    let revoked = db
        .prepare_cached("UPDATE tokens SET state = 'revoked' WHERE id = ?1 AND state = 'live'")?
        .execute([id])?;
    Ok(revoked == 1)
}
