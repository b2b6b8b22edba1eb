//! The one pass from bytes to tape. Iterative, so depth costs no stack.

use std::borrow::Cow;

use super::document::Text;
use super::error::{ReadError, ReadErrorKind};
use super::pointer::Pointer;
use super::string::{Scan, scan, unescape};
use super::tape::{BYTES_ADDRESSABLE, Extent, SLOTS_MAX, Slot};
use crate::limits;

/// How much of a text is read. Every field has its line in LIMITS.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the whole text.
    pub bytes_max: usize,
    /// Containers inside containers.
    pub depth_max: usize,
    /// Values and keys together.
    pub nodes_max: usize,
}

impl Limits {
    /// Limits of a message from a peer.
    #[must_use]
    pub const fn message() -> Self {
        Self {
            bytes_max: limits::JSON_MESSAGE_BYTES_MAX,
            depth_max: limits::JSON_DEPTH_MAX,
            nodes_max: limits::JSON_NODES_MAX,
        }
    }

    /// Limits of one tool definition.
    #[must_use]
    pub const fn definition() -> Self {
        Self { bytes_max: limits::DEFINITION_BYTES_MAX, ..Self::message() }
    }

    /// Limits of a catalogue, a lock or another file that the operator chose to read.
    #[must_use]
    pub const fn file() -> Self {
        Self {
            bytes_max: limits::JSON_FILE_BYTES_MAX,
            depth_max: limits::JSON_DEPTH_MAX,
            nodes_max: limits::JSON_FILE_NODES_MAX,
        }
    }

    /// The same with another number of bytes.
    #[must_use]
    pub const fn with_bytes_max(mut self, bytes_max: usize) -> Self {
        self.bytes_max = bytes_max;
        self
    }

    /// The same with another depth.
    #[must_use]
    pub const fn with_depth_max(mut self, depth_max: usize) -> Self {
        self.depth_max = depth_max;
        self
    }

    /// The same with another number of values and keys.
    #[must_use]
    pub const fn with_nodes_max(mut self, nodes_max: usize) -> Self {
        self.nodes_max = nodes_max;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::message()
    }
}

/// Reads `bytes` as one JSON value.
pub(super) fn parse<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Text<'a>, ReadError> {
    let bytes_max = limits.bytes_max.min(BYTES_ADDRESSABLE);
    if bytes.len() > bytes_max {
        let kind = ReadErrorKind::Bytes { limit: bytes_max, found: bytes.len() };
        return Err(ReadError { kind, offset: bytes_max, pointer: Pointer::root() });
    }
    let source = std::str::from_utf8(bytes).map_err(|e| ReadError {
        kind: ReadErrorKind::Utf8,
        offset: e.valid_up_to(),
        pointer: Pointer::root(),
    })?;
    let mut reader = Reader {
        source,
        bytes,
        at: 0,
        slots: Vec::with_capacity((bytes.len() / 12).min(limits.nodes_max) + 1),
        keys: Vec::new(),
        open: Vec::new(),
        nodes_max: limits.nodes_max.min(SLOTS_MAX),
        depth_max: limits.depth_max,
    };
    match reader.text() {
        Ok(()) => Ok(Text { source: Cow::Borrowed(source), slots: reader.slots, keys: reader.keys }),
        Err(kind) => Err(ReadError { offset: reader.at, pointer: reader.place(), kind }),
    }
}

struct Open {
    slot: usize,
    count: u32,
    object: bool,
}

struct Reader<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    slots: Vec<Slot<'a>>,
    keys: Vec<Box<str>>,
    open: Vec<Open>,
    nodes_max: usize,
    depth_max: usize,
}

type Step<T> = Result<T, ReadErrorKind>;

impl<'a> Reader<'a> {
    fn text(&mut self) -> Step<()> {
        self.space();
        self.value()?;
        while let Some(open) = self.open.last() {
            let (object, empty) = (open.object, open.count == 0);
            self.space();
            match self.peek() {
                Some(b'}') if object => self.close()?,
                Some(b']') if !object => self.close()?,
                Some(b',') if !empty => {
                    self.at += 1;
                    self.space();
                    self.entry(object)?;
                }
                Some(_) if empty => self.entry(object)?,
                _ if object => return Err(self.unexpected("`,` or `}`")),
                _ => return Err(self.unexpected("`,` or `]`")),
            }
        }
        self.space();
        if self.at < self.bytes.len() { Err(ReadErrorKind::Trailing) } else { Ok(()) }
    }

    /// One member or one element.
    fn entry(&mut self, object: bool) -> Step<()> {
        if object {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key"));
            }
            self.key()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("`:`"));
            }
            self.at += 1;
            self.space();
        }
        if let Some(open) = self.open.last_mut() {
            open.count += 1;
        }
        self.value()
    }

    fn value(&mut self) -> Step<()> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'{') => self.open(true),
            Some(b'[') => self.open(false),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true", |start| Slot::True { start }),
            Some(b'f') => self.word(b"false", |start| Slot::False { start }),
            Some(b'n') => self.word(b"null", |start| Slot::Null { start }),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn open(&mut self, object: bool) -> Step<()> {
        if self.open.len() >= self.depth_max {
            return Err(ReadErrorKind::Depth { limit: self.depth_max });
        }
        let slot = self.slots.len();
        // Its extent is known when it closes.
        let extent = Extent { start: self.at as u32, end: 0, at: slot as u32, slots: 1, count: 0 };
        self.push(if object { Slot::Object(extent) } else { Slot::Array(extent) })?;
        self.open.push(Open { slot, count: 0, object });
        self.at += 1;
        Ok(())
    }

    fn close(&mut self) -> Step<()> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        if open.object && open.count > 1 {
            let unique = self.keys_are_unique(open.slot, open.count as usize);
            if let Err(kind) = unique {
                self.open.push(open);
                return Err(kind);
            }
        }
        self.at += 1;
        let slots = (self.slots.len() - open.slot) as u32;
        if let Some(Slot::Array(extent) | Slot::Object(extent)) = self.slots.get_mut(open.slot) {
            *extent = Extent { end: self.at as u32, slots, count: open.count, ..*extent };
        }
        Ok(())
    }

    fn word(&mut self, word: &'static [u8], slot: fn(u32) -> Slot<'a>) -> Step<()> {
        let end = self.at + word.len();
        if self.bytes.get(self.at..end) != Some(word) {
            return Err(self.unexpected("a value"));
        }
        self.push(slot(self.at as u32))?;
        self.at = end;
        Ok(())
    }

    fn string(&mut self) -> Step<()> {
        let (start, end, plain) = self.scan()?;
        self.push(match plain {
            Some(text) => Slot::Text(text),
            None => Slot::Escaped { start: start as u32, end: end as u32 },
        })?;
        self.at = end;
        Ok(())
    }

    fn key(&mut self) -> Step<()> {
        let (start, end, plain) = self.scan()?;
        if let Some(text) = plain {
            self.push(Slot::Text(text))?;
        } else {
            let key = self.keys.len() as u32;
            self.push(Slot::EscapedKey { start: start as u32, end: end as u32, key })?;
            self.keys.push(unescape(self.source.get(start + 1..end - 1).unwrap_or_default(), true).into());
        }
        self.at = end;
        Ok(())
    }

    /// Where the string here starts and ends, and its text if nothing in it is escaped.
    fn scan(&mut self) -> Step<(usize, usize, Option<&'a str>)> {
        let start = self.at;
        match scan(self.bytes, start + 1) {
            Ok(Scan { end, escaped: false }) => Ok((start, end, self.source.get(start + 1..end - 1))),
            Ok(Scan { end, escaped: true }) => Ok((start, end, None)),
            Err((at, kind)) => {
                self.at = at;
                Err(kind)
            }
        }
    }

    fn number(&mut self) -> Step<()> {
        let start = self.at;
        let mut at = start;
        if self.byte(at) == Some(b'-') {
            at += 1;
        }
        match self.byte(at) {
            Some(b'0') => at += 1,
            Some(b'1'..=b'9') => at = self.digits(at),
            _ => return self.fail_at(at, ReadErrorKind::Number),
        }
        let whole = at;
        if self.byte(at) == Some(b'.') {
            let from = at + 1;
            at = self.digits(from);
            if at == from {
                return self.fail_at(at, ReadErrorKind::Number);
            }
        }
        if let Some(b'e' | b'E') = self.byte(at) {
            at += 1;
            if let Some(b'+' | b'-') = self.byte(at) {
                at += 1;
            }
            let from = at;
            at = self.digits(from);
            if at == from {
                return self.fail_at(at, ReadErrorKind::Number);
            }
        }
        if matches!(self.byte(at), Some(b'0'..=b'9')) {
            return self.fail_at(at, ReadErrorKind::Number);
        }
        let literal = self.source.get(start..at).unwrap_or_default();
        if at == whole {
            // No double has so many digits before the point.
            if literal.len() > 300 && !literal.parse::<f64>().is_ok_and(f64::is_finite) {
                return Err(ReadErrorKind::NumberRange);
            }
            // A negative zero is no integer.
            let value = if literal == "-0" { None } else { literal.parse().ok() };
            self.push(match value {
                Some(value) => Slot::Integer { start: start as u32, end: at as u32, value },
                None => Slot::Large { start: start as u32, end: at as u32 },
            })?;
        } else {
            let value = literal.parse().unwrap_or(f64::NAN);
            if !f64::is_finite(value) {
                return Err(ReadErrorKind::NumberRange);
            }
            self.push(Slot::Double { start: start as u32, end: at as u32, value })?;
        }
        self.at = at;
        Ok(())
    }

    fn fail_at<T>(&mut self, at: usize, kind: ReadErrorKind) -> Step<T> {
        self.at = at;
        Err(if at >= self.bytes.len() { ReadErrorKind::End } else { kind })
    }

    fn digits(&self, mut at: usize) -> usize {
        while matches!(self.byte(at), Some(b'0'..=b'9')) {
            at += 1;
        }
        at
    }

    fn push(&mut self, slot: Slot<'a>) -> Step<()> {
        if self.slots.len() >= self.nodes_max {
            return Err(ReadErrorKind::Nodes { limit: self.nodes_max });
        }
        self.slots.push(slot);
        Ok(())
    }

    /// The slot after the value at `at`.
    fn after(&self, at: usize) -> usize {
        self.slots.get(at).map_or(at, |slot| at + slot.span())
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    fn peek(&self) -> Option<u8> {
        self.byte(self.at)
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn unexpected(&self, expected: &'static str) -> ReadErrorKind {
        match self.source.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(found) => ReadErrorKind::Unexpected { found, expected },
            None => ReadErrorKind::End,
        }
    }

    fn keys_are_unique(&self, object: usize, count: usize) -> Step<()> {
        const PAIRWISE_MAX: usize = 12;
        if count > PAIRWISE_MAX {
            return self.keys_are_unique_sorted(object, count);
        }
        let mut keys = [""; PAIRWISE_MAX];
        let mut at = object + 1;
        for i in 0..count {
            let Some(&Slot::Text(key)) = self.slots.get(at) else {
                return self.keys_are_unique_sorted(object, count);
            };
            if keys.iter().take(i).any(|earlier| *earlier == key) {
                return Err(ReadErrorKind::DuplicateKey { key: key.to_owned() });
            }
            if let Some(entry) = keys.get_mut(i) {
                *entry = key;
            }
            at = self.after(at + 1);
        }
        Ok(())
    }

    fn keys_are_unique_sorted(&self, object: usize, count: usize) -> Step<()> {
        let mut keys = Vec::with_capacity(count);
        let mut at = object + 1;
        for _ in 0..count {
            keys.push(self.key_text(at));
            at = self.after(at + 1);
        }
        keys.sort_unstable();
        match keys.windows(2).find(|pair| matches!(pair, [a, b] if a == b)) {
            Some([key, ..]) => Err(ReadErrorKind::DuplicateKey { key: (*key).to_owned() }),
            _ => Ok(()),
        }
    }

    /// The text of the key at `at`.
    fn key_text(&self, at: usize) -> &str {
        match self.slots.get(at) {
            Some(Slot::Text(text)) => text,
            Some(Slot::EscapedKey { key, .. }) => {
                self.keys.get(*key as usize).map(|key| &**key).unwrap_or_default()
            }
            _ => "",
        }
    }

    /// The value being read when something went wrong; built only then.
    fn place(&self) -> Pointer {
        let mut pointer = Pointer::root();
        for (i, open) in self.open.iter().enumerate() {
            if open.count == 0 || self.is_closing(i) {
                break;
            }
            if !open.object {
                pointer.push(&(open.count - 1).to_string());
                continue;
            }
            let mut at = open.slot + 1;
            for _ in 1..open.count {
                // A container on the way to the failure is still open, and always the last member.
                at = self.after(at + 1);
            }
            pointer.push(self.key_text(at));
        }
        pointer
    }

    /// A duplicate is found when its object closes: the object itself is the place.
    fn is_closing(&self, level: usize) -> bool {
        level + 1 == self.open.len() && matches!(self.peek(), Some(b'}' | b']'))
    }
}

#[cfg(test)]
mod tests;
