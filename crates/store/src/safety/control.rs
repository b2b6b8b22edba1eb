//! Stops and credentials: what every process has to know of at once.

use rusqlite::{Connection, params};
use toolcrib_engine::safety::credential::Credential;
use toolcrib_engine::safety::keep::{Scope, Stop};
use toolcrib_engine::safety::ticket::Keyed;

use super::rows::{bytes, number, positive};
use crate::error::StoreError;

fn bump(db: &Connection) -> Result<(), StoreError> {
    db.execute("UPDATE revision SET number = number + 1", [])?;
    Ok(())
}

pub(super) fn revision(db: &Connection) -> Result<u64, StoreError> {
    let number = db.prepare_cached("SELECT number FROM revision")?.query_row([], |row| row.get(0))?;
    Ok(positive(number))
}

pub(super) fn put_stop(db: &Connection, stop: &Stop) -> Result<(), StoreError> {
    db.execute(
        "INSERT INTO stops (scope, by, reason, since_ms) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (scope) DO NOTHING",
        params![stop.scope.key(), stop.by, stop.reason, number(stop.since_ms)],
    )?;
    bump(db)
}

pub(super) fn lift_stop(db: &Connection, scope: &Scope) -> Result<bool, StoreError> {
    let lifted = db.execute("DELETE FROM stops WHERE scope = ?1", [scope.key()])?;
    bump(db)?;
    Ok(lifted == 1)
}

pub(super) fn stops(db: &Connection) -> Result<Vec<Stop>, StoreError> {
    let mut query =
        db.prepare_cached("SELECT scope, by, reason, since_ms FROM stops ORDER BY since_ms, scope")?;
    let mut rows = query.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(Stop {
            scope: Scope::from_key(&row.get::<_, String>(0)?),
            by: row.get(1)?,
            reason: row.get(2)?,
            since_ms: positive(row.get(3)?),
        });
    }
    Ok(all)
}

pub(super) fn put_credential(
    db: &Connection,
    credential: &Credential,
    hash: Keyed,
) -> Result<bool, StoreError> {
    let put = db.execute(
        "INSERT INTO credentials (name, hash, operator, honours, created_ms) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (name) DO NOTHING",
        params![
            credential.name,
            hash.0,
            credential.operator,
            credential.honours,
            number(credential.created_ms)
        ],
    )?;
    bump(db)?;
    Ok(put == 1)
}

pub(super) fn revoke_credential(db: &Connection, name: &str) -> Result<bool, StoreError> {
    let revoked = db.execute("DELETE FROM credentials WHERE name = ?1", [name])?;
    bump(db)?;
    Ok(revoked == 1)
}

pub(super) fn credentials(db: &Connection) -> Result<Vec<(Credential, Keyed)>, StoreError> {
    let mut query = db.prepare_cached("SELECT * FROM credentials ORDER BY name")?;
    let mut rows = query.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let credential = Credential {
            name: row.get("name")?,
            operator: row.get("operator")?,
            honours: row.get("honours")?,
            created_ms: positive(row.get("created_ms")?),
        };
        all.push((credential, Keyed(bytes(row, "hash")?)));
    }
    Ok(all)
}
