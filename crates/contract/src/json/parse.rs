//! Strict JSON parser: one pass from text to tape. It is iterative, so nesting depth uses no stack.

use std::borrow::Cow;
use std::mem;

use super::document::Text;
use super::error::{ReadError, ReadErrorKind};
use super::familiar;
use super::limits::Limits;
use super::literal;
use super::pointer::Pointer;
use super::quotes::{Close, Quotes};
use super::string::{ahead, check, unescape};
use super::tape::{BYTES_ADDRESSABLE, HEADS, SLOTS_MAX, Slot, tag};
use super::unique::{self, Seen};

/// Bytes of text per slot that is allocated in advance. Most texts have more bytes per slot.
const BYTES_PER_SLOT: usize = 8;

/// Nesting depth at which an object may be in the cache of `familiar`: inside the message and its params or result.
const KNOWN_DEPTH: usize = 2;

/// Parses `bytes` as one JSON value.
pub(super) fn parse<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Text<'a>, ReadError> {
    fits(bytes.len(), limits)?;
    let source = std::str::from_utf8(bytes).map_err(|e| ReadError {
        kind: ReadErrorKind::Utf8,
        offset: e.valid_up_to(),
        pointer: Pointer::root(),
    })?;
    parse_text(source, limits)
}

/// Parses `source` as one JSON value.
pub(super) fn parse_text<'a>(source: &'a str, limits: &Limits) -> Result<Text<'a>, ReadError> {
    fits(source.len(), limits)?;
    let nodes_max = limits.nodes_max.min(SLOTS_MAX);
    let slots = Vec::with_capacity((source.len() / BYTES_PER_SLOT + 8).min(nodes_max));
    let mut reader = Reader {
        bytes: source.as_bytes(),
        text: Text::new(Cow::Borrowed(source), slots),
        source,
        unknown: None,
        quotes: Quotes::new(source.as_bytes()),
        top: Open::NONE,
        around: Vec::with_capacity(8),
        nodes_max,
        depth_max: limits.depth_max,
        fault: None,
    };
    match reader.text() {
        Ok(()) => {
            if let Some(slot) = reader.unknown {
                familiar::keep(&reader.text, slot);
            }
            Ok(reader.text)
        }
        Err(Failed) => Err(reader.error()),
    }
}

fn fits(bytes: usize, limits: &Limits) -> Result<(), ReadError> {
    let limit = limits.bytes_max.min(BYTES_ADDRESSABLE);
    if bytes <= limit {
        return Ok(());
    }
    let kind = ReadErrorKind::Bytes { limit, found: bytes };
    Err(ReadError { kind, offset: limit, pointer: Pointer::root() })
}

/// A container that is still open.
struct Open {
    slot: u32,
    /// Number of entries so far, including the one that is being parsed.
    count: u32,
    tag: u8,
    /// `true` if two of its keys may be equal: all are compared when the object closes.
    alike: bool,
    seen: Seen,
}

impl Open {
    /// Placeholder for the level around the root value.
    const NONE: Self = Self { slot: 0, count: 0, tag: tag::NULL, alike: false, seen: Seen::NONE };
}

struct Reader<'a> {
    source: &'a str,
    /// Slot of the object that `familiar` looked up and did not have, to be cached after parsing.
    unknown: Option<usize>,
    bytes: &'a [u8],
    text: Text<'a>,
    quotes: Quotes<'a>,
    /// The innermost container.
    top: Open,
    /// Containers around it, from the outside in; the first one is [`Open::NONE`].
    around: Vec<Open>,
    nodes_max: usize,
    depth_max: usize,
    fault: Option<(usize, ReadErrorKind)>,
}

/// Marker of failure; `Reader::fault` holds the reason and the offset.
struct Failed;

type Step<T> = Result<T, Failed>;

impl Reader<'_> {
    fn text(&mut self) -> Step<()> {
        let bytes = self.bytes;
        let mut at = self.skip(0);
        self.text.spaced = false;
        // The tag of the innermost container.
        let mut inside = tag::NULL;
        // White space is looked for only after no token matches, so a compact text costs no extra checks.
        loop {
            // An entry: a member of an object, or a value by itself.
            if inside == tag::OBJECT {
                at = self.member(bytes, at)?;
            } else {
                self.top.count += 1;
            }
            let mut first = byte(bytes, at);
            while first <= b' ' {
                at = self.between(at, "a value")?;
                first = byte(bytes, at);
            }
            at = match first {
                b'"' => self.string(bytes, at)?,
                b'{' => {
                    let may_be_known = self.around.len() == KNOWN_DEPTH;
                    let known = if may_be_known { self.known(at)? } else { None };
                    if let Some(end) = known {
                        end
                    } else {
                        self.open(at, tag::OBJECT)?;
                        at = self.space(bytes, at + 1);
                        if byte(bytes, at) != b'}' {
                            inside = tag::OBJECT;
                            continue;
                        }
                        self.close(at)?;
                        at + 1
                    }
                }
                b'[' => {
                    self.open(at, tag::ARRAY)?;
                    at = self.space(bytes, at + 1);
                    match byte(bytes, at) {
                        b']' => {
                            self.close(at)?;
                            at + 1
                        }
                        0 => return self.unexpected(at, "a value"),
                        _ => {
                            inside = tag::ARRAY;
                            continue;
                        }
                    }
                }
                b'-' | b'0'..=b'9' => self.number(at)?,
                b't' => self.word(at, "true", tag::TRUE)?,
                b'f' => self.word(at, "false", tag::FALSE)?,
                b'n' => self.word(at, "null", tag::NULL)?,
                _ => return self.unexpected(at, "a value"),
            };
            // After a value: another one follows, or its container ends, and perhaps those around it.
            loop {
                match (byte(bytes, at), inside) {
                    (_, tag::NULL) => return self.end(at),
                    (b',', _) => {
                        at += 1;
                        break;
                    }
                    (b'}', tag::OBJECT) | (b']', tag::ARRAY) => {
                        inside = self.close(at)?;
                        at += 1;
                    }
                    (_, tag::OBJECT) => at = self.between(at, "`,` or `}`")?,
                    _ => at = self.between(at, "`,` or `]`")?,
                }
            }
        }
    }

    /// Skips white space where a token is expected; fails if there is none.
    #[inline(never)]
    fn between(&mut self, from: usize, expected: &'static str) -> Step<usize> {
        let at = self.skip(from);
        if at > from { Ok(at) } else { self.unexpected(at, expected) }
    }

    /// Checks that only white space follows the root value.
    fn end(&mut self, at: usize) -> Step<()> {
        let spaced = self.text.spaced;
        let at = self.skip(at);
        self.text.spaced = spaced;
        if at < self.bytes.len() {
            return self.fail(at, ReadErrorKind::Trailing);
        }
        // A vector may have more capacity than was reserved, so `grow` may not have been called at the limit.
        if self.text.slots.len() > self.nodes_max {
            return self.fail(at, ReadErrorKind::Nodes { limit: self.nodes_max });
        }
        Ok(())
    }

    /// Parses a key and a colon; returns the offset after the colon.
    #[inline(always)]
    fn member(&mut self, bytes: &[u8], mut at: usize) -> Step<usize> {
        while byte(bytes, at) != b'"' {
            at = self.between(at, "a key")?;
        }
        at = self.key(bytes, at)?;
        while byte(bytes, at) != b':' {
            at = self.between(at, "`:`")?;
        }
        Ok(at + 1)
    }

    #[inline]
    fn open(&mut self, at: usize, tag: u8) -> Step<()> {
        if self.around.len() >= self.depth_max {
            return self.fail(at, ReadErrorKind::Depth { limit: self.depth_max });
        }
        let slot = self.text.slots.len() as u32;
        self.push(at, Slot::opened(tag, at))?;
        self.around.push(mem::replace(&mut self.top, Open { slot, tag, ..Open::NONE }));
        Ok(())
    }

    /// Copies the slots of the object at `at` from the cache if it is there; returns the object's end.
    #[inline(never)]
    fn known(&mut self, at: usize) -> Step<Option<usize>> {
        if self.top.tag != tag::OBJECT {
            return Ok(None);
        }
        let slots = &mut self.text.slots;
        if !slots.last().is_some_and(|key| familiar::is_key(*key)) {
            return Ok(None);
        }
        let room = self.nodes_max.saturating_sub(slots.len());
        let depth = self.depth_max.saturating_sub(self.around.len());
        let slot = slots.len();
        let end = familiar::recall(self.source, at, slots, room, depth);
        match end {
            Some(end) => self.quotes.restart(end),
            None => self.unknown = Some(slot),
        }
        Ok(end)
    }

    /// Closes the innermost container; returns the tag of the one around it.
    #[inline]
    fn close(&mut self, at: usize) -> Step<u8> {
        if self.top.alike {
            self.unlike(at)?;
        }
        let slots = self.text.slots.len() as u32 - self.top.slot;
        if let Some(slot) = self.text.slots.get_mut(self.top.slot as usize) {
            *slot = slot.closed(at + 1, slots, self.top.count);
        }
        self.top = self.around.pop().unwrap_or(Open::NONE);
        Ok(self.top.tag)
    }

    #[inline]
    fn word(&mut self, at: usize, word: &'static str, tag: u8) -> Step<usize> {
        let end = at + word.len();
        if self.bytes.get(at..end) != Some(word.as_bytes()) {
            return self.unexpected(at, "a value");
        }
        self.push(at, Slot::new(tag, at, end, 0))?;
        Ok(end)
    }

    #[inline(always)]
    fn string(&mut self, bytes: &[u8], at: usize) -> Step<usize> {
        match self.quotes.string() {
            Some(Close { at: close, needs_care: false }) => {
                self.push(at, Self::plain(bytes, at, close))?;
                Ok(close + 1)
            }
            close => self.checked_string(at, close),
        }
    }

    #[inline(always)]
    fn key(&mut self, bytes: &[u8], at: usize) -> Step<usize> {
        match self.quotes.string() {
            Some(Close { at: close, needs_care: false }) => {
                self.push_key(at, Self::plain(bytes, at, close))?;
                Ok(close + 1)
            }
            close => self.checked_key(at, close),
        }
    }

    /// Slot of a string without an escape.
    #[inline(always)]
    fn plain(bytes: &[u8], at: usize, close: usize) -> Slot {
        let len = close.wrapping_sub(at + 1);
        let head = ahead(bytes, at + 1) & HEADS.get(len).copied().unwrap_or(u64::MAX);
        Slot::new(tag::TEXT, at, close + 1, head)
    }

    /// Slow path for a string that has a backslash or a control character, or no closing quote.
    #[inline(never)]
    fn checked_string(&mut self, at: usize, close: Option<Close>) -> Step<usize> {
        let (close, escaped) = self.check(at, close)?;
        let slot = match escaped {
            true => Slot::new(tag::ESCAPED, at, close + 1, 0),
            false => Self::plain(self.bytes, at, close),
        };
        self.push(at, slot)?;
        Ok(close + 1)
    }

    /// Like [`Reader::checked_string`], for a key.
    #[inline(never)]
    fn checked_key(&mut self, at: usize, close: Option<Close>) -> Step<usize> {
        let (close, escaped) = self.check(at, close)?;
        if escaped {
            let key = self.text.keys.len() as u64;
            self.push(at, Slot::new(tag::ESCAPED_KEY, at, close + 1, key))?;
            self.text.keys.push(unescape(self.source.get(at + 1..close).unwrap_or_default(), true).into());
            self.top.count += 1;
            self.top.alike = true;
        } else {
            self.push_key(at, Self::plain(self.bytes, at, close))?;
        }
        Ok(close + 1)
    }

    /// Checks the string whose opening quote is at `at`; returns the offset of its closing quote, and `true` if it has
    /// an escape.
    #[inline]
    fn check(&mut self, at: usize, close: Option<Close>) -> Step<(usize, bool)> {
        let end = close.map_or(self.bytes.len(), |close| close.at);
        match check(self.bytes, at + 1, end) {
            Ok(escaped) if close.is_some() => Ok((end, escaped)),
            Ok(_) => self.fail(end, ReadErrorKind::End),
            Err((at, kind)) => self.fail(at, kind),
        }
    }

    /// Pushes a key without an escape and adds it to the filter for duplicates.
    #[inline(always)]
    fn push_key(&mut self, at: usize, key: Slot) -> Step<()> {
        self.push(at, key)?;
        self.top.count += 1;
        if self.top.seen.meets(key) {
            self.meet(key);
        }
        Ok(())
    }

    /// Handles a collision in the filter: the key that was just pushed may be a duplicate.
    #[inline(never)]
    fn meet(&mut self, key: Slot) {
        let before = self.text.slots.get(self.top.slot as usize + 1..self.text.slots.len() - 1);
        let holds = || unique::holds(&self.text, before.unwrap_or_default(), key);
        self.top.alike |= self.top.count as usize > unique::FEW || holds();
    }

    #[inline]
    fn number(&mut self, at: usize) -> Step<usize> {
        match literal::read(self.source, at) {
            Ok(number) => {
                self.push(at, Slot::new(number.tag, at, number.end, number.word))?;
                Ok(number.end)
            }
            Err((at, kind)) => self.fail(at, kind),
        }
    }

    #[inline(always)]
    fn push(&mut self, at: usize, slot: Slot) -> Step<()> {
        if self.text.slots.len() == self.text.slots.capacity() {
            self.grow(at)?;
        }
        self.text.slots.push(slot);
        Ok(())
    }

    /// Reserves capacity for more slots, up to the limit.
    #[cold]
    fn grow(&mut self, at: usize) -> Step<()> {
        let slots = &mut self.text.slots;
        if slots.len() >= self.nodes_max {
            return self.fail(at, ReadErrorKind::Nodes { limit: self.nodes_max });
        }
        let room = (slots.len() * 2 + 8).min(self.nodes_max);
        slots.reserve_exact(room - slots.len());
        Ok(())
    }

    /// Skips optional white space at `at`; returns where it ends.
    #[inline(always)]
    fn space(&mut self, bytes: &[u8], at: usize) -> usize {
        if byte(bytes, at) > b' ' { at } else { self.skip(at) }
    }

    #[inline(never)]
    fn skip(&mut self, mut at: usize) -> usize {
        let from = at;
        while let b' ' | b'\n' | b'\r' | b'\t' = byte(self.bytes, at) {
            at += 1;
            while self.bytes.get(at..).and_then(<[u8]>::first_chunk) == Some(b"        ") {
                at += 8;
            }
        }
        self.text.spaced |= at > from;
        at
    }

    #[cold]
    #[inline(never)]
    fn unexpected<T>(&mut self, at: usize, expected: &'static str) -> Step<T> {
        let kind = match self.source.get(at..).and_then(|rest| rest.chars().next()) {
            Some(found) => ReadErrorKind::Unexpected { found, expected },
            None => ReadErrorKind::End,
        };
        self.fail(at, kind)
    }

    #[cold]
    #[inline(never)]
    fn fail<T>(&mut self, at: usize, kind: ReadErrorKind) -> Step<T> {
        self.fault = Some((at, kind));
        Err(Failed)
    }

    /// Refuses the object that closes at `at` if two of its keys are equal.
    #[cold]
    #[inline(never)]
    fn unlike(&mut self, at: usize) -> Step<()> {
        let slots = self.text.slots.get(self.top.slot as usize + 1..).unwrap_or_default();
        match unique::duplicate(&self.text, slots, self.top.count as usize).map(str::to_owned) {
            Some(key) => self.fail(at, ReadErrorKind::DuplicateKey { key }),
            None => Ok(()),
        }
    }

    #[cold]
    fn error(&mut self) -> ReadError {
        let (offset, kind) = self.fault.take().unwrap_or((self.bytes.len(), ReadErrorKind::End));
        ReadError { pointer: self.place(offset), offset, kind }
    }

    /// JSON pointer to the value at which parsing failed.
    fn place(&self, offset: usize) -> Pointer {
        let mut pointer = Pointer::root();
        // A duplicate key is found when its object closes: the pointer names the object.
        let closing = matches!(byte(self.bytes, offset), b'}' | b']');
        for (level, open) in self.around.iter().chain([&self.top]).enumerate().skip(1) {
            if open.count == 0 || (closing && level == self.around.len()) {
                break;
            }
            if open.tag == tag::ARRAY {
                pointer.push(&(open.count - 1).to_string());
                continue;
            }
            let slots = self.text.slots.get(open.slot as usize + 1..).unwrap_or_default();
            let mut keys = unique::Keys { rest: slots };
            // Containers above the failure are still open, and each is the last entry of the one around it.
            keys.by_ref().take(open.count as usize - 1).for_each(drop);
            pointer.push(keys.rest.first().map(|key| self.text.name(*key)).unwrap_or_default());
        }
        pointer
    }
}

/// The byte at `at`; 0 after the end of the text.
#[inline(always)]
fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
