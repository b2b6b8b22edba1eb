//! Errors of the JSON reader.

use super::Pointer;

/// Reason why [`super::Document::parse`] refused a text, with the byte offset and the enclosing value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}{}", place(.pointer))]
pub struct ReadError {
    /// The rule or limit that was broken.
    pub kind: ReadErrorKind,
    /// Byte offset in the source.
    pub offset: usize,
    /// Pointer to the value that was being read.
    pub pointer: Pointer,
}

fn place(pointer: &Pointer) -> String {
    if pointer.is_root() { String::new() } else { format!(", in {pointer}") }
}

/// Rule or limit that a text breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The text exceeds [`super::Limits::bytes_max`].
    #[error("json.bytes_max: the text has {found} bytes, at most {limit} are read")]
    Bytes { limit: usize, found: usize },
    /// The nesting exceeds [`super::Limits::depth_max`].
    #[error("json.depth_max: nested deeper than {limit}")]
    Depth { limit: usize },
    /// The number of values and keys exceeds [`super::Limits::nodes_max`].
    #[error("json.nodes_max: more than {limit} values and keys")]
    Nodes { limit: usize },
    /// A key occurs twice in one object.
    #[error("duplicate key {key:?}")]
    DuplicateKey { key: String },
    /// The text is not UTF-8.
    #[error("invalid UTF-8")]
    Utf8,
    /// The text ends inside a value.
    #[error("unexpected end of text")]
    End,
    /// A character is not allowed at this position.
    #[error("unexpected {found:?}, expected {expected}")]
    Unexpected { found: char, expected: &'static str },
    /// A string contains an unescaped control character.
    #[error("unescaped control character U+{code:04X} in a string")]
    Control { code: u32 },
    /// A string contains an escape sequence that JSON does not define.
    #[error("invalid escape sequence")]
    Escape,
    /// A `\u` escape is one half of a surrogate pair.
    #[error("lone surrogate \\u{code:04x}")]
    LoneSurrogate { code: u32 },
    /// A number that RFC 8259 does not allow, such as `01` or `1.`.
    #[error("malformed number")]
    Number,
    /// A number beyond the range of a double, such as `1e999`.
    #[error("number out of range")]
    NumberRange,
    /// The value is followed by something other than white space.
    #[error("trailing text after the value")]
    Trailing,
}
