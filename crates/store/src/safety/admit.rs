//! Admits one call: its clearance is burnt, its intent and its audit record are written, in one transaction.

use rusqlite::{Connection, params};
use toolcrib_engine::safety::audit::{Event, Signer};
use toolcrib_engine::safety::keep::Admission;
use toolcrib_engine::safety::ticket::{Binding, Clearance, Spent};

use super::rows::number;
use super::{approvals, audit_log, intents, tokens};
use crate::error::StoreError;

type Burnt = Result<Option<String>, Spent>;

pub(super) fn admit(
    db: &Connection,
    signer: &Signer,
    process: &str,
    admission: Admission,
) -> Result<Burnt, StoreError> {
    let Admission { clearance, intent, event, now_ms } = admission;
    let ticket = match burn(db, clearance, &intent.binding, now_ms)? {
        Ok(ticket) => ticket,
        Err(spent) => return Ok(Err(spent)),
    };
    intents::put(db, process, &intent)?;
    audit_log::append(db, signer, &[Event { ticket: ticket.clone(), ..event }])?;
    Ok(Ok(ticket))
}

fn burn(db: &Connection, clearance: Clearance, call: &Binding, now_ms: u64) -> Result<Burnt, StoreError> {
    match clearance {
        Clearance::Free => Ok(Ok(None)),
        Clearance::Asked => Ok(Ok(Some("elicitation".to_owned()))),
        Clearance::Token { hash, person } => {
            let Some((token, state)) = tokens::find(db, hash)? else { return Ok(Err(Spent::Unknown)) };
            if let Err(spent) = token.admits(call, person, now_ms) {
                return Ok(Err(spent));
            }
            Ok(match state.as_str() {
                "live" if tokens::burn(db, &token.id)? => Ok(Some(token.id)),
                "revoked" => Err(Spent::Revoked),
                _ => Err(Spent::Used),
            })
        }
        Clearance::Approval { id } => {
            let Some(approval) = approvals::find(db, &id)? else { return Ok(Err(Spent::Unknown)) };
            if let Err(spent) = approval.admits(call, now_ms) {
                return Ok(Err(spent));
            }
            Ok(if approvals::burn(db, &id)? { Ok(Some(id)) } else { Err(Spent::Used) })
        }
        Clearance::Sealed { nonce, expires_ms } => burn_name(db, "answer", &nonce, expires_ms, now_ms),
        Clearance::Vouched { nonce, expires_ms, .. } => burn_name(db, "vouched", &nonce, expires_ms, now_ms),
    }
}

/// Burns a nonce, which passes once; `kind` is the prefix of the ticket's name in the audit.
fn burn_name(
    db: &Connection,
    kind: &str,
    nonce: &str,
    expires_ms: u64,
    now_ms: u64,
) -> Result<Burnt, StoreError> {
    let new = db
        .prepare_cached("INSERT INTO burnt (nonce, expires_ms) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute(params![nonce, number(expires_ms)])?;
    // An expired answer is refused before this point, so its nonce need not be kept for good.
    db.prepare_cached("DELETE FROM burnt WHERE expires_ms < ?1")?
        .execute([number(now_ms.saturating_sub(crate::limits::TOKENS_SPENT_KEPT_MS))])?;
    Ok(if new == 1 { Ok(Some(format!("{kind}-{nonce}"))) } else { Err(Spent::Used) })
}
