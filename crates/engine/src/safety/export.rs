//! Audit as a file: a title line with the public key, one line per record with its hash, signed checkpoints in
//! between, and the signed end. The end of an export is the log's `head`; the end of an archive is `sealed`.
//!
//! Guarantees: a line that differs from what was written, however little, is a broken log; no line may follow the
//! end.

use serde_json::{Value, json};

use super::audit::{Broken, Checkpoint, Kept, PublicKey, Walk, from_hex, to_hex};

/// Returns the first line: the public key, and the signed link before the first record if earlier ones are kept
/// elsewhere.
#[must_use]
pub fn title(key: PublicKey, base: Option<&Checkpoint>) -> String {
    let mut value = json!({"key": key.to_string()});
    if let (Some(base), Some(members)) = (base, value.as_object_mut()) {
        members.insert("after".to_owned(), written(base));
    }
    json!({ "audit": value }).to_string()
}

fn read_title(text: &str) -> Option<(PublicKey, Option<Checkpoint>)> {
    let value: Value = serde_json::from_str(text).ok()?;
    let value = value.get("audit")?;
    let key = PublicKey::parse(value.get("key")?.as_str()?)?;
    let base = match value.get("after") {
        None => None,
        Some(base) => Some(read_signed(base)?),
    };
    // Rendered again and compared: any difference is a change.
    (title(key, base.as_ref()) == text).then_some((key, base))
}

/// Returns a record's line; it contains the record's text exactly as it was hashed.
#[must_use]
pub fn line(record: &Kept) -> String {
    format!(r#"{{"seq":{},"hash":"{}","record":{}}}"#, record.seq, to_hex(&record.link), record.body)
}

/// Returns the line of a `checkpoint`, of the `head` or of the `sealed` end.
#[must_use]
pub fn signed(name: &str, checkpoint: &Checkpoint) -> String {
    json!({ name: written(checkpoint) }).to_string()
}

fn written(checkpoint: &Checkpoint) -> Value {
    json!({"seq": checkpoint.seq, "hash": to_hex(&checkpoint.link), "signature": to_hex(&checkpoint.signature)})
}

fn read_signed(value: &Value) -> Option<Checkpoint> {
    Some(Checkpoint {
        seq: value.get("seq")?.as_u64()?,
        link: from_hex(value.get("hash")?.as_str()?)?,
        signature: from_hex(value.get("signature")?.as_str()?)?,
    })
}

enum Line {
    Record(Kept),
    Checkpoint(Checkpoint),
    Head(Checkpoint),
    Sealed(Checkpoint),
}

fn read(text: &str) -> Option<Line> {
    if let Some(rest) = text.strip_prefix("{\"seq\":") {
        let (seq, rest) = rest.split_once(",\"hash\":\"")?;
        let (hash, body) = rest.split_once("\",\"record\":")?;
        let record =
            Kept { seq: seq.parse().ok()?, link: from_hex(hash)?, body: body.strip_suffix('}')?.to_owned() };
        return (line(&record) == text).then_some(Line::Record(record));
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let read = |name: &str| {
        let checkpoint = read_signed(value.get(name)?)?;
        // Rendered again and compared: any difference is a change.
        (signed(name, &checkpoint) == text).then_some(checkpoint)
    };
    read("checkpoint")
        .map(Line::Checkpoint)
        .or_else(|| read("head").map(Line::Head))
        .or_else(|| read("sealed").map(Line::Sealed))
}

/// Range of records in a verified file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// Signed link before the first record; `None` in a file that begins with the first record of all.
    pub base: Option<Checkpoint>,
    /// Signed link of the last record; `None` in a file without records and without a signed end.
    pub end: Option<Checkpoint>,
}

impl Extent {
    /// Returns the number of the first record.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.base.as_ref().map_or(0, |base| base.seq) + 1
    }

    /// Returns the number of the last record.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.end.as_ref().map_or(self.first() - 1, |end| end.seq)
    }
}

/// Checks that the files follow each other without a gap, and returns their combined range. `next` is the base of the
/// log in the database, which must follow the last file.
pub fn chained(mut files: Vec<Extent>, next: Option<&Checkpoint>) -> Result<Option<Extent>, Broken> {
    files.sort_by_key(Extent::first);
    let mut files = files.into_iter();
    let Some(mut whole) = files.next() else { return Ok(None) };
    for file in files {
        follows(&whole, file.base.as_ref())?;
        whole.end = file.end;
    }
    if next.is_some() {
        follows(&whole, next)?;
    }
    Ok(Some(whole))
}

fn follows(whole: &Extent, base: Option<&Checkpoint>) -> Result<(), Broken> {
    let (last, after) = (whole.last(), base.map_or(0, |base| base.seq));
    if after < last {
        return Err(Broken::Overlap { seq: after + 1 });
    }
    if after > last {
        return Err(Broken::Gap { first: last + 1, last: after });
    }
    match (&whole.end, base) {
        (Some(end), Some(base)) if end.link == base.link => Ok(()),
        _ => Err(Broken::OtherArchive { last }),
    }
}

/// Verifier of an export, line by line.
#[derive(Debug, Clone)]
pub struct Reading {
    key: PublicKey,
    is_titled: bool,
    walk: Walk,
    /// Record whose checkpoint may follow.
    held: Option<Kept>,
    head: Option<Checkpoint>,
    /// `true` if the end is that of an archive.
    is_sealed: bool,
    base: Option<Checkpoint>,
    last: u64,
}

impl Reading {
    #[must_use]
    pub fn new(key: PublicKey) -> Self {
        let (held, head, base) = (None, None, None);
        Self { key, is_titled: false, walk: Walk::new(key), held, head, is_sealed: false, base, last: 0 }
    }

    /// Checks the next line, given without its line break.
    pub fn line(&mut self, text: &[u8]) -> Result<(), Broken> {
        let changed = Broken::Changed { seq: self.last + 1 };
        if self.head.is_some() {
            return Err(changed);
        }
        if !std::mem::replace(&mut self.is_titled, true) {
            let (key, base) = std::str::from_utf8(text).ok().and_then(read_title).ok_or(changed)?;
            if key != self.key {
                return Err(Broken::OtherKey);
            }
            if let Some(base) = base {
                self.walk = Walk::new(key).after(&base)?;
                self.last = base.seq;
                self.base = Some(base);
            }
            return Ok(());
        }
        match std::str::from_utf8(text).ok().and_then(read).ok_or(changed)? {
            Line::Record(record) => {
                self.settle(None)?;
                self.last = record.seq;
                self.held = Some(record);
            }
            Line::Checkpoint(checkpoint) => {
                if self.held.is_none() {
                    return Err(Broken::Checkpoint { seq: checkpoint.seq });
                }
                self.settle(Some(&checkpoint))?;
            }
            Line::Head(head) => {
                self.settle(None)?;
                self.head = Some(head);
            }
            Line::Sealed(end) => {
                self.settle(None)?;
                (self.head, self.is_sealed) = (Some(end), true);
            }
        }
        Ok(())
    }

    fn settle(&mut self, checkpoint: Option<&Checkpoint>) -> Result<(), Broken> {
        match self.held.take() {
            Some(record) => self.walk.step(&record, checkpoint),
            None => Ok(()),
        }
    }

    /// Checks the end of the file; returns the number of the last record.
    pub fn end(self) -> Result<u64, Broken> {
        self.extent().map(|extent| extent.last())
    }

    /// Checks the end of the file; returns its range.
    pub fn extent(mut self) -> Result<Extent, Broken> {
        if !self.is_titled {
            return Err(Broken::Head);
        }
        self.settle(None)?;
        match &self.head {
            Some(end) if self.is_sealed => self.walk.seal(end)?,
            head => self.walk.end(head.as_ref())?,
        };
        Ok(Extent { base: self.base, end: self.head })
    }
}
