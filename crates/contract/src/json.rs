//! Strict reader of untrusted JSON: one pass from the text to a borrowed tape.
//!
//! Guarantees: nothing is copied (strings, numbers and whole values stay slices of the source, so the bytes that are
//! forwarded are the bytes that were checked); every limit is applied before memory is spent; a tape slot is 16
//! bytes, so 4 MiB of text can never become hundreds of megabytes.
//!
//! Refuses, each with its own error and place: invalid UTF-8, anything RFC 8259 forbids, lone surrogates, duplicate
//! keys, numbers beyond the range of a double, and text over [`Limits`].

mod build;
mod distinct;
mod document;
mod error;
mod familiar;
mod instance;
mod limits;
mod literal;
pub(crate) mod meter;
mod node;
mod number;
mod parse;
mod pointer;
mod quotes;
mod string;
mod tape;
mod unique;

pub use build::{ObjectWriter, write_string};
pub(crate) use distinct::DISTINCT_STEPS;
pub(crate) use document::Text;
pub use document::{Document, Home, OwnedDocument, SharedBytes};
pub use error::{ReadError, ReadErrorKind};
pub use instance::Tape;
pub(crate) use instance::unescape_steps;
pub use limits::Limits;
pub use node::{Elements, Keys, Kind, Members, Node, Spot};
pub use number::Number;
pub use pointer::Pointer;
pub use string::Key;
pub(crate) use tape::{ALL_IN_HEAD, Slot, head, tag};
