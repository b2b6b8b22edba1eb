//! Parsed JSON documents: [`Document`] borrows its bytes, [`OwnedDocument`] owns them.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use super::error::ReadError;
use super::limits::Limits;
use super::node::{Node, Spot};
use super::parse::{parse, parse_text};
use super::tape::{Slot, tag};

/// A text and its tape. Every node refers to one.
pub(crate) struct Text<'a> {
    pub(super) source: Cow<'a, str>,
    pub(super) slots: Vec<Slot>,
    /// Unescaped texts of the keys that have an escape. Keys are compared often, so each is unescaped once.
    pub(super) keys: Vec<Box<str>>,
    /// `true` if there is white space between tokens.
    pub(super) spaced: bool,
}

impl<'a> Text<'a> {
    /// Creates a text before parsing, with the buffer for its slots.
    pub(super) const fn new(source: Cow<'a, str>, slots: Vec<Slot>) -> Self {
        Self { source, slots, keys: Vec::new(), spaced: false }
    }

    /// The raw text between the quotes of a string.
    #[inline]
    pub(crate) fn plain(&self, string: Slot) -> &str {
        self.source.get(string.inside()).unwrap_or_default()
    }

    /// The unescaped text of a key; empty for any other slot.
    #[inline]
    pub(crate) fn name(&self, key: Slot) -> &str {
        match key.tag() {
            tag::TEXT => self.plain(key),
            tag::ESCAPED_KEY => self.keys.get(key.word() as usize).map(|key| &**key).unwrap_or_default(),
            _ => "",
        }
    }

    /// The value of a number with a fraction or an exponent.
    #[inline]
    pub(crate) fn double(&self, number: Slot) -> f64 {
        let value = f64::from_bits(number.word());
        if value.is_nan() { self.nearest(number) } else { value }
    }

    #[cold]
    fn nearest(&self, number: Slot) -> f64 {
        self.source.get(number.range()).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
    }
}

impl Text<'static> {
    /// Parses `source` and takes ownership of it.
    fn read(source: String, limits: &Limits) -> Result<Self, ReadError> {
        let Text { slots, keys, spaced, .. } = parse_text(&source, limits)?;
        Ok(Self { source: Cow::Owned(source), slots, keys, spaced })
    }
}

/// A strictly parsed JSON text that borrows its bytes.
pub struct Document<'a> {
    text: Text<'a>,
}

impl<'a> Document<'a> {
    /// Memory of the tape in bytes, without the text.
    #[must_use]
    pub fn tape_bytes(&self) -> usize {
        self.text.slots.capacity() * size_of::<Slot>()
    }

    /// Parses `bytes` as exactly one JSON value.
    ///
    /// # Errors
    /// A [`ReadError`] that names the rule or limit, the byte offset and the JSON pointer.
    pub fn parse(bytes: &'a [u8], limits: &Limits) -> Result<Self, ReadError> {
        Ok(Self { text: parse(bytes, limits)? })
    }

    /// The root value.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node::root(&self.text)
    }

    /// The text, unchanged.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.text.source
    }
}

impl fmt::Debug for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Document").field(&self.source()).finish()
    }
}

/// A strictly parsed JSON text that owns its bytes; clones share them.
#[derive(Clone)]
pub struct OwnedDocument {
    text: Arc<Housed>,
}

/// Callback that receives a tape when its document is dropped, to free it on the thread that allocated it.
pub type Home = fn(Box<dyn Send>);

/// A text whose tape may have been allocated by another thread. Allocators reuse memory for the thread that allocated
/// it, so a large tape that another thread frees stays allocated for a long time.
struct Housed {
    text: Text<'static>,
    home: Option<Home>,
}

impl Deref for Housed {
    type Target = Text<'static>;

    #[inline]
    fn deref(&self) -> &Text<'static> {
        &self.text
    }
}

impl Drop for Housed {
    fn drop(&mut self) {
        if let Some(home) = self.home {
            home(Box::new(std::mem::take(&mut self.text.slots)));
        }
    }
}

impl OwnedDocument {
    /// Parses `text` as exactly one JSON value, and releases unused capacity.
    ///
    /// # Errors
    /// A [`ReadError`] that names the rule or limit, the byte offset and the JSON pointer.
    pub fn parse(text: impl Into<String>, limits: &Limits) -> Result<Self, ReadError> {
        let mut source: String = text.into();
        source.shrink_to_fit();
        let mut text = Text::read(source, limits)?;
        text.slots.shrink_to_fit();
        text.keys.shrink_to_fit();
        Ok(Self::housed(text))
    }

    fn housed(text: Text<'static>) -> Self {
        Self { text: Arc::new(Housed { text, home: None }) }
    }

    /// Passes the tape to `home` when the last clone is dropped, instead of freeing it there.
    #[must_use]
    pub fn returning_to(mut self, home: Home) -> Self {
        if let Some(housed) = Arc::get_mut(&mut self.text) {
            housed.home = Some(home);
        }
        self
    }

    /// Like [`OwnedDocument::parse`], for a short-lived document: unused capacity is not released.
    ///
    /// # Errors
    /// A [`ReadError`] that names the rule or limit, the byte offset and the JSON pointer.
    pub fn parse_passing(source: String, limits: &Limits) -> Result<Self, ReadError> {
        Ok(Self::housed(Text::read(source, limits)?))
    }

    /// Like [`OwnedDocument::parse_passing`], for bytes that must be UTF-8.
    ///
    /// # Errors
    /// A [`ReadError`] that names the rule or limit, the byte offset and the JSON pointer.
    pub fn parse_bytes(bytes: Vec<u8>, limits: &Limits) -> Result<Self, ReadError> {
        match String::from_utf8(bytes) {
            Ok(text) => Self::parse_passing(text, limits),
            // The parser's error names the invalid byte.
            Err(error) => {
                let source = Document::parse(error.as_bytes(), limits)?.source().to_owned();
                Self::parse_passing(source, limits)
            }
        }
    }

    /// Memory of the tape in bytes, without the text.
    #[must_use]
    pub fn tape_bytes(&self) -> usize {
        self.text.slots.capacity() * size_of::<Slot>()
    }

    /// The root value.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node::root(&self.text)
    }

    /// The value at a spot returned by a node of this document; `null` if there is none.
    #[must_use]
    pub fn at(&self, spot: Spot) -> Node<'_> {
        Node::on(&self.text, spot)
    }

    /// The text, unchanged.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.text.source
    }
}

impl OwnedDocument {
    /// Shares the bytes of `range`, such as a node's [`Node::range`], without a copy. They keep this document alive.
    #[must_use]
    pub fn share(&self, range: Range<usize>) -> SharedBytes {
        SharedBytes { text: self.text.clone(), range }
    }

    /// Returns the text and frees the tape, if no clone of this document is left.
    ///
    /// # Errors
    /// The document itself if it is shared.
    pub fn into_source(self) -> Result<String, Self> {
        match Arc::try_unwrap(self.text) {
            Ok(mut housed) => Ok(std::mem::take(&mut housed.text.source).into_owned()),
            Err(text) => Err(Self { text }),
        }
    }
}

/// A part of an [`OwnedDocument`]'s text, shared without a copy.
#[derive(Clone)]
pub struct SharedBytes {
    text: Arc<Housed>,
    range: Range<usize>,
}

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self.text.source.as_bytes().get(self.range.clone()).unwrap_or_default()
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedBytes").field(&self.text.source.get(self.range.clone())).finish()
    }
}

impl fmt::Debug for OwnedDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedDocument").field(&self.source()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R5.4: forwarded bytes are those that were parsed, not a copy, and they outlive the document.
    #[test]
    fn a_shared_part_is_the_text_that_was_read() {
        let document = OwnedDocument::parse_passing(
            r#"{"id":1,"result": {"x" : 0.60} }"#.to_owned(),
            &Limits::message(),
        );
        let document = document.unwrap();
        let result = document.root().get("result").unwrap();
        let (at, shared) = (result.raw().as_ptr(), document.share(result.range()));
        drop(document);
        assert_eq!(shared.as_ref(), br#"{"x" : 0.60}"#);
        assert_eq!(shared.as_ref().as_ptr(), at, "it was copied");
    }

    #[test]
    fn a_text_is_given_back_by_the_last_who_has_it() {
        let document = OwnedDocument::parse("[1]", &Limits::message()).unwrap();
        let clone = document.clone();
        let document = document.into_source().unwrap_err();
        drop(clone);
        assert_eq!(document.into_source().unwrap(), "[1]");
    }

    #[test]
    fn a_tape_goes_back_to_where_it_was_made_once_nobody_needs_it() {
        static RETURNED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let returned = || RETURNED.load(std::sync::atomic::Ordering::SeqCst);
        let document = OwnedDocument::parse("[1]", &Limits::message()).unwrap().returning_to(|tape| {
            RETURNED.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            drop(tape);
        });
        let shared = document.share(0..3);
        drop(document);
        assert_eq!((returned(), shared.as_ref()), (0, b"[1]".as_slice()));
        drop(shared);
        assert_eq!(returned(), 1);
    }

    #[test]
    fn a_node_is_found_again_at_its_spot() {
        let document = OwnedDocument::parse(r#"{"a":[1,{"b":2}]}"#, &Limits::message()).unwrap();
        let inner = document.root().get("a").and_then(|list| list.element(1)).unwrap();
        assert_eq!(document.at(inner.spot()).raw(), r#"{"b":2}"#);
        let other = OwnedDocument::parse("7", &Limits::message()).unwrap();
        assert!(other.at(inner.spot()).is_null(), "a spot of another document");
    }
}
