//! Somebody else's answer, kept in the message it came in.
//!
//! Guarantees: what is checked and what is forwarded are slices of one text that was read once.

use bytes::Bytes;
use toolcrib_contract::json::{Node, OwnedDocument, Spot};

/// A result of fewer bytes is better copied.
const SHARED_BYTES_MIN: usize = 4 * 1024;

/// A JSON-RPC response whose `result` is an object.
#[derive(Debug, Clone)]
pub struct Forwarded {
    message: OwnedDocument,
    result: Spot,
}

impl Forwarded {
    /// `None` for a message without such a result.
    #[must_use]
    pub fn new(message: OwnedDocument) -> Option<Self> {
        let result = message.root().get("result")?.spot();
        Self::at(message, result)
    }

    /// The same for a message whose result is known to be there; `None` if it is no object.
    #[must_use]
    pub fn at(message: OwnedDocument, result: Spot) -> Option<Self> {
        message.at(result).is_object().then_some(Self { message, result })
    }

    /// The result.
    #[must_use]
    pub fn result(&self) -> Node<'_> {
        self.message.at(self.result)
    }

    /// The result as it came, without a copy: it keeps the message's text alive.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        let range = self.result().range();
        match self.message.into_source() {
            Ok(source) => Bytes::from(source).slice(range),
            Err(shared) => Bytes::from_owner(shared.share(range)),
        }
    }

    /// `true` if a copy would cost more than sharing it.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.result().range().len() >= SHARED_BYTES_MIN
    }
}

impl PartialEq for Forwarded {
    fn eq(&self, other: &Self) -> bool {
        self.message.source() == other.message.source()
    }
}

impl Eq for Forwarded {}
