//! Recognising a value that keeps a plain schema by its text alone: read and checked in one walk, without a tape.
//!
//! The schema says what comes next, so a key costs a comparison with the bytes that it would have, and no more is read
//! of a value than its schema asks for. Like every [`Shortcut`] it can only say yes. Guarantee: what is recognised is
//! strict JSON, has no key twice in an object and none with an escape, and would be accepted on a tape.

use super::{Members, Property, Shortcut};
use crate::json::{Recognised, ahead, plain_end, read_number, scan, tag};

/// A string as it stands in a text, quotes and what follows included.
#[derive(Debug)]
pub(super) struct Token {
    text: Box<str>,
    /// Its first eight bytes, and those of them that count.
    head: u64,
    mask: u64,
    /// Its last eight, if it has more.
    tail: u64,
    /// The string is written in one way only, but for escapes that nobody needs.
    is_plain: bool,
}

impl Token {
    /// A value.
    pub(super) fn value(text: &str) -> Self {
        Self::new(text, "\"")
    }

    /// A key, with its colon.
    pub(super) fn key(text: &str) -> Self {
        Self::new(text, "\":")
    }

    fn new(text: &str, end: &str) -> Self {
        let is_plain = text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
        let text = format!("\"{text}{end}");
        let bytes = text.as_bytes();
        let mask = if bytes.len() < 8 { (1 << (bytes.len() * 8)) - 1 } else { u64::MAX };
        let tail = ahead(bytes, bytes.len().saturating_sub(8));
        Self { head: ahead(bytes, 0), mask, tail, is_plain, text: text.into() }
    }

    /// One past its end, if it stands at `at`.
    #[inline(always)]
    fn end(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let end = at + self.text.len();
        let stands = ahead(bytes, at) & self.mask == self.head
            && (self.text.len() <= 8
                || ahead(bytes, end - 8) == self.tail
                    && (self.text.len() <= 16 || bytes.get(at..end) == Some(self.text.as_bytes())));
        stands.then_some(end)
    }
}

/// Tells the properties of one object apart.
pub(super) type Bit = u64;

/// Gives each property its bit; gives those of all that must be there. `None` if a key cannot be told by its token, or if
/// there are more of them than bits.
pub(super) fn number(properties: &mut [Property]) -> Option<Bit> {
    let mut needed = 0;
    for (property, number) in properties.iter_mut().zip(0..) {
        property.bit = 1u64.checked_shl(number).filter(|_| property.token.is_plain)?;
        needed |= if property.required == 0 { 0 } else { property.bit };
    }
    Some(needed)
}

impl Shortcut {
    /// See [`crate::json::Recognise`].
    pub(in crate::schema) fn recognise(&self, source: &str, at: usize) -> Option<Recognised> {
        let mut sight = Sight { source, spaced: false };
        let end = sight.value(source.as_bytes(), self, at)?;
        Some(Recognised { end, spaced: sight.spaced })
    }

    /// Containers inside containers of what it recognises, at most.
    pub(in crate::schema) const fn depth(&self) -> usize {
        self.depth
    }

    #[inline(always)]
    const fn takes(&self, tag: u8) -> bool {
        self.tags >> tag & 1 == 1
    }

    /// Takes every value with that tag, whatever else it is.
    #[inline(always)]
    const fn is_free(&self, tag: u8) -> bool {
        self.free >> tag & 1 == 1
    }
}

/// Every step is given the bytes of the source, to have them at hand, and gives one past the end of what it passed over.
struct Sight<'a> {
    source: &'a str,
    spaced: bool,
}

impl Sight<'_> {
    #[inline(always)]
    fn value(&mut self, bytes: &[u8], schema: &Shortcut, at: usize) -> Option<usize> {
        match byte(bytes, at) {
            b'"' => self.text(bytes, schema, at),
            b'0'..=b'9' => self.number(bytes, schema, at),
            b'{' if schema.takes(tag::OBJECT) => self.object(bytes, schema.object.as_ref()?, at),
            b'[' if schema.takes(tag::ARRAY) => self.array(bytes, schema, at),
            _ => self.other(bytes, schema, at),
        }
    }

    /// A value that is none of these, or stands after white space.
    #[inline(never)]
    fn other(&mut self, bytes: &[u8], schema: &Shortcut, at: usize) -> Option<usize> {
        let word = |word: &str, tag: u8| {
            let end = at + word.len();
            (schema.is_free(tag) && bytes.get(at..end)? == word.as_bytes()).then_some(end)
        };
        match byte(bytes, at) {
            b'-' => self.number(bytes, schema, at),
            b't' => word("true", tag::TRUE),
            b'f' => word("false", tag::FALSE),
            b'n' => word("null", tag::NULL),
            b' ' | b'\n' | b'\r' | b'\t' => {
                let at = self.space(bytes, at);
                self.value(bytes, schema, at)
            }
            _ => None,
        }
    }

    /// Where the white space that may start at `at` ends.
    #[inline(never)]
    fn space(&mut self, bytes: &[u8], mut at: usize) -> usize {
        while let b' ' | b'\n' | b'\r' | b'\t' = byte(bytes, at) {
            self.spaced = true;
            at += 1;
        }
        at
    }

    /// The next byte that is no white space, and where it stands.
    #[inline(always)]
    fn next(&mut self, bytes: &[u8], at: usize) -> (u8, usize) {
        let first = byte(bytes, at);
        if first > b' ' {
            return (first, at);
        }
        let at = self.space(bytes, at);
        (byte(bytes, at), at)
    }

    #[inline(always)]
    fn text(&self, bytes: &[u8], schema: &Shortcut, at: usize) -> Option<usize> {
        let quick = if let Some(texts) = &schema.texts {
            one_of(texts, bytes, at)
        } else {
            plain_end(bytes, at + 1)
                .filter(|end| ((end - at) as u64).wrapping_sub(schema.sizes.0) <= schema.sizes.1)
        };
        if quick.is_some() { quick } else { self.text_with_care(bytes, schema, at) }
    }

    #[inline(never)]
    fn text_with_care(&self, bytes: &[u8], schema: &Shortcut, at: usize) -> Option<usize> {
        let found = scan(bytes, at + 1).ok()?;
        let text = self.source.get(at + 1..found.end - 1)?;
        let is = |texts: &Vec<super::Allowed>| texts.iter().any(|allowed| *allowed.name.text == *text);
        let fits = |(least, most): (u64, u64)| (least..=most).contains(&(text.chars().count() as u64));
        let kept = if found.escaped {
            schema.is_free(tag::ESCAPED)
        } else {
            schema.takes(tag::TEXT) && schema.texts.as_ref().is_none_or(is) && schema.length.is_none_or(fits)
        };
        kept.then_some(found.end)
    }

    #[inline(always)]
    fn number(&self, bytes: &[u8], schema: &Shortcut, at: usize) -> Option<usize> {
        let from = at + usize::from(byte(bytes, at) == b'-');
        let end = digits_end(bytes, from);
        // Up to so many digits fit 64 bits, whatever they are; a zero before others is not allowed.
        let is_simple =
            (1..=DIGITS_MAX).contains(&(end - from)) && (end == from + 1 || byte(bytes, from) != b'0');
        match byte(bytes, end) {
            b'.' if is_simple && schema.is_free(tag::DOUBLE) => {
                let point = end;
                let end = digits_end(bytes, end + 1);
                let is_simple = end > point + 1 && byte(bytes, end) | 0x20 != b'e';
                if is_simple { Some(end) } else { self.number_with_care(schema, at) }
            }
            b'.' | b'e' | b'E' => self.number_with_care(schema, at),
            _ => {
                // Most schemas take every natural number: which one it is does not matter then.
                let takes_all = schema.is_free(tag::INTEGER)
                    || (schema.integers.has(0) && schema.integers.has(NATURAL_MAX));
                let keeps = if from == at && takes_all {
                    is_simple
                } else {
                    is_simple && keeps(schema, bytes.get(from..end)?, from > at)
                };
                if keeps { Some(end) } else { self.number_with_care(schema, at) }
            }
        }
    }

    #[inline(never)]
    fn number_with_care(&self, schema: &Shortcut, at: usize) -> Option<usize> {
        let number = read_number(self.source, at).ok()?;
        // A double that was not worked out is a NaN, which holds to no bound.
        let (integer, double) = (number.word.cast_signed(), || f64::from_bits(number.word));
        let keeps = schema.is_free(number.tag)
            || (schema.takes(number.tag)
                && schema.bounds.iter().all(|bound| bound.holds_of(number.tag, integer, double)));
        keeps.then_some(number.end)
    }

    #[inline(never)]
    fn array(&mut self, bytes: &[u8], schema: &Shortcut, at: usize) -> Option<usize> {
        let items = schema.items.as_deref()?;
        let mut count = 0;
        let (first, mut at) = self.next(bytes, at + 1);
        if first != b']' {
            // Of any text nothing is looked at but where it ends.
            let any_text = items.texts.is_none() && items.is_free(tag::TEXT);
            loop {
                let is_text = any_text && byte(bytes, at) == b'"';
                let end = if is_text { plain_end(bytes, at + 1) } else { None };
                at = match end {
                    Some(end) => end,
                    None => self.value(bytes, items, at)?,
                };
                count += 1;
                if byte(bytes, at) == b',' {
                    at += 1;
                    continue;
                }
                let (next, here) = self.next(bytes, at);
                at = here;
                match next {
                    b',' => at += 1,
                    b']' => break,
                    _ => return None,
                }
            }
        }
        let fits = schema.entries.is_none_or(|(least, most)| (least..=most).contains(&count));
        fits.then_some(at + 1)
    }

    #[inline(never)]
    fn object(&mut self, bytes: &[u8], members: &Members, at: usize) -> Option<usize> {
        let needed = members.needed?;
        let mut seen = 0;
        let (first, mut at) = self.next(bytes, at + 1);
        if first != b'}' {
            // Members are mostly written in the order of their schema.
            let mut rest = members.properties.iter();
            loop {
                let next = rest.next().and_then(|property| Some((property, property.token.end(bytes, at)?)));
                let (property, value) = match next {
                    Some(next) => next,
                    None => {
                        at = self.space(bytes, at);
                        rest = members.properties.iter();
                        rest.find_map(|property| Some((property, property.token.end(bytes, at)?)))?
                    }
                };
                if seen & property.bit != 0 {
                    return None;
                }
                seen |= property.bit;
                at = self.value(bytes, &property.schema, value)?;
                if byte(bytes, at) == b',' {
                    at += 1;
                    continue;
                }
                let (next, here) = self.next(bytes, at);
                at = here;
                match next {
                    b',' => at += 1,
                    b'}' => break,
                    _ => return None,
                }
            }
        }
        (seen & needed == needed).then_some(at + 1)
    }
}

/// One past the end of the first of these texts that stands at `at`.
#[inline(always)]
fn one_of(texts: &[super::Allowed], bytes: &[u8], at: usize) -> Option<usize> {
    for text in texts {
        if let Some(end) = text.token.end(bytes, at).filter(|_| text.token.is_plain) {
            return Some(end);
        }
    }
    None
}

/// So many digits are a number that fits 64 bits, whatever they are.
const DIGITS_MAX: usize = 18;

/// The largest number of as many digits.
const NATURAL_MAX: i64 = 999_999_999_999_999_999;

/// One past the last of the digits that stand at `at`, looked for eight at a time.
#[inline(always)]
fn digits_end(bytes: &[u8], at: usize) -> usize {
    let digits = digits_of(ahead(bytes, at));
    if digits < 8 { at + digits } else { many_digits_end(bytes, at + 8) }
}

#[inline(never)]
fn many_digits_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match digits_of(ahead(bytes, at)) {
            8 => at += 8,
            digits => return at + digits,
        }
    }
}

/// How many bytes of a word, from the lowest on, are digits.
#[inline(always)]
const fn digits_of(word: u64) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Digits become what they count, everything else ten or more.
    let counts = word ^ (ONES * b'0' as u64);
    let others = (((counts & (ONES * 0x7F)) + ONES * (0x80 - 10)) | counts) & (ONES * 0x80);
    others.trailing_zeros() as usize / 8
}

/// Whether a schema takes the integer of these digits, which are no more than [`DIGITS_MAX`].
#[inline(never)]
fn keeps(schema: &Shortcut, digits: &[u8], is_negative: bool) -> bool {
    let value = digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit.wrapping_sub(b'0')));
    // A negative zero is no integer.
    let is_integer = !is_negative || value != 0;
    let value = if is_negative { -value } else { value };
    is_integer && (schema.is_free(tag::INTEGER) || schema.integers.has(value))
}

/// The byte at `at`; 0 at the end of the text.
#[inline(always)]
fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
