//! The audit as a file: the key it is signed with, then one record a line with its hash, signed checkpoints between, the
//! signed end last.
//!
//! Guarantees: a line that is not exactly as it was written is a broken log, however little it differs; nothing may
//! follow the end.

use serde_json::{Value, json};

use super::audit::{Broken, Checkpoint, Kept, PublicKey, Walk, from_hex, to_hex};

/// The first line: whose log it is, and what stands before its first record where earlier ones are kept elsewhere.
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
    // As it was written, or it was changed.
    (title(key, base.as_ref()) == text).then_some((key, base))
}

/// A record's line; its text stands in it as it was hashed.
#[must_use]
pub fn line(record: &Kept) -> String {
    format!(r#"{{"seq":{},"hash":"{}","record":{}}}"#, record.seq, to_hex(&record.link), record.body)
}

/// The line of a `checkpoint` or of the `head`.
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
        // As it was written, or it was changed.
        (signed(name, &checkpoint) == text).then_some(checkpoint)
    };
    read("checkpoint").map(Line::Checkpoint).or_else(|| read("head").map(Line::Head))
}

/// Verifies an export while it is read.
#[derive(Debug, Clone)]
pub struct Reading {
    key: PublicKey,
    is_titled: bool,
    walk: Walk,
    /// A record whose checkpoint may follow.
    held: Option<Kept>,
    head: Option<Checkpoint>,
    last: u64,
}

impl Reading {
    #[must_use]
    pub fn new(key: PublicKey) -> Self {
        Self { key, is_titled: false, walk: Walk::new(key), held: None, head: None, last: 0 }
    }

    /// The next line, without its end.
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
        }
        Ok(())
    }

    fn settle(&mut self, checkpoint: Option<&Checkpoint>) -> Result<(), Broken> {
        match self.held.take() {
            Some(record) => self.walk.step(&record, checkpoint),
            None => Ok(()),
        }
    }

    /// The end of the file; gives the number of records.
    pub fn end(mut self) -> Result<u64, Broken> {
        if !self.is_titled {
            return Err(Broken::Head);
        }
        self.settle(None)?;
        self.walk.end(self.head.as_ref())
    }
}
