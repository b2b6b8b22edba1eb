//! The audit as database rows: appended to in the transaction of the change that they record, walked to verify them.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};
use toolcrib_engine::safety::audit::{
    Broken, Checkpoint, Event, Kept, Link, PublicKey, Purpose, Signer, Walk, genesis, is_checkpoint, link,
};
use toolcrib_engine::safety::keep::{Intent, Retention};

use super::intents;
use super::retention::{self, Cut, Pruned};
use super::rows::{bytes, number, positive};
use super::states::States;
use crate::anchor::{self, Anchored};
use crate::error::StoreError;
use crate::limits::AUDIT_PAGE_RECORDS;
use crate::store::Store;

/// Appends records and signs the new end.
pub(super) fn append(db: &Connection, signer: &Signer, events: &[Event]) -> Result<(), StoreError> {
    if events.is_empty() {
        return Ok(());
    }
    let (mut seq, mut last) = match head(db)? {
        Some(head) => (head.seq, head.link),
        None => match base(db)? {
            Some(base) => (base.seq, base.link),
            None => (0, genesis(&signer.public())),
        },
    };
    let mut insert = db.prepare_cached("INSERT INTO audit (seq, body, link) VALUES (?1, ?2, ?3)")?;
    for event in events {
        seq += 1;
        let body = event.body();
        last = link(&last, seq, &body);
        insert.execute(params![number(seq), body, last])?;
        if is_checkpoint(seq) {
            db.prepare_cached("INSERT INTO audit_checkpoints (seq, link, signature) VALUES (?1, ?2, ?3)")?
                .execute(params![
                    number(seq),
                    last,
                    signer.sign(Purpose::Checkpoint, seq, &last).signature
                ])?;
        }
    }
    db.prepare_cached(
        "INSERT INTO audit_head (id, seq, link, signature) VALUES (1, ?1, ?2, ?3)
         ON CONFLICT (id) DO UPDATE SET seq = ?1, link = ?2, signature = ?3",
    )?
    .execute(params![number(seq), last, signer.sign(Purpose::Head, seq, &last).signature])?;
    Ok(())
}

pub(crate) fn head(db: &Connection) -> Result<Option<Checkpoint>, StoreError> {
    checkpoint(db, "SELECT seq, link, signature FROM audit_head WHERE id = ?1", 1)
}

pub(super) fn base(db: &Connection) -> Result<Option<Checkpoint>, StoreError> {
    checkpoint(db, "SELECT seq, link, signature FROM audit_base WHERE id = ?1", 1)
}

/// Returns `true` if the log holds the anchored record, or starts with a signed base at or after it.
pub(crate) fn holds(db: &Connection, key: PublicKey, anchor: &Checkpoint) -> Result<bool, StoreError> {
    if let Some(base) = base(db)?
        && base.seq >= anchor.seq
    {
        return Ok(key.verifies(Purpose::Base, &base));
    }
    let mut find = db.prepare_cached("SELECT link FROM audit WHERE seq = ?1")?;
    let link = find.query_row([number(anchor.seq)], |row| row.get::<_, Vec<u8>>("link")).optional()?;
    Ok(link.is_some_and(|link| link == anchor.link))
}

/// Empties the log and starts it anew after `base`, with `event` as its first record.
pub(crate) fn restart(
    db: &Connection,
    signer: &Signer,
    base: &Checkpoint,
    event: Event,
) -> Result<(), StoreError> {
    db.execute_batch(
        "DELETE FROM audit; DELETE FROM audit_checkpoints; DELETE FROM audit_head; DELETE FROM audit_pruned",
    )?;
    set_base(db, base)?;
    append(db, signer, &[event])
}

/// Stores the signed link that precedes the first remaining record.
pub(super) fn set_base(db: &Connection, base: &Checkpoint) -> Result<(), StoreError> {
    db.execute(
        "INSERT INTO audit_base (id, seq, link, signature) VALUES (1, ?1, ?2, ?3)
         ON CONFLICT (id) DO UPDATE SET seq = ?1, link = ?2, signature = ?3",
        params![number(base.seq), base.link, base.signature],
    )?;
    Ok(())
}

/// Returns the signed checkpoint at record `seq`.
pub(super) fn checkpoint_at(db: &Connection, seq: u64) -> Result<Option<Checkpoint>, StoreError> {
    checkpoint(db, "SELECT seq, link, signature FROM audit_checkpoints WHERE seq = ?1", seq)
}

fn checkpoint(db: &Connection, query: &str, key: u64) -> Result<Option<Checkpoint>, StoreError> {
    let found = db.prepare_cached(query)?.query_row([number(key)], |row| {
        Ok((row.get::<_, i64>("seq")?, bytes::<32>(row, "link"), bytes::<64>(row, "signature")))
    });
    match found.optional()? {
        None => Ok(None),
        Some((seq, link, signature)) => {
            Ok(Some(Checkpoint { seq: positive(seq), link: link?, signature: signature? }))
        }
    }
}

/// Records in order, with the checkpoints among them.
#[derive(Debug, Clone, Default)]
pub struct Page {
    pub records: Vec<Kept>,
    pub checkpoints: Vec<Checkpoint>,
}

/// Read access to the audit of a data folder, and its pruning.
#[derive(Debug, Clone)]
pub struct AuditLog {
    store: Store,
    folder: PathBuf,
}

/// Result of verifying the whole log.
pub type Verified = Result<u64, Broken>;

impl AuditLog {
    #[must_use]
    pub fn new(store: Store, folder: &Path) -> Self {
        Self { store, folder: folder.to_path_buf() }
    }

    /// Returns the records after `seq`, at most one page.
    pub fn after(&self, seq: u64) -> Result<Page, StoreError> {
        self.store.read(move |db| page(db, seq)).wait_blocking()
    }

    /// Returns the number of the last record that the log or its anchor names, whichever is later.
    pub fn end(&self, key: PublicKey) -> Result<u64, StoreError> {
        let anchored = match anchor::read(&self.folder, key)? {
            Anchored::At(anchor) => anchor.seq,
            Anchored::Missing | Anchored::Start | Anchored::Unsigned => 0,
        };
        Ok(self.head()?.map_or(0, |head| head.seq).max(anchored))
    }

    /// Starts the log anew after record `seq`. `earlier` is the digest of the file with all earlier records; it is the
    /// link that precedes the first new one.
    pub fn restart(&self, signer: &Signer, seq: u64, earlier: &Link, event: Event) -> Result<(), StoreError> {
        let (base, signer) = (signer.sign(Purpose::Base, seq, earlier), signer.clone());
        self.store.write(move |db| restart(db, &signer, &base, event)).wait_blocking()
    }

    /// Returns the last `count` records.
    pub fn last(&self, count: u64) -> Result<Page, StoreError> {
        let end = self.head()?.map_or(0, |head| head.seq);
        let mut page = Page::default();
        let mut at = end.saturating_sub(count);
        loop {
            let next = self.after(at)?;
            let Some(last) = next.records.last() else { return Ok(page) };
            at = last.seq;
            page.records.extend(next.records);
        }
    }

    /// Returns the signed link before the first record, if earlier records were removed.
    pub fn base(&self) -> Result<Option<Checkpoint>, StoreError> {
        self.store.read(base).wait_blocking()
    }

    /// Returns the records that pruning would remove.
    pub fn cut(&self, retention: &Retention) -> Result<Option<Cut>, StoreError> {
        let retention = retention.clone();
        self.store.read(move |db| retention::cut(db, &retention, u64::MAX)).wait_blocking()
    }

    /// Removes the oldest segments, as many as one step allows; returns `None` if none has to go.
    pub fn prune(&self, signer: &Signer, retention: &Retention) -> Result<Option<Pruned>, StoreError> {
        retention::prune(&self.store, signer, retention)
    }

    /// Returns the calls with an unknown outcome and those that have not ended.
    pub fn unended(&self) -> Result<Vec<Intent>, StoreError> {
        self.store.read(intents::unended).wait_blocking()
    }

    /// Returns the signed end of the log.
    pub fn head(&self) -> Result<Option<Checkpoint>, StoreError> {
        self.store.read(head).wait_blocking()
    }

    /// Verifies the whole log and compares the states of calls and tokens in their tables with those in the records.
    /// Records that are appended meanwhile do not disturb it.
    pub fn verify(&self, key: PublicKey) -> Result<Verified, StoreError> {
        // The anchor is read before the records, because the records are committed first and it must not be ahead of
        // them.
        let anchor = anchor::read(&self.folder, key)?;
        let verify = move |db: &Connection| {
            // One snapshot, so that the signed end belongs to the records.
            db.execute_batch("BEGIN")?;
            let verified = walk(db, key, anchor);
            db.execute_batch("COMMIT")?;
            verified
        };
        self.store.read(verify).wait_blocking()
    }
}

fn walk(db: &Connection, key: PublicKey, anchor: Anchored) -> Result<Verified, StoreError> {
    let mut walk = Walk::new(key);
    match anchor {
        Anchored::At(anchor) => match walk.anchored(anchor) {
            Ok(anchored) => walk = anchored,
            Err(broken) => return Ok(Err(broken)),
        },
        Anchored::Unsigned => return Ok(Err(Broken::Anchor)),
        Anchored::Missing if head(db)?.is_some() => return Ok(Err(Broken::NoAnchor)),
        Anchored::Missing | Anchored::Start => {}
    }
    let base = base(db)?;
    if let Some(base) = &base {
        match walk.after(base) {
            Ok(after) => walk = after,
            Err(broken) => return Ok(Err(broken)),
        }
    }
    let mut states = States::read(db)?;
    if let Err(broken) = steps(db, &mut walk, &mut states, u64::MAX)? {
        return Ok(Err(broken));
    }
    let head = match head(db) {
        Err(StoreError::Corrupt { .. }) => return Ok(Err(Broken::Head)),
        other => other?,
    };
    Ok(walk.end(head.as_ref()).and_then(|count| states.check(base.is_some()).map(|()| count)))
}

/// Walks the records up to `last` and takes in the states that they report.
pub(super) fn steps(
    db: &Connection,
    walk: &mut Walk,
    states: &mut States,
    last: u64,
) -> Result<Result<(), Broken>, StoreError> {
    let mut query = db.prepare("SELECT seq, body, link FROM audit WHERE seq <= ?1 ORDER BY seq")?;
    let mut rows = query.query([number(last)])?;
    while let Some(row) = rows.next()? {
        let seq = positive(row.get("seq")?);
        // A link of another length was edited.
        let Ok(link) = bytes::<32>(row, "link") else { return Ok(Err(Broken::Changed { seq })) };
        let body: String = match row.get("body") {
            Ok(body) => body,
            Err(_) => return Ok(Err(Broken::Changed { seq })),
        };
        let checkpoint = if is_checkpoint(seq) {
            match checkpoint_at(db, seq) {
                Err(StoreError::Corrupt { .. }) => return Ok(Err(Broken::Checkpoint { seq })),
                other => other?,
            }
        } else {
            None
        };
        states.hear(&body);
        if let Err(broken) = walk.step(&Kept { seq, body, link }, checkpoint.as_ref()) {
            return Ok(Err(broken));
        }
    }
    Ok(Ok(()))
}

/// Returns the records after `after`, at most [`AUDIT_PAGE_RECORDS`].
pub(super) fn page(db: &Connection, after: u64) -> Result<Page, StoreError> {
    let mut page = Page::default();
    let mut query =
        db.prepare_cached("SELECT seq, body, link FROM audit WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
    let mut rows = query.query(params![number(after), AUDIT_PAGE_RECORDS])?;
    while let Some(row) = rows.next()? {
        let link: Link = bytes(row, "link")?;
        page.records.push(Kept { seq: positive(row.get("seq")?), body: row.get("body")?, link });
    }
    if let (Some(first), Some(last)) = (page.records.first(), page.records.last()) {
        let mut query = db.prepare_cached(
            "SELECT seq, link, signature FROM audit_checkpoints WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq",
        )?;
        let mut rows = query.query(params![number(first.seq), number(last.seq)])?;
        while let Some(row) = rows.next()? {
            page.checkpoints.push(Checkpoint {
                seq: positive(row.get("seq")?),
                link: bytes(row, "link")?,
                signature: bytes(row, "signature")?,
            });
        }
    }
    Ok(page)
}
