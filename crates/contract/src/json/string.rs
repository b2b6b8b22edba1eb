//! Strings: checking their escapes and control characters, and unescaping their text.

use std::borrow::Cow;

use wide::u8x16;

use super::error::ReadErrorKind;

/// A key for repeated look-ups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(Box<str>);

impl Key {
    /// Creates a key with this text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Loads eight bytes from `at` on in little-endian order, padded with zeros after the end.
#[inline(always)]
pub(crate) fn ahead(bytes: &[u8], at: usize) -> u64 {
    // No text has more bytes than `BYTES_ADDRESSABLE`. The cast lets the compiler see that `at + 8` cannot overflow.
    let at = at as u32 as usize;
    match bytes.get(at..at + 8).and_then(<[u8]>::first_chunk) {
        Some(word) => u64::from_le_bytes(*word),
        None => last(bytes, at),
    }
}

/// Slow path of [`ahead`] for fewer than eight bytes.
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

/// Bytes that [`check`] examines at once.
const BLOCK: usize = 16;

/// Checks the string whose raw text is `from..close`; returns `true` if it has an escape. `Err` carries the offset and
/// the reason.
pub(super) fn check(bytes: &[u8], from: usize, close: usize) -> Result<bool, (usize, ReadErrorKind)> {
    let (mut base, mut checked) = (from, from);
    while base < close {
        let mut stops = stops_of_block(bytes, base, close);
        while stops != 0 {
            let at = base + stops.trailing_zeros() as usize;
            stops &= stops - 1;
            if at < checked {
                // Part of an escape that was checked with its backslash.
                continue;
            }
            if bytes.get(at) != Some(&b'\\') {
                return Err((
                    at,
                    ReadErrorKind::Control { code: bytes.get(at).copied().map_or(0, u32::from) },
                ));
            }
            checked = escape(bytes, at)?;
        }
        base += BLOCK;
    }
    Ok(checked > from)
}

/// Bit mask of the backslashes and control characters before `close` in the block that starts at `base`.
#[inline(always)]
fn stops_of_block(bytes: &[u8], base: usize, close: usize) -> u16 {
    let block = match bytes.get(base..base + BLOCK).and_then(<[u8]>::first_chunk) {
        Some(block) => *block,
        None => {
            let mut block = [b' '; BLOCK];
            block.iter_mut().zip(bytes.get(base..).unwrap_or_default()).for_each(|(to, from)| *to = *from);
            block
        }
    };
    let block = u8x16::from(block);
    let stops = block.simd_eq(u8x16::splat(b'\\')) | block.min(u8x16::splat(0x1F)).simd_eq(block);
    let within = if close - base < BLOCK { (1u16 << (close - base)) - 1 } else { u16::MAX };
    stops.to_bitmask() as u16 & within
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

/// Unescapes `raw`, the text between the quotes of a string that [`check`] accepted.
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
        for lead in 0..40 {
            for stop in
                ["\\\"", "\\\\", "\\u00e9", "\\ud83d\\ude00", "\0", "\u{1f}", "\\x", "\\u12", "\\ud83d", "é"]
            {
                for tail in 0..20 {
                    let text =
                        format!("{}{stop}{}", "é".repeat(lead / 2) + &"x".repeat(lead % 2), "n".repeat(tail));
                    let whole = format!("{text}\"");
                    let result = check(whole.as_bytes(), 0, text.len());
                    let theirs = serde_json::from_str::<String>(&format!("\"{whole}"));
                    match (stop, result) {
                        ("é", result) => assert_eq!(result.ok(), Some(false)),
                        (_, Ok(escaped)) => assert!(escaped && theirs.is_ok(), "{whole:?}"),
                        (_, Err((at, _))) => {
                            assert!(theirs.is_err(), "{whole:?}");
                            assert!(
                                (lead..=lead + 2).contains(&at) || at == whole.len(),
                                "{at} of {whole:?}"
                            );
                        }
                    }
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
