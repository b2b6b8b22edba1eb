//! The one pass from bytes to tape. Iterative, so depth costs no stack.

use std::borrow::Cow;

use super::document::Text;
use super::error::{ReadError, ReadErrorKind};
use super::pointer::Pointer;
use super::string::{Scan, scan, unescape};
use super::tape::{BYTES_ADDRESSABLE, COUNT_MAX, Shape, Slot};
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
        doubles: Vec::new(),
        keys: Vec::new(),
        open: Vec::new(),
        nodes_max: limits.nodes_max.min(COUNT_MAX),
        depth_max: limits.depth_max,
    };
    match reader.text() {
        Ok(()) => Ok(Text {
            source: Cow::Borrowed(source),
            slots: reader.slots,
            doubles: reader.doubles,
            keys: reader.keys,
        }),
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
    slots: Vec<Slot>,
    doubles: Vec<f64>,
    keys: Vec<Box<str>>,
    open: Vec<Open>,
    nodes_max: usize,
    depth_max: usize,
}

type Step<T> = Result<T, ReadErrorKind>;

impl Reader<'_> {
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
            Some(b'{') => self.open(Shape::Object),
            Some(b'[') => self.open(Shape::Array),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true", Shape::True),
            Some(b'f') => self.word(b"false", Shape::False),
            Some(b'n') => self.word(b"null", Shape::Null),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn open(&mut self, shape: Shape) -> Step<()> {
        if self.open.len() >= self.depth_max {
            return Err(ReadErrorKind::Depth { limit: self.depth_max });
        }
        let slot = self.slots.len();
        self.push(Slot::leaf(shape, self.at, self.at))?;
        self.open.push(Open { slot, count: 0, object: shape == Shape::Object });
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
        let next = self.slots.len();
        if let Some(slot) = self.slots.get_mut(open.slot) {
            slot.close(self.at, next - open.slot, open.count);
        }
        Ok(())
    }

    fn word(&mut self, word: &'static [u8], shape: Shape) -> Step<()> {
        let end = self.at + word.len();
        if self.bytes.get(self.at..end) != Some(word) {
            return Err(self.unexpected("a value"));
        }
        self.push(Slot::leaf(shape, self.at, end))?;
        self.at = end;
        Ok(())
    }

    fn string(&mut self) -> Step<()> {
        let start = self.at;
        let Scan { end, escaped } = self.scan()?;
        self.push(Slot::string(start, end, escaped))?;
        self.at = end;
        Ok(())
    }

    /// A key. Keys are compared all the time and almost never have an escape: such a one is unescaped here, once.
    fn key(&mut self) -> Step<()> {
        let start = self.at;
        let Scan { end, escaped } = self.scan()?;
        if escaped {
            self.push(Slot::escaped_key(start, end, self.keys.len()))?;
            let text = self.source.get(start + 1..end - 1).unwrap_or_default();
            self.keys.push(unescape(text, true).into());
        } else {
            self.push(Slot::string(start, end, false))?;
        }
        self.at = end;
        Ok(())
    }

    fn scan(&mut self) -> Step<Scan> {
        match scan(self.bytes, self.at + 1) {
            Ok(scan) => Ok(scan),
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
            self.push(Slot::integer(start, at, value))?;
        } else {
            let double = literal.parse().unwrap_or(f64::NAN);
            if !f64::is_finite(double) {
                return Err(ReadErrorKind::NumberRange);
            }
            self.push(Slot::fraction(start, at, self.doubles.len()))?;
            self.doubles.push(double);
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

    fn push(&mut self, slot: Slot) -> Step<()> {
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
        let mut keys = [(0usize, 0usize); PAIRWISE_MAX];
        let mut at = object + 1;
        for i in 0..count {
            let Some(key) = self.slots.get(at) else { return Ok(()) };
            if key.escaped() {
                return self.keys_are_unique_sorted(object, count);
            }
            let range = key.range();
            for &(start, len) in keys.iter().take(i) {
                if len == range.len() && self.bytes.get(start..start + len) == self.bytes.get(range.clone()) {
                    return Err(self.duplicate(*key));
                }
            }
            if let Some(entry) = keys.get_mut(i) {
                *entry = (range.start, range.len());
            }
            at = self.after(at + 1);
        }
        Ok(())
    }

    fn keys_are_unique_sorted(&self, object: usize, count: usize) -> Step<()> {
        let mut keys = Vec::with_capacity(count);
        let mut at = object + 1;
        for _ in 0..count {
            let Some(key) = self.slots.get(at) else { return Ok(()) };
            let text = self.source.get(key.start() + 1..key.range().end - 1).unwrap_or_default();
            keys.push((unescape(text, key.escaped()), *key));
            at = self.after(at + 1);
        }
        keys.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for pair in keys.windows(2) {
            if let [(a, first), (b, second)] = pair
                && a == b
            {
                return Err(self.duplicate(if first.start() > second.start() { *first } else { *second }));
            }
        }
        Ok(())
    }

    fn duplicate(&self, key: Slot) -> ReadErrorKind {
        let text = self.source.get(key.start() + 1..key.range().end - 1).unwrap_or_default();
        ReadErrorKind::DuplicateKey { key: unescape(text, key.escaped()).into_owned() }
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
            let Some(key) = self.slots.get(at) else { break };
            let text = self.source.get(key.start() + 1..key.range().end - 1).unwrap_or_default();
            pointer.push(&unescape(text, key.escaped()));
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
