//! Stops, credentials, and the revision by which other processes notice a change of them.

use rusqlite::{Connection, params};
use toolcrib_engine::limits::STOPS_MAX;
use toolcrib_engine::safety::credential::Credential;
use toolcrib_engine::safety::keep::{Scope, Stop};
use toolcrib_engine::safety::ticket::Keyed;

use super::rows::{bytes, number, positive};
use crate::error::StoreError;

fn bump(db: &Connection) -> Result<(), StoreError> {
    next_revision(db).map(|_| ())
}

/// Increments the revision, so that other processes reread; returns the new number.
pub(super) fn next_revision(db: &Connection) -> Result<u64, StoreError> {
    db.prepare_cached("UPDATE revision SET number = number + 1")?.execute([])?;
    revision(db)
}

pub(super) fn revision(db: &Connection) -> Result<u64, StoreError> {
    let number = db.prepare_cached("SELECT number FROM revision")?.query_row([], |row| row.get(0))?;
    Ok(positive(number))
}

/// Puts a stop in force and returns the new revision. A scope that is already stopped keeps its start time and gets
/// the newest reason; a stop with an expiry never replaces one without.
pub(super) fn put_stop(db: &Connection, stop: &Stop) -> Result<u64, StoreError> {
    db.execute("DELETE FROM stops WHERE expires_ms <= ?1", [number(stop.since_ms)])?;
    db.execute(
        "INSERT INTO stops (scope, by, reason, since_ms, expires_ms) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (scope) DO UPDATE SET by = excluded.by, reason = excluded.reason, expires_ms = excluded.expires_ms
         WHERE stops.expires_ms IS NOT NULL OR excluded.expires_ms IS NULL",
        params![
            stop.scope.key(),
            stop.by,
            stop.reason,
            number(stop.since_ms),
            stop.expires_ms.map(number)
        ],
    )?;
    db.execute(
        "DELETE FROM stops WHERE expires_ms IS NOT NULL AND scope NOT IN (
            SELECT scope FROM stops WHERE expires_ms IS NOT NULL ORDER BY since_ms DESC, scope LIMIT ?1)",
        [number(STOPS_MAX as u64)],
    )?;
    bump(db)?;
    revision(db)
}

pub(super) fn lift_stop(db: &Connection, scope: &Scope) -> Result<bool, StoreError> {
    let lifted = db.execute("DELETE FROM stops WHERE scope = ?1", [scope.key()])?;
    bump(db)?;
    Ok(lifted == 1)
}

pub(super) fn stops(db: &Connection, now_ms: u64) -> Result<Vec<Stop>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT scope, by, reason, since_ms, expires_ms FROM stops WHERE expires_ms IS NULL OR expires_ms > ?1
         ORDER BY since_ms, scope",
    )?;
    let mut rows = query.query([number(now_ms)])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(Stop {
            scope: Scope::from_key(&row.get::<_, String>(0)?),
            by: row.get(1)?,
            reason: row.get(2)?,
            since_ms: positive(row.get(3)?),
            expires_ms: row.get::<_, Option<i64>>(4)?.map(positive),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> Connection {
        let mut db = Connection::open_in_memory().unwrap();
        crate::migration::migrate(&mut db, &[crate::safety::MODULE]).unwrap();
        db
    }

    fn put(db: &Connection, scope: &str, since_ms: u64, expires_ms: Option<u64>) {
        let scope = Scope::from_key(scope);
        put_stop(db, &Stop { scope, by: "b".into(), reason: "r".into(), since_ms, expires_ms }).unwrap();
    }

    /// R12.5: a scope that is stopped again shows the newest reason and the first start time.
    #[test]
    fn a_repeated_stop_has_the_newest_reason() {
        let db = database();
        let stop = |reason: &str, since_ms, expires_ms| {
            let (scope, by) = (Scope::Everybody, reason.to_uppercase());
            put_stop(&db, &Stop { scope, by, reason: reason.to_owned(), since_ms, expires_ms }).unwrap()
        };
        let first = stop("smoke", 1, None);
        assert_eq!(stop("fire", 2, None), first + 1, "every process is told again");
        stop("a loop", 3, Some(100));
        let kept = stops(&db, 4).unwrap();
        assert_eq!(kept.len(), 1);
        let Stop { by, reason, since_ms, expires_ms, .. } = &kept[0];
        assert_eq!((&**by, &**reason, *since_ms, *expires_ms), ("FIRE", "fire", 1, None));
    }

    fn kept(db: &Connection, now_ms: u64) -> Vec<(String, Option<u64>)> {
        let all = stops(db, now_ms).unwrap();
        all.into_iter().map(|stop| (stop.scope.key().to_owned(), stop.expires_ms)).collect()
    }

    /// R4.7: a stop with an expiry ends by itself, and an operator's stop without one replaces it.
    #[test]
    fn a_stop_with_an_end_ends_and_an_operators_takes_its_place() {
        let db = database();
        put(&db, "a", 0, Some(100));
        put(&db, "b", 0, Some(100));
        put(&db, "b", 1, None);
        put(&db, "b", 2, Some(50));
        assert_eq!(kept(&db, 99), [("a".to_owned(), Some(100)), ("b".to_owned(), None)]);
        assert_eq!(kept(&db, 100), [("b".to_owned(), None)]);
        put(&db, "a", 100, Some(200));
        assert_eq!(
            kept(&db, 100),
            [("b".to_owned(), None), ("a".to_owned(), Some(200))],
            "it is stopped anew"
        );
    }

    /// `STOPS_MAX`: the oldest stop with an expiry is evicted; a stop without one stays.
    #[test]
    fn no_more_than_stops_max_stops_with_an_end_are_kept() {
        let db = database();
        put(&db, "operator's", 0, None);
        for number in 0..=STOPS_MAX {
            put(&db, &number.to_string(), 1 + number as u64, Some(u64::MAX / 2));
        }
        let kept = kept(&db, 0);
        assert_eq!(kept.len(), STOPS_MAX + 1);
        assert_eq!((kept[0].0.as_str(), kept[1].0.as_str()), ("operator's", "1"));
    }
}
