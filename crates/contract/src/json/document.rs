//! A text that has been read: borrowed for a message, owned for what is kept.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use super::error::ReadError;
use super::limits::Limits;
use super::node::{Node, Spot};
use super::parse::{parse, parse_text};
use super::tape::{Slot, tag};

/// A text and its tape; every node refers to one of these.
pub(crate) struct Text<'a> {
    pub(super) source: Cow<'a, str>,
    pub(super) slots: Vec<Slot>,
    /// Texts of the keys that have an escape: keys are compared all the time, so they are unescaped once.
    pub(super) keys: Vec<Box<str>>,
    /// There is white space between tokens.
    pub(super) spaced: bool,
}

impl<'a> Text<'a> {
    /// A text of which nothing was read yet.
    pub(super) const fn new(source: Cow<'a, str>, slots: Vec<Slot>) -> Self {
        Self { source, slots, keys: Vec::new(), spaced: false }
    }

    /// What stands between the quotes of a string.
    #[inline]
    pub(crate) fn plain(&self, string: Slot) -> &str {
        self.source.get(string.inside()).unwrap_or_default()
    }

    /// The text of a key.
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
    /// Reads a text and keeps it.
    fn read(source: String, limits: &Limits) -> Result<Self, ReadError> {
        let Text { slots, keys, spaced, .. } = parse_text(&source, limits)?;
        Ok(Self { source: Cow::Owned(source), slots, keys, spaced })
    }
}

/// A strictly read JSON text that borrows its bytes.
pub struct Document<'a> {
    text: Text<'a>,
}

impl<'a> Document<'a> {
    /// Bytes of memory that the tape takes, beside the text it was read from.
    #[must_use]
    pub fn tape_bytes(&self) -> usize {
        self.text.slots.capacity() * size_of::<Slot>()
    }

    /// Reads `bytes` as exactly one JSON value.
    ///
    /// # Errors
    /// A [`ReadError`] that names the rule or limit, the byte and the place.
    pub fn parse(bytes: &'a [u8], limits: &Limits) -> Result<Self, ReadError> {
        Ok(Self { text: parse(bytes, limits)? })
    }

    /// The whole value.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node::root(&self.text)
    }

    /// The text as it came.
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

/// A strictly read JSON text that owns its bytes; clones share them.
#[derive(Clone)]
pub struct OwnedDocument {
    text: Arc<Housed>,
}

/// Takes a tape back to where it was made.
pub type Home = fn(Box<dyn Send>);

/// A text whose tape may have been made by another thread. Allocators reuse memory for the thread that took it: a large
/// tape that is freed elsewhere stays taken for a long time.
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
    /// Reads `text` as exactly one JSON value.
    ///
    /// # Errors
    /// A [`ReadError`] that names the rule or limit, the byte and the place.
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

    /// Gives the tape to `home` when nobody needs it any more, in place of freeing it here.
    #[must_use]
    pub fn returning_to(mut self, home: Home) -> Self {
        if let Some(housed) = Arc::get_mut(&mut self.text) {
            housed.home = Some(home);
        }
        self
    }

    /// The same for a text that is not kept for long: memory that reading asked for is not given back first.
    ///
    /// # Errors
    /// A [`ReadError`] that names the rule or limit, the byte and the place.
    pub fn parse_passing(source: String, limits: &Limits) -> Result<Self, ReadError> {
        Ok(Self::housed(Text::read(source, limits)?))
    }

    /// Reads bytes that should be UTF-8, for a document that is not kept for long.
    ///
    /// # Errors
    /// A [`ReadError`] that names the rule or limit, the byte and the place.
    pub fn parse_bytes(bytes: Vec<u8>, limits: &Limits) -> Result<Self, ReadError> {
        match String::from_utf8(bytes) {
            Ok(text) => Self::parse_passing(text, limits),
            // The reader says where.
            Err(error) => {
                let source = Document::parse(error.as_bytes(), limits)?.source().to_owned();
                Self::parse_passing(source, limits)
            }
        }
    }

    /// Bytes of memory that the tape takes, beside the text it was read from.
    #[must_use]
    pub fn tape_bytes(&self) -> usize {
        self.text.slots.capacity() * size_of::<Slot>()
    }

    /// The whole value.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node::root(&self.text)
    }

    /// The value at a spot that one of this document's nodes gave.
    #[must_use]
    pub fn at(&self, spot: Spot) -> Node<'_> {
        Node::on(&self.text, spot)
    }

    /// The text as it came.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.text.source
    }
}

impl OwnedDocument {
    /// The bytes of `range`, such as a node's [`Node::range`], without a copy: they keep this document alive.
    #[must_use]
    pub fn share(&self, range: Range<usize>) -> SharedBytes {
        SharedBytes { text: self.text.clone(), range }
    }

    /// The text alone, if no clone of this document is left: what reading it took is given back.
    ///
    /// # Errors
    /// The document itself where it is shared.
    pub fn into_source(self) -> Result<String, Self> {
        match Arc::try_unwrap(self.text) {
            Ok(mut housed) => Ok(std::mem::take(&mut housed.text.source).into_owned()),
            Err(text) => Err(Self { text }),
        }
    }
}

/// A part of an [`OwnedDocument`]'s text, to be handed on as it came.
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

    /// R5.4: what is handed on is the very text that was read, and outlives the document it came from.
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
