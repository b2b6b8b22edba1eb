//! Summary of a data folder for an operator (R12.5: a stop is visible wherever a person looks).
//!
//! Guarantees: the database is not changed, migrated or repaired, and the cost does not grow with the audit. The end
//! of the audit is compared with its anchor; only `AuditLog::verify` walks all records.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use toolcrib_engine::safety::audit::{Broken, PublicKey, Purpose};
use toolcrib_engine::safety::keep::Stop;

use super::rows::positive;
use super::{audit_log, control};
use crate::anchor::{self, Anchored};
use crate::connection;
use crate::error::StoreError;

/// File name of the safety journal.
const JOURNAL: &str = "toolcrib.db";
/// File name of the audit's public key.
const PUBLIC_KEY: &str = "audit.pub";

/// State of a data folder at one moment.
#[derive(Debug, Clone)]
pub struct Look {
    /// Stops in force.
    pub stops: Vec<Stop>,
    /// Number of calls with an unknown outcome.
    pub unknown: u64,
    /// Reason why the end of the audit is not to be trusted.
    pub broken: Option<Broken>,
}

impl Look {
    /// Reads the state of a folder; `None` if it has no safety journal yet.
    pub fn at(folder: &Path, now_ms: u64) -> Result<Option<Self>, StoreError> {
        let path = folder.join(JOURNAL);
        if !path.exists() {
            return Ok(None);
        }
        let key = public_key(folder)?;
        // The anchor is read before the records, because the records are committed first and it must not be ahead of
        // them.
        let anchor = key.map(|key| anchor::read(folder, key)).transpose()?;
        let db = connection::open_reader(&path)?;
        let sql = "SELECT count(*) FROM intents WHERE outcome = 'unknown'";
        let unknown = db.query_row(sql, [], |row| row.get(0))?;
        let broken = match key.zip(anchor) {
            Some((key, anchor)) => end(&db, key, anchor)?,
            None => None,
        };
        Ok(Some(Self { stops: control::stops(&db, now_ms)?, unknown: positive(unknown), broken }))
    }
}

fn public_key(folder: &Path) -> Result<Option<PublicKey>, StoreError> {
    let path = folder.join(PUBLIC_KEY);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(PublicKey::parse(&text)),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(StoreError::File { path, cause: Arc::new(cause) }),
    }
}

/// Compares the end of the log with its anchor.
fn end(db: &Connection, key: PublicKey, anchor: Anchored) -> Result<Option<Broken>, StoreError> {
    let head = match audit_log::head(db) {
        Err(StoreError::Corrupt { .. }) => return Ok(Some(Broken::Head)),
        other => other?,
    };
    if head.as_ref().is_some_and(|head| !key.verifies(Purpose::Head, head)) {
        return Ok(Some(Broken::Head));
    }
    let last = head.map_or(0, |head| head.seq);
    Ok(match anchor {
        Anchored::Unsigned => Some(Broken::Anchor),
        Anchored::Missing if last > 0 => Some(Broken::NoAnchor),
        Anchored::Missing | Anchored::Start => None,
        Anchored::At(anchor) if audit_log::holds(db, key, &anchor)? => None,
        Anchored::At(anchor) if anchor.seq > last => Some(Broken::CutOff { last, signed: anchor.seq }),
        Anchored::At(anchor) => Some(Broken::OtherThanAnchor { seq: anchor.seq }),
    })
}
