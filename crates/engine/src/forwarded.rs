//! [`Forwarded`]: an upstream server's answer, kept in the message that it came in.
//!
//! Guarantees: what is checked and what is forwarded are slices of one text that was parsed once.

use bytes::Bytes;
use toolcrib_contract::json::{Node, OwnedDocument, Spot};

/// Bytes below which a result is copied instead of shared.
const SHARED_BYTES_MIN: usize = 4 * 1024;

/// JSON-RPC response whose `result` is an object.
#[derive(Debug, Clone)]
pub struct Forwarded {
    message: OwnedDocument,
    result: Spot,
}

impl Forwarded {
    /// Takes a message; `None` if it has no `result` that is an object.
    #[must_use]
    pub fn new(message: OwnedDocument) -> Option<Self> {
        let result = message.root().get("result")?.spot();
        Self::at(message, result)
    }

    /// Takes a message whose result stands at `result`; `None` if it is not an object.
    #[must_use]
    pub fn at(message: OwnedDocument, result: Spot) -> Option<Self> {
        message.at(result).is_object().then_some(Self { message, result })
    }

    /// Returns the result.
    #[must_use]
    pub fn result(&self) -> Node<'_> {
        self.message.at(self.result)
    }

    /// Returns the bytes of the result without a copy: they keep the message's text alive.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        let range = self.result().range();
        match self.message.into_source() {
            Ok(source) => Bytes::from(source).slice(range),
            Err(shared) => Bytes::from_owner(shared.share(range)),
        }
    }

    /// Returns true if a copy would cost more than sharing.
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
