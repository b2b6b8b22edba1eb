//! Why a text was refused, and where.

use super::Pointer;

/// A refusal of [`super::Document::parse`]: what is wrong, at which byte, inside which value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}{}", place(.pointer))]
pub struct ReadError {
    /// What is wrong.
    pub kind: ReadErrorKind,
    /// Byte offset in the text.
    pub offset: usize,
    /// The value that was being read.
    pub pointer: Pointer,
}

fn place(pointer: &Pointer) -> String {
    if pointer.is_root() { String::new() } else { format!(", in {pointer}") }
}

/// The rule or the limit that a text breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// Over [`super::Limits::bytes_max`].
    #[error("json.bytes_max: the text has {found} bytes, at most {limit} are read")]
    Bytes { limit: usize, found: usize },
    /// Over [`super::Limits::depth_max`].
    #[error("json.depth_max: nested deeper than {limit}")]
    Depth { limit: usize },
    /// Over [`super::Limits::nodes_max`].
    #[error("json.nodes_max: more than {limit} values and keys")]
    Nodes { limit: usize },
    /// A key stands twice in one object.
    #[error("duplicate key {key:?}")]
    DuplicateKey { key: String },
    /// Not UTF-8.
    #[error("invalid UTF-8")]
    Utf8,
    /// The text ends inside a value.
    #[error("unexpected end of text")]
    End,
    /// A character that cannot stand here.
    #[error("unexpected {found:?}, expected {expected}")]
    Unexpected { found: char, expected: &'static str },
    /// A control character stands unescaped in a string.
    #[error("unescaped control character U+{code:04X} in a string")]
    Control { code: u32 },
    /// A backslash sequence that JSON does not know.
    #[error("invalid escape sequence")]
    Escape,
    /// Half of a surrogate pair.
    #[error("lone surrogate \\u{code:04x}")]
    LoneSurrogate { code: u32 },
    /// A number that RFC 8259 does not allow, such as `01` or `1.`.
    #[error("malformed number")]
    Number,
    /// A number beyond the range of a double, such as `1e999`.
    #[error("number out of range")]
    NumberRange,
    /// Something follows the value.
    #[error("trailing text after the value")]
    Trailing,
}
