//! URI of a client, split into characters.
//!
//! A character is one unit, literal or percent-encoded, so that no value can end in the middle of an escape.

use crate::limits::URI_BYTES_MAX;

/// The URI is over `URI_BYTES_MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a URI has at most {URI_BYTES_MAX} bytes (URI_BYTES_MAX); this one has {bytes}")]
pub struct UriTooLong {
    pub bytes: usize,
}

/// Refuses a URI over `URI_BYTES_MAX`.
pub(crate) fn check_length(uri: &str) -> Result<(), UriTooLong> {
    if uri.len() > URI_BYTES_MAX { Err(UriTooLong { bytes: uri.len() }) } else { Ok(()) }
}

/// Character of a URI: its code point, and for ASCII a flag if it was encoded. A plain number, because slices of
/// these are compared by `memcmp`.
pub(super) type Unit = u32;

/// Flag of encoded ASCII: `%2F` is not the separator `/`.
const ENCODED: Unit = 1 << 30;

/// `%` that begins no valid escape. It equals itself in a literal and cannot be part of a value.
pub(super) const STRAY: Unit = 1 << 31;

/// Returns the units of a text, each with its length in bytes.
pub(super) fn units(text: &str) -> impl Iterator<Item = (Unit, usize)> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let (unit, bytes) = match first {
            '%' => escaped(rest.as_bytes()).unwrap_or((STRAY, 1)),
            other => (Unit::from(other), other.len_utf8()),
        };
        rest = rest.get(bytes..)?;
        Some((unit, bytes))
    })
}

/// Reads one character that is written as one to four escapes.
fn escaped(text: &[u8]) -> Option<(Unit, usize)> {
    let mut octets = [0; 4];
    for count in 0..octets.len() {
        let [b'%', high, low] = *text.get(3 * count..3 * count + 3)? else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        *octets.get_mut(count)? = u8::try_from(digit(high)? * 16 + digit(low)?).ok()?;
        if let Ok(text) = std::str::from_utf8(octets.get(..=count)?) {
            let character = text.chars().next()?;
            let flag = if character.is_ascii() { ENCODED } else { 0 };
            return Some((Unit::from(character) | flag, 3 * (count + 1)));
        }
    }
    None
}

/// URI within `URI_BYTES_MAX`.
#[derive(Debug)]
pub struct Uri<'u> {
    text: &'u str,
    units: Vec<Unit>,
    /// Byte position of each unit in the text, and the text's length.
    starts: Vec<usize>,
}

impl<'u> Uri<'u> {
    pub fn new(text: &'u str) -> Result<Self, UriTooLong> {
        check_length(text)?;
        let (mut list, mut starts, mut at) = (Vec::with_capacity(text.len()), vec![0], 0);
        for (unit, bytes) in units(text) {
            at += bytes;
            list.push(unit);
            starts.push(at);
        }
        Ok(Self { text, units: list, starts })
    }

    #[must_use]
    pub fn text(&self) -> &'u str {
        self.text
    }

    pub(super) fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Returns the percent-decoded text between two units.
    pub(super) fn decoded(&self, from: usize, to: usize) -> Option<String> {
        self.units.get(from..to)?.iter().map(|unit| char::from_u32(unit & !ENCODED)).collect()
    }

    /// Returns the text between two units as it was written.
    pub(super) fn written(&self, from: usize, to: usize) -> Option<&'u str> {
        self.text.get(*self.starts.get(from)?..*self.starts.get(to)?)
    }
}
