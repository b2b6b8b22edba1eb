//! A text that has been read: borrowed for a message, owned for what is kept.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::error::ReadError;
use super::node::Node;
use super::parse::{Limits, parse};
use super::tape::Slot;

/// A text and its tape; every node refers to one of these.
pub(super) struct Text<'a> {
    pub(super) source: Cow<'a, str>,
    pub(super) slots: Vec<Slot<'a>>,
    /// Texts of the keys that have an escape: keys are compared all the time, so they are unescaped once.
    pub(super) keys: Vec<Box<str>>,
}

/// A strictly read JSON text that borrows its bytes.
pub struct Document<'a> {
    text: Text<'a>,
}

impl<'a> Document<'a> {
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
    text: Arc<Text<'static>>,
}

impl OwnedDocument {
    /// Reads `text` as exactly one JSON value.
    ///
    /// # Errors
    /// A [`ReadError`] that names the rule or limit, the byte and the place.
    pub fn parse(text: impl Into<String>, limits: &Limits) -> Result<Self, ReadError> {
        let mut source = text.into();
        let Text { slots, mut keys, .. } = parse(source.as_bytes(), limits)?;
        let slots = slots.iter().map(|slot| slot.kept(&source)).collect();
        source.shrink_to_fit();
        keys.shrink_to_fit();
        Ok(Self { text: Arc::new(Text { source: Cow::Owned(source), slots, keys }) })
    }

    /// The same for a text that is not kept for long: memory that reading asked for is not given back first.
    ///
    /// # Errors
    /// A [`ReadError`] that names the rule or limit, the byte and the place.
    pub fn parse_passing(source: String, limits: &Limits) -> Result<Self, ReadError> {
        let Text { slots, keys, .. } = parse(source.as_bytes(), limits)?;
        // Done in place: both kinds of slot have the same size.
        let slots = slots.into_iter().map(|slot| slot.kept(&source)).collect();
        Ok(Self { text: Arc::new(Text { source: Cow::Owned(source), slots, keys }) })
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

impl fmt::Debug for OwnedDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedDocument").field(&self.source()).finish()
    }
}
