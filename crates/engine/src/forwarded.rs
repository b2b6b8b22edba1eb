//! Somebody else's answer, kept in the message it came in.
//!
//! Guarantees: what is checked and what is forwarded are slices of one text that was read once.

use toolcrib_contract::json::{Node, OwnedDocument};

/// A JSON-RPC response whose `result` is an object.
#[derive(Debug, Clone)]
pub struct Forwarded {
    message: OwnedDocument,
}

impl Forwarded {
    /// `None` for a message without such a result.
    #[must_use]
    pub fn new(message: OwnedDocument) -> Option<Self> {
        let has_result = message.root().get("result").is_some_and(Node::is_object);
        has_result.then_some(Self { message })
    }

    /// The result.
    #[must_use]
    pub fn result(&self) -> Node<'_> {
        let root = self.message.root();
        root.get("result").unwrap_or(root)
    }
}

impl PartialEq for Forwarded {
    fn eq(&self, other: &Self) -> bool {
        self.message.source() == other.message.source()
    }
}

impl Eq for Forwarded {}
