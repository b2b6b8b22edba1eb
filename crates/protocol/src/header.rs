//! HTTP headers that mirror the body of a modern request, and the encoding of their values.
//!
//! Guarantees: an accepted header equals the body's value. Refuses (-32020 HeaderMismatch) a header that is missing
//! where required, repeated, different, or malformed. Header names ignore case, values do not; outer blanks and tabs
//! are stripped first; values beyond visible ASCII are encoded as `=?base64?…?=`.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
pub const SESSION_ID: &str = "mcp-session-id";
pub const METHOD: &str = "mcp-method";
pub const NAME: &str = "mcp-name";
pub const PARAM_PREFIX: &str = "mcp-param-";

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// One header of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    Absent,
    One(&'a [u8]),
    Repeated,
}

/// Look-up of request headers by lower-case name.
pub trait Headers {
    fn field(&self, name: &str) -> Field<'_>;

    /// Returns the headers that mirror every body.
    fn mirrors(&self) -> Mirrors<'_> {
        Mirrors { version: self.field(PROTOCOL_VERSION), method: self.field(METHOD), name: self.field(NAME) }
    }
}

/// The headers that mirror every body.
#[derive(Debug, Clone, Copy)]
pub struct Mirrors<'a> {
    pub version: Field<'a>,
    pub method: Field<'a>,
    pub name: Field<'a>,
}

/// Headers of a transport that has none (stdio).
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHeaders;

impl Headers for NoHeaders {
    fn field(&self, _name: &str) -> Field<'_> {
        Field::Absent
    }
}

/// Reason why a header does not match the body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    #[error("header {header} is missing; the body says {expected}")]
    Missing { header: Box<str>, expected: Box<str> },
    #[error("header {header} is given more than once")]
    Repeated { header: Box<str> },
    #[error("header {header} is not validly encoded")]
    Malformed { header: Box<str> },
    #[error("header {header} differs from the body, which says {expected}")]
    Different { header: Box<str>, expected: Box<str> },
}

/// Decodes a header value; `None` if it is malformed.
pub fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
    if !is_visible(text.as_bytes()) {
        return None;
    }
    let Some(inner) = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) else {
        return Some(Cow::Borrowed(text));
    };
    let bytes = STANDARD.decode(inner).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Encodes a text as a header value.
#[must_use]
pub fn encode(text: &str) -> Cow<'_, str> {
    if travels_plain(text.as_bytes()) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(text)))
    }
}

/// `true` if the text is sent as a header value without encoding.
fn travels_plain(text: &[u8]) -> bool {
    let is_outer = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if is_outer(text.first()) || is_outer(text.last()) {
        return false;
    }
    let looks_encoded = text.starts_with(PREFIX.as_bytes()) && text.ends_with(SUFFIX.as_bytes());
    !looks_encoded && is_visible(text)
}

/// `true` if the text has only visible ASCII, blanks and tabs, which every HTTP implementation reads alike.
#[must_use]
pub fn is_visible(text: &[u8]) -> bool {
    const fn each(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    let (words, rest) = text.as_chunks();
    let is_plain = words.iter().all(|word| {
        let word = u64::from_le_bytes(*word);
        // The high bit of a byte is set if the byte is below a blank, above a tilde, or not ASCII.
        (word.wrapping_sub(each(b' ')) | word.wrapping_add(each(1)) | word) & each(0x80) == 0
    });
    let is_shown = |byte: &u8| (0x20..0x7f).contains(byte);
    (is_plain && rest.iter().all(is_shown)) || text.iter().all(|byte| *byte == b'\t' || is_shown(byte))
}

impl Field<'_> {
    /// Requires that the header `header` is present once and equals `expected`.
    pub fn require(self, header: &str, expected: &str) -> Result<(), Mismatch> {
        match self {
            // Fast path: almost every header is unencoded.
            Self::One(value) if value == expected.as_bytes() && travels_plain(value) => Ok(()),
            field => differs(field, header, expected),
        }
    }
}

/// Compares a header that is not byte for byte `expected`.
#[cold]
fn differs(field: Field<'_>, header: &str, expected: &str) -> Result<(), Mismatch> {
    let header = header.into();
    match field {
        Field::Absent => Err(Mismatch::Missing { header, expected: shown(expected) }),
        Field::Repeated => Err(Mismatch::Repeated { header }),
        Field::One(value) => match decode(value) {
            None => Err(Mismatch::Malformed { header }),
            Some(text) if text == expected => Ok(()),
            Some(_) => Err(Mismatch::Different { header, expected: shown(expected) }),
        },
    }
}

/// Shortens a value of the body for an error message.
fn shown(text: &str) -> Box<str> {
    const SHOWN_CHARS_MAX: usize = 60;
    let cut: String = text.chars().filter(|c| !c.is_control()).take(SHOWN_CHARS_MAX).collect();
    format!("'{cut}'").into_boxed_str()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Map(Vec<(&'static str, Vec<u8>)>);

    impl Headers for Map {
        fn field(&self, name: &str) -> Field<'_> {
            let mut found = self.0.iter().filter(|(key, _)| *key == name);
            match (found.next(), found.next()) {
                (None, _) => Field::Absent,
                (Some((_, value)), None) => Field::One(value),
                _ => Field::Repeated,
            }
        }
    }

    fn method(value: &str) -> Result<(), Mismatch> {
        Map(vec![(METHOD, value.into())]).field(METHOD).require(METHOD, "tools/call")
    }

    #[test]
    fn a_header_must_say_what_the_body_says() {
        assert_eq!(method("tools/call"), Ok(()));
        assert_eq!(method("  tools/call\t"), Ok(()));
        assert_eq!(method("=?base64?dG9vbHMvY2FsbA==?="), Ok(()));
        assert!(matches!(method("Tools/Call"), Err(Mismatch::Different { .. })));
        assert!(matches!(method("=?base64?dG9vbHMvY2FsbA=?="), Err(Mismatch::Malformed { .. })));
        assert!(matches!(method("=?base64?dG9v%HMvY2FsbA==?="), Err(Mismatch::Malformed { .. })));
        assert!(matches!(method("=?base64?dG9vbHMvY2FsbA=="), Err(Mismatch::Different { .. })));
        assert!(matches!(NoHeaders.field(METHOD).require(METHOD, "x"), Err(Mismatch::Missing { .. })));
        let twice = Map(vec![(METHOD, b"x".to_vec()), (METHOD, b"x".to_vec())]);
        assert!(matches!(twice.field(METHOD).require(METHOD, "x"), Err(Mismatch::Repeated { .. })));
    }

    #[test]
    fn every_byte_is_visible_or_not_wherever_it_stands() {
        for byte in 0..=u8::MAX {
            for at in 0..18 {
                let mut text = *b"a header's value ~";
                text[at] = byte;
                let expected = byte == b'\t' || (0x20..0x7f).contains(&byte);
                assert_eq!(is_visible(&text), expected, "{byte:#x} at {at}");
            }
        }
    }

    #[test]
    fn raw_bytes_beyond_ascii_are_malformed() {
        assert_eq!(decode("Zürich".as_bytes()), None);
        assert_eq!(decode(b"\xff\xfe"), None);
    }

    #[test]
    fn a_plain_value_that_looks_encoded_is_encoded() {
        assert_eq!(encode("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
        assert_eq!(encode("=?base64?x"), "=?base64?x");
    }

    proptest! {
        #[test]
        fn every_text_survives_the_trip_through_a_header(text: String) {
            let value = encode(&text).into_owned();
            let read = decode(value.as_bytes());
            prop_assert_eq!(read.as_deref(), Some(text.as_str()));
        }
    }
}
