//! A text that has been read: borrowed for a message, owned for what is kept.

use std::fmt;
use std::sync::Arc;

use super::error::ReadError;
use super::node::Node;
use super::parse::{Limits, parse};
use super::tape::Slot;

/// A strictly read JSON text that borrows its bytes.
pub struct Document<'a> {
    source: &'a str,
    slots: Vec<Slot>,
}

impl<'a> Document<'a> {
    /// Reads `bytes` as exactly one JSON value.
    ///
    /// # Errors
    /// A [`ReadError`] that names the rule or limit, the byte and the place.
    pub fn parse(bytes: &'a [u8], limits: &Limits) -> Result<Self, ReadError> {
        let (source, slots) = parse(bytes, limits)?;
        Ok(Self { source, slots })
    }

    /// The whole value.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node::new(self.source, &self.slots, 0)
    }

    /// The text as it came.
    #[must_use]
    pub fn source(&self) -> &'a str {
        self.source
    }
}

impl fmt::Debug for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Document").field(&self.source).finish()
    }
}

/// A strictly read JSON text that owns its bytes; clones share them.
#[derive(Clone)]
pub struct OwnedDocument {
    source: Arc<str>,
    slots: Arc<[Slot]>,
}

impl OwnedDocument {
    /// Reads `text` as exactly one JSON value.
    ///
    /// # Errors
    /// A [`ReadError`] that names the rule or limit, the byte and the place.
    pub fn parse(text: impl Into<Arc<str>>, limits: &Limits) -> Result<Self, ReadError> {
        let source = text.into();
        let (_, slots) = parse(source.as_bytes(), limits)?;
        Ok(Self { slots: slots.into(), source })
    }

    /// The whole value.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node::new(&self.source, &self.slots, 0)
    }

    /// The text as it came.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl fmt::Debug for OwnedDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedDocument").field(&self.source).finish()
    }
}
