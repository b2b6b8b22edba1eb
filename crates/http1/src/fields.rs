//! Header fields of a head, stored as places in its text.

use std::ops::Range;

/// Byte range in a head's text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// Returns the place of `part`, a subslice of `whole`.
    pub(crate) fn of(whole: &[u8], part: &[u8]) -> Self {
        let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
        Self { start: start as u32, end: (start + part.len()) as u32 }
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(crate) fn text(self, whole: &[u8]) -> &[u8] {
        whole.get(self.range()).unwrap_or_default()
    }
}

/// Header fields in the order in which they arrived.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    name: Span,
    value: Span,
}

impl Fields {
    pub(crate) fn read(text: &[u8], headers: &[httparse::Header<'_>]) -> Self {
        let line = |header: &httparse::Header<'_>| Line {
            name: Span::of(text, header.name.as_bytes()),
            value: Span::of(text, header.value),
        };
        Self { lines: headers.iter().map(line).collect() }
    }

    /// Places of the values of one field; its name is compared case-insensitively.
    fn places(&self, text: &[u8], name: &str) -> impl Iterator<Item = Span> {
        let is_named = move |line: &&Line| line.name.text(text).eq_ignore_ascii_case(name.as_bytes());
        self.lines.iter().filter(is_named).map(|line| line.value)
    }

    pub(crate) fn values<'t>(&self, text: &'t [u8], name: &str) -> impl Iterator<Item = &'t [u8]> {
        self.places(text, name).map(move |place| place.text(text))
    }

    /// Place of the value of a field that occurs exactly once; an empty range otherwise.
    pub(crate) fn only_place(&self, text: &[u8], name: &str) -> Range<usize> {
        let mut places = self.places(text, name);
        match (places.next(), places.next()) {
            (Some(place), None) => place.range(),
            _ => 0..0,
        }
    }

    /// Returns `true` if a list-valued field (`Connection`) contains this token, compared case-insensitively.
    pub(crate) fn has_token(&self, text: &[u8], name: &str, token: &str) -> bool {
        self.values(text, name)
            .flat_map(|value| value.split(|byte| *byte == b','))
            .any(|item| item.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
    }
}

/// Returns a header value as text if it has only visible ASCII, spaces and tabs, which every parser reads alike.
#[must_use]
pub fn visible(value: &[u8]) -> Option<&str> {
    let is_visible = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~');
    if value.iter().all(is_visible) { std::str::from_utf8(value).ok() } else { None }
}

/// Parses a number of decimal digits only; `None` if it is not one or is over `u64::MAX`.
pub(crate) fn decimal(value: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let add = |number: u64, byte: &u8| number.checked_mul(10)?.checked_add(digit(byte)?);
    if value.is_empty() { None } else { value.iter().try_fold(0, add) }
}

/// Returns `true` if more than `EMPTY_LINES_MAX` empty lines precede a head.
pub(crate) fn begins_with_too_many_empty_lines(input: &[u8]) -> bool {
    use crate::limits::EMPTY_LINES_MAX;
    let before = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    before.filter(|byte| **byte == b'\n').take(EMPTY_LINES_MAX + 1).count() > EMPTY_LINES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_visible_or_not_wherever_the_byte_stands() {
        for byte in 0..=u8::MAX {
            let expected = matches!(byte, b'\t' | b' '..=b'~');
            for at in 0..5 {
                let mut text = *b"abcde";
                text[at] = byte;
                assert_eq!(visible(&text).is_some(), expected, "{byte:#x} at {at}");
            }
        }
    }

    #[test]
    fn a_decimal_number_has_digits_and_nothing_else() {
        assert_eq!(decimal(b"0"), Some(0));
        assert_eq!(decimal(b"007"), Some(7));
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for bad in ["", "+1", "-1", " 1", "1 ", "0x1", "1,1", "18446744073709551616"] {
            assert_eq!(decimal(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
