//! Strings: finding their end, validating their escapes, decoding their text.

use std::borrow::Cow;

use wide::u8x16;

use super::error::ReadErrorKind;

/// Key that is prepared once for repeated look-ups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(Box<str>);

impl Key {
    /// Prepares `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

pub(crate) struct Scan {
    /// Offset after the closing quote.
    pub(crate) end: usize,
    pub(crate) escaped: bool,
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Returns the bytes of `word` that end plain text (quote, backslash, control character) as high bits. The lowest set
/// bit is exact; higher ones may be borrow artefacts. Bytes over 0x7F never set a bit.
#[inline]
const fn stops(word: u64) -> u64 {
    // Flipping bit 1 moves the quote (0x22) to 0x20, right after the control characters.
    let quote_or_control = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let slash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    (quote_or_control | slash) & !word & HIGHS
}

/// Reads eight bytes from `at` on as a little-endian word; bytes after the end are zero.
#[inline(always)]
pub(crate) fn ahead(bytes: &[u8], at: usize) -> u64 {
    // No text is longer than `u32`; the cast tells the compiler.
    let at = at as u32 as usize;
    match bytes.get(at..at + 8).and_then(<[u8]>::first_chunk) {
        Some(word) => u64::from_le_bytes(*word),
        None => last(bytes, at),
    }
}

/// Reads the last bytes, where fewer than eight are left.
#[inline(never)]
fn last(bytes: &[u8], at: usize) -> u64 {
    let Some(word) = bytes.last_chunk() else {
        return bytes
            .get(at..)
            .unwrap_or_default()
            .iter()
            .rfold(0, |word, byte| word << 8 | u64::from(*byte));
    };
    let gone = at.saturating_add(8).saturating_sub(bytes.len());
    if gone < 8 { u64::from_le_bytes(*word) >> (gone * 8) } else { 0 }
}

/// Finds the end of the string whose content starts at `at`; the error carries the offset and the reason.
pub(crate) fn scan(bytes: &[u8], mut at: usize) -> Result<Scan, (usize, ReadErrorKind)> {
    let mut escaped = false;
    loop {
        // Bytes after the end are zero, which stops the scan like any control character.
        let word = ahead(bytes, at);
        let found = stops(word);
        if found == 0 {
            at += 8;
            continue;
        }
        let plain = found.trailing_zeros() / 8;
        at += plain as usize;
        match (word >> (plain * 8)) as u8 {
            b'"' => return Ok(Scan { end: at + 1, escaped }),
            b'\\' => {
                escaped = true;
                at = escape(bytes, at)?;
            }
            _ if at >= bytes.len() => return Err((bytes.len(), ReadErrorKind::End)),
            control => return Err((at, ReadErrorKind::Control { code: u32::from(control) })),
        }
    }
}

/// Finds the closing quote of the string whose content starts at `from`, 16 bytes at a time, and returns the offset
/// after it. Returns `None` if the string has a backslash or control character, or if fewer than 16 bytes are left;
/// [`scan`] handles both.
#[inline(always)]
pub(crate) fn plain_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        // No text is longer than `u32`; the cast tells the compiler.
        at = at as u32 as usize;
        let block = u8x16::from(*bytes.get(at..at + 16).and_then(<[u8]>::first_chunk)?);
        let quotes = block.simd_eq(u8x16::splat(b'"'));
        let care = block.simd_eq(u8x16::splat(b'\\')) | block.min(u8x16::splat(0x1F)).simd_eq(block);
        let stops = (quotes | care).to_bitmask();
        if stops != 0 {
            let is_quote = quotes.to_bitmask() & stops & stops.wrapping_neg() != 0;
            return is_quote.then_some(at + stops.trailing_zeros() as usize + 1);
        }
        at += 16;
    }
}

fn escape(bytes: &[u8], at: usize) -> Result<usize, (usize, ReadErrorKind)> {
    match bytes.get(at + 1) {
        None => Err((at + 1, ReadErrorKind::End)),
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => {
            let code = hex4(bytes, at + 2)?;
            match code {
                0xD800..=0xDBFF => {
                    let lone = (at, ReadErrorKind::LoneSurrogate { code });
                    if bytes.get(at + 6..at + 8) != Some(b"\\u") {
                        return Err(lone);
                    }
                    match hex4(bytes, at + 8)? {
                        0xDC00..=0xDFFF => Ok(at + 12),
                        _ => Err(lone),
                    }
                }
                0xDC00..=0xDFFF => Err((at, ReadErrorKind::LoneSurrogate { code })),
                _ => Ok(at + 6),
            }
        }
        Some(_) => Err((at, ReadErrorKind::Escape)),
    }
}

fn hex4(bytes: &[u8], at: usize) -> Result<u32, (usize, ReadErrorKind)> {
    let Some(digits) = bytes.get(at..at + 4) else { return Err((bytes.len(), ReadErrorKind::End)) };
    digits.iter().try_fold(0, |code, &d| {
        char::from(d).to_digit(16).map(|d| code << 4 | d).ok_or((at, ReadErrorKind::Escape))
    })
}

/// Decodes a string that [`scan`] accepted; `raw` is the text between its quotes.
#[inline]
pub(super) fn unescape(raw: &str, escaped: bool) -> Cow<'_, str> {
    if escaped { Cow::Owned(unescaped(raw)) } else { Cow::Borrowed(raw) }
}

fn unescaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((plain, tail)) = rest.split_once('\\') {
        text.push_str(plain);
        let mut chars = tail.chars();
        match chars.next() {
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('u') => {
                let unit = |t: &str| t.get(..4).and_then(|h| u32::from_str_radix(h, 16).ok()).unwrap_or(0);
                let high = unit(chars.as_str());
                let mut tail = chars.as_str().get(4..).unwrap_or_default();
                let code = if (0xD800..0xDC00).contains(&high) {
                    let low = unit(tail.get(2..).unwrap_or_default());
                    tail = tail.get(6..).unwrap_or_default();
                    0x10000 + ((high - 0xD800) << 10) + (low.wrapping_sub(0xDC00) & 0x3FF)
                } else {
                    high
                };
                text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                rest = tail;
                continue;
            }
            Some(c) => text.push(c),
            None => {}
        }
        rest = chars.as_str();
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_before_a_stop_is_passed_over() {
        for lead in 0..20 {
            for stop in [b'"', b'\\', 0x00, 0x1f] {
                let mut text = [0xC3, 0xA9].repeat(lead / 2);
                text.resize(lead, b'x');
                text.push(stop);
                text.extend_from_slice(b"nnnnnnnn\"");
                let result = scan(&text, 0);
                match stop {
                    b'"' => assert_eq!(result.ok().map(|s| s.end), Some(lead + 1)),
                    b'\\' => assert!(result.is_ok_and(|s| s.escaped)),
                    _ => assert_eq!(result.err().map(|e| e.0), Some(lead)),
                }
            }
        }
    }

    #[test]
    fn a_look_ahead_ends_with_the_text() {
        for len in 0..20 {
            let text: Vec<u8> = (1..=len).collect();
            for at in 0..30 {
                let mut expected = [0; 8];
                text.iter().skip(at).zip(&mut expected).for_each(|(from, to)| *to = *from);
                assert_eq!(ahead(&text, at).to_le_bytes(), expected, "{at} of {len}");
            }
        }
    }

    #[test]
    fn text_of_escapes_is_what_serde_json_reads() {
        for raw in [r"a\n\t\r\b\f\/\\\q", r"\u00e9\u0041", r"\ud83d\ude00!", r"x\u0000y"] {
            let raw = raw.replace(r"\q", "\\\"");
            let expected: String = serde_json::from_str(&format!("\"{raw}\"")).unwrap();
            assert_eq!(unescape(&raw, true), expected);
        }
    }
}
