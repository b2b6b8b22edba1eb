//! Retention of the audit: the oldest segments are removed from the database, and the rest still verifies.
//!
//! A segment ends at a signed checkpoint. Guarantees: only whole segments are removed, in the transaction that signs
//! the link before the first remaining record and appends a record of the pruning; with an archive folder, only after
//! the archive is on disk and was read back. Broken segments are never removed. The state of an open or unknown call
//! and of a token is carried over by a new record, so it is verified as before. A process killed in between leaves the
//! records in place, and perhaps an archive file that the next attempt finds identical.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Deserialize;
use toolcrib_engine::ending::Ending;
use toolcrib_engine::limits::AUDIT_CHECKPOINT_RECORDS;
use toolcrib_engine::safety::audit::{Broken, Checkpoint, Event, Kind, Purpose, Signer, Walk};
use toolcrib_engine::safety::keep::Retention;

use super::archive::{self, Archive};
use super::audit_log::{append, base, checkpoint_at, head, set_base, steps};
use super::rows::{number, positive};
use super::states::{Carried, States};
use crate::error::StoreError;
use crate::limits::{AUDIT_PRUNE_PAGES, AUDIT_PRUNE_SEGMENTS, TOKENS_SPENT_KEPT_MS};
use crate::store::Store;

/// Estimated bytes of a record beside its text: its link and the row's own overhead.
const RECORD_OVERHEAD_BYTES: u64 = 48;

/// Range of records that a pruning removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    pub first: u64,
    pub last: u64,
    pub bytes: u64,
}

impl Cut {
    /// Returns the number of records.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.last + 1 - self.first
    }
}

/// One completed step of a pruning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruned {
    pub cut: Cut,
    pub archive: Option<Archive>,
}

/// Returns the next records to remove, at most `segments_max` segments.
pub(super) fn cut(
    db: &Connection,
    retention: &Retention,
    segments_max: u64,
) -> Result<Option<Cut>, StoreError> {
    let begin = base(db)?.map_or(0, |base| base.seq);
    let end = head(db)?.map_or(0, |head| head.seq);
    let excess = match retention.bytes_max {
        Some(bytes_max) => used_bytes(db)?.saturating_sub(bytes_max),
        None => 0,
    };
    let mut cut = Cut { first: begin + 1, last: begin, bytes: 0 };
    let mut size = db.prepare_cached(
        "SELECT coalesce(sum(length(CAST(body AS BLOB))), 0) FROM audit WHERE seq > ?1 AND seq <= ?2",
    )?;
    for _ in 0..segments_max {
        let last = (cut.last / AUDIT_CHECKPOINT_RECORDS + 1).saturating_mul(AUDIT_CHECKPOINT_RECORDS);
        if last > end {
            break;
        }
        let is_old = match retention.since_ms {
            Some(since_ms) => written_ms(db, last)?.is_some_and(|at_ms| at_ms < since_ms),
            None => false,
        };
        if !is_old && cut.bytes >= excess {
            break;
        }
        let text: i64 = size.query_row(params![number(cut.last), number(last)], |row| row.get(0))?;
        let records = last - cut.last;
        cut.bytes += positive(text) + records * RECORD_OVERHEAD_BYTES;
        cut.last = last;
    }
    Ok((cut.last >= cut.first).then_some(cut))
}

/// Returns the bytes of the database without its free pages.
fn used_bytes(db: &Connection) -> Result<u64, StoreError> {
    let pragma = |name: &str| db.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    let pages = pragma("page_count")? - pragma("freelist_count")?;
    Ok(positive(pages).saturating_mul(positive(pragma("page_size")?)))
}

/// Returns the time of a record in milliseconds, if it is there and readable.
fn written_ms(db: &Connection, seq: u64) -> Result<Option<u64>, StoreError> {
    #[derive(Deserialize)]
    struct Dated {
        at_ms: u64,
    }
    let body = body(db, seq)?;
    Ok(body.and_then(|body| serde_json::from_str::<Dated>(&body).ok()).map(|dated| dated.at_ms))
}

fn body(db: &Connection, seq: u64) -> Result<Option<String>, StoreError> {
    let mut query = db.prepare_cached("SELECT body FROM audit WHERE seq = ?1")?;
    Ok(query.query_row([number(seq)], |row| row.get(0)).optional()?)
}

/// A verified range of records, ready to be removed.
struct Plan {
    cut: Cut,
    base: Option<Checkpoint>,
    /// The last checkpoint of the range.
    end: Checkpoint,
    states: Vec<Carried>,
}

fn plan(db: &Connection, signer: &Signer, retention: &Retention) -> Result<Option<Plan>, StoreError> {
    let Some(cut) = cut(db, retention, AUDIT_PRUNE_SEGMENTS)? else { return Ok(None) };
    let base = base(db)?;
    let mut walk = Walk::new(signer.public());
    if let Some(base) = &base {
        walk = walk.after(base)?;
    }
    let mut states = States::read(db)?;
    steps(db, &mut walk, &mut states, cut.last)??;
    let end = checkpoint_at(db, cut.last)?.ok_or(Broken::NoCheckpoint { seq: cut.last })?;
    Ok(Some(Plan { cut, base, end, states: states.told() }))
}

/// Removes the oldest segments, as many as one step allows; returns `None` if none has to go.
pub(super) fn prune(
    store: &Store,
    signer: &Signer,
    retention: &Retention,
) -> Result<Option<Pruned>, StoreError> {
    let (by, wanted) = (signer.clone(), retention.clone());
    let planned = store.read(move |db| {
        // One snapshot, because another process may prune meanwhile.
        db.execute_batch("BEGIN")?;
        let planned = plan(db, &by, &wanted);
        db.execute_batch("COMMIT")?;
        planned
    });
    let Some(Plan { cut, base, end, states }) = planned.wait_blocking()? else { return Ok(None) };
    let archive = match &retention.archive {
        Some(folder) => Some(archive::write(store, signer, folder, base.as_ref(), &end)?),
        None => None,
    };
    let step = Step {
        event: told(&cut, archive.as_ref(), &retention.by),
        cut: cut.clone(),
        base,
        end,
        states,
        now_ms: now_ms(),
    };
    let signer = signer.clone();
    let done = store.write::<_, StoreError, _>(move |db| step.take_out(db, &signer)).wait_blocking()?;
    if !done {
        return Ok(None);
    }
    give_back(store)?;
    Ok(Some(Pruned { cut, archive }))
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Audit record of a pruning.
fn told(cut: &Cut, archive: Option<&Archive>, by: &str) -> Event {
    let fate = match archive {
        Some(Archive { path, digest }) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            format!("archived as {name}, {digest}")
        }
        None => "deleted".to_owned(),
    };
    let note = format!("{} records, {} to {}: {fate}", cut.records(), cut.first, cut.last);
    Event { by: Some(by.to_owned()), note: Some(note), ..Event::new(now_ms(), Kind::Pruned) }
}

/// Input of the transaction that removes records.
struct Step {
    cut: Cut,
    base: Option<Checkpoint>,
    end: Checkpoint,
    states: Vec<Carried>,
    event: Event,
    now_ms: u64,
}

impl Step {
    /// Removes the records; returns `false` if another process has pruned since the plan was made.
    fn take_out(&self, db: &Connection, signer: &Signer) -> Result<bool, StoreError> {
        let before = base(db)?;
        if before != self.base {
            return Ok(false);
        }
        let mut events = Vec::new();
        for state in &self.states {
            events.extend(self.carry(db, state)?);
        }
        let (carried, records) = (events.len() as u64, self.cut.records());
        if carried * 2 > records {
            return Err(StoreError::NothingGained { records, carried });
        }
        let is_complete = before.is_none() || was_complete(db)?;
        events.push(Event { complete: Some(is_complete), ..self.event.clone() });
        append(db, signer, &events)?;
        for table in ["audit", "audit_checkpoints"] {
            db.execute(&format!("DELETE FROM {table} WHERE seq <= ?1"), [number(self.cut.last)])?;
        }
        set_base(db, &signer.sign(Purpose::Base, self.end.seq, &self.end.link))?;
        let last = head(db)?.map_or(0, |head| head.seq);
        db.execute(
            "INSERT INTO audit_pruned (id, seq) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET seq = ?1",
            [number(last)],
        )?;
        Ok(true)
    }

    /// Returns the record that carries a state over. If the table row agrees with the audit, the row of a call that
    /// ended or of a token that expired long ago is deleted instead, and the result is `None`.
    fn carry(&self, db: &Connection, state: &Carried) -> Result<Option<Event>, StoreError> {
        let (table, column, id, told) = match state {
            Carried::Call { id, told } => ("intents", "outcome", id, told),
            Carried::Token { id, told } => ("tokens", "state", id, told),
        };
        let query = format!("SELECT {column} FROM {table} WHERE id = ?1");
        let kept: Option<String> = db.prepare_cached(&query)?.query_row([id], |row| row.get(0)).optional()?;
        let Some(kept) = kept else { return Ok(None) };
        let gone = match state {
            Carried::Call { .. } if kept == *told && !matches!(&**told, "open" | "unknown") => {
                db.prepare_cached("DELETE FROM intents WHERE id = ?1")?.execute([id])?
            }
            Carried::Token { .. } if kept == *told => {
                let long_ago = self.now_ms.saturating_sub(TOKENS_SPENT_KEPT_MS);
                db.prepare_cached("DELETE FROM tokens WHERE id = ?1 AND expires_ms < ?2")?
                    .execute(params![id, number(long_ago)])?
            }
            _ => 0,
        };
        if gone > 0 {
            return Ok(None);
        }
        let event = Event::new(self.now_ms, Kind::Carried);
        Ok(Some(match state {
            Carried::Call { .. } => {
                let word = Ending::named(told).map_or("open", Ending::word);
                Event { intent: Some(id.clone()), outcome: Some(word), ..event }
            }
            Carried::Token { .. } => {
                let words = ["live", "used", "revoked"];
                let word = words.into_iter().find(|word| word == told);
                Event { ticket: Some(id.clone()), decision: word, ..event }
            }
        }))
    }
}

/// Returns `true` if the log reported every state after the last pruning.
fn was_complete(db: &Connection) -> Result<bool, StoreError> {
    #[derive(Deserialize)]
    struct Told<'a> {
        kind: &'a str,
        #[serde(default)]
        complete: Option<bool>,
    }
    let seq: Option<i64> = db.query_row("SELECT seq FROM audit_pruned", [], |row| row.get(0)).optional()?;
    let Some(body) = seq.map(|seq| body(db, positive(seq))).transpose()?.flatten() else {
        return Ok(false);
    };
    let told = serde_json::from_str::<Told<'_>>(&body).ok();
    Ok(told.is_some_and(|told| told.kind == "pruned" && told.complete == Some(true)))
}

/// Returns free pages to the file system, `AUDIT_PRUNE_PAGES` per write. A database without incremental vacuum keeps
/// them for later records.
fn give_back(store: &Store) -> Result<(), StoreError> {
    let mut before = i64::MAX;
    loop {
        let left = store.write(free_pages);
        let left = left.wait_blocking()?;
        if left == 0 || left >= before {
            return Ok(());
        }
        before = left;
    }
}

/// Returns some free pages to the file system; returns how many are left.
fn free_pages(db: &Connection) -> Result<i64, StoreError> {
    let pragma = |name: &str| db.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    if pragma("auto_vacuum")? != 2 {
        return Ok(0);
    }
    {
        let mut vacuum = db.prepare(&format!("PRAGMA incremental_vacuum({AUDIT_PRUNE_PAGES})"))?;
        let mut rows = vacuum.query([])?;
        // The statement frees one page per row.
        while rows.next()?.is_some() {}
    }
    Ok(pragma("freelist_count")?)
}

/// Pruning in the background, on a thread of its own, one run at a time.
#[derive(Debug, Clone)]
pub(super) struct Pruning {
    store: Store,
    signer: Signer,
    is_busy: Arc<AtomicBool>,
}

impl Pruning {
    pub(super) fn new(store: Store, signer: Signer) -> Self {
        Self { store, signer, is_busy: Arc::default() }
    }

    /// Starts pruning, unless a run is under way.
    pub(super) fn begin(&self, retention: Retention) {
        if self.is_busy.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = self.clone();
        let thread = std::thread::Builder::new().name("toolcrib-retention".to_owned());
        let begun = thread.spawn(move || {
            this.run(&retention);
            this.is_busy.store(false, Ordering::Release);
        });
        if let Err(error) = begun {
            tracing::error!(target: "toolcrib", "the audit is not pruned: {error}");
            self.is_busy.store(false, Ordering::Release);
        }
    }

    fn run(&self, retention: &Retention) {
        loop {
            match prune(&self.store, &self.signer, retention) {
                Ok(None) => return,
                Ok(Some(Pruned { cut, archive })) => {
                    let file = archive.map(|archive| archive.path.display().to_string()).unwrap_or_default();
                    tracing::info!(target: "toolcrib", first = cut.first, last = cut.last, file, "audit pruned");
                }
                Err(error) => {
                    tracing::error!(target: "toolcrib", "the audit is not pruned: {error}");
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection;
    use crate::data::DataFolder;

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("toolcrib-retention-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    fn write(data: &DataFolder, records: u64) {
        let signer = data.keys.signer.clone();
        let written = data.store.write::<_, StoreError, _>(move |db| {
            let events: Vec<Event> = (0..records).map(|at_ms| Event::new(at_ms, Kind::Call)).collect();
            append(db, &signer, &events)
        });
        written.wait_blocking().unwrap();
    }

    /// R4.8, `AUDIT_PRUNE_SEGMENTS`: one step removes at most that many segments, and never one without its
    /// checkpoint.
    #[test]
    fn one_step_takes_out_at_most_audit_prune_segments() {
        let folder = folder("segments");
        let data = DataFolder::open(&folder).unwrap();
        write(&data, (AUDIT_PRUNE_SEGMENTS + 1) * AUDIT_CHECKPOINT_RECORDS + 500);
        let retention = Retention { bytes_max: Some(1), by: "test".to_owned(), ..Retention::default() };
        let step = || data.audit().prune(&data.keys.signer, &retention).unwrap().map(|pruned| pruned.cut);
        let first = step().unwrap();
        assert_eq!((first.first, first.last), (1, AUDIT_PRUNE_SEGMENTS * AUDIT_CHECKPOINT_RECORDS));
        assert_eq!(step().unwrap().records(), AUDIT_CHECKPOINT_RECORDS);
        assert_eq!(step(), None, "the last segment is not sealed");
        assert!(data.audit().verify(data.keys.signer.public()).unwrap().is_ok());
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// R4.8, `AUDIT_PRUNE_PAGES`: one write returns at most that many free pages.
    #[test]
    fn one_write_gives_back_audit_prune_pages() {
        let folder = folder("pages");
        let db = connection::open(&folder.join("t.db")).unwrap();
        db.execute_batch("CREATE TABLE t (x BLOB)").unwrap();
        for _ in 0..4 {
            db.execute("INSERT INTO t VALUES (zeroblob(?1))", [AUDIT_PRUNE_PAGES * 2_048]).unwrap();
        }
        db.execute_batch("DELETE FROM t").unwrap();
        let free = || db.query_row("PRAGMA freelist_count", [], |row| row.get::<_, i64>(0)).unwrap();
        let before = free();
        assert!(before > i64::from(AUDIT_PRUNE_PAGES), "{before}");
        assert_eq!(free_pages(&db).unwrap(), before - i64::from(AUDIT_PRUNE_PAGES));
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// R4.8: broken segments stay in place, so that they can be examined.
    #[test]
    fn broken_segments_are_not_taken_out() {
        let folder = folder("broken");
        let data = DataFolder::open(&folder).unwrap();
        write(&data, 2_500);
        let edited = data.store.write::<_, StoreError, _>(|db| {
            Ok(db.execute("UPDATE audit SET body = body || ' ' WHERE seq = 500", [])?)
        });
        edited.wait_blocking().unwrap();
        let retention = Retention { bytes_max: Some(1), by: "test".to_owned(), ..Retention::default() };
        let refused = data.audit().prune(&data.keys.signer, &retention);
        assert!(matches!(refused, Err(StoreError::Broken(Broken::Changed { seq: 500 }))), "{refused:?}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
