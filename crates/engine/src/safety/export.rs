//! The audit as a file: the key it is signed with, then one record a line with its hash, signed checkpoints between, the
//! signed end last.
//!
//! Guarantees: a line that is not exactly as it was written is a broken log, however little it differs; nothing may
//! follow the end.

use serde_json::{Value, json};

use super::audit::{Broken, Checkpoint, Kept, PublicKey, Walk, from_hex, to_hex};

/// The first line: whose log it is.
#[must_use]
pub fn title(key: PublicKey) -> String {
    format!(r#"{{"audit":{{"key":"{key}"}}}}"#)
}

/// A record's line; its text stands in it as it was hashed.
#[must_use]
pub fn line(record: &Kept) -> String {
    format!(r#"{{"seq":{},"hash":"{}","record":{}}}"#, record.seq, to_hex(&record.link), record.body)
}

/// The line of a `checkpoint` or of the `head`.
#[must_use]
pub fn signed(name: &str, checkpoint: &Checkpoint) -> String {
    let value = json!({"seq": checkpoint.seq, "hash": to_hex(&checkpoint.link), "signature": to_hex(&checkpoint.signature)});
    json!({ name: value }).to_string()
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
        let value = value.get(name)?;
        let checkpoint = Checkpoint {
            seq: value.get("seq")?.as_u64()?,
            link: from_hex(value.get("hash")?.as_str()?)?,
            signature: from_hex(value.get("signature")?.as_str()?)?,
        };
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
            return if text == title(self.key).as_bytes() { Ok(()) } else { Err(Broken::OtherKey) };
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
