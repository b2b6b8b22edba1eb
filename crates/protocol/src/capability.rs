//! Client capabilities that a server needs in order to ask the client something.
//!
//! Guarantees: an undeclared capability counts as absent. `elicitation: {}` declares form mode only.

use toolcrib_contract::json::Node;

use crate::error::RpcError;

/// Client capability that a server can require.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capability {
    ElicitationForm,
    ElicitationUrl,
    Sampling,
    Roots,
}

impl Capability {
    /// The `ClientCapabilities` object that would suffice, as raw JSON.
    #[must_use]
    pub const fn required(self) -> &'static str {
        match self {
            Self::ElicitationForm => r#"{"elicitation":{"form":{}}}"#,
            Self::ElicitationUrl => r#"{"elicitation":{"url":{}}}"#,
            Self::Sampling => r#"{"sampling":{}}"#,
            Self::Roots => r#"{"roots":{}}"#,
        }
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ElicitationForm => "elicitation",
            Self::ElicitationUrl => "elicitation (url mode)",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }

    /// Error for a client that did not declare this capability.
    #[must_use]
    pub fn missing(self) -> RpcError {
        RpcError::missing_capability(self.required())
    }
}

/// Declared client capabilities that matter to a server, with the raw declaration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    pub elicitation_form: bool,
    pub elicitation_url: bool,
    pub sampling: bool,
    pub roots: bool,
    raw: Option<Box<str>>,
}

impl ClientCapabilities {
    /// Reads a declaration; a member that is not an object declares nothing.
    #[must_use]
    pub fn read(node: Node<'_>) -> Self {
        // Most requests declare nothing; this avoids the copy.
        if node.raw() == "{}" {
            return Self::default();
        }
        let object = |name: &str| node.get(name).filter(|node| node.is_object());
        let elicitation = object("elicitation");
        let mode = |name: &str| {
            elicitation.and_then(|node| node.get(name)).is_some_and(toolcrib_contract::json::Node::is_object)
        };
        let url = mode("url");
        // `elicitation` without a mode is the older declaration, which had only forms.
        let form = elicitation.is_some() && (mode("form") || !url);
        Self {
            elicitation_form: form,
            elicitation_url: url,
            sampling: object("sampling").is_some(),
            roots: object("roots").is_some(),
            raw: Some(node.raw().into()),
        }
    }

    #[must_use]
    pub const fn has(&self, capability: Capability) -> bool {
        match capability {
            Capability::ElicitationForm => self.elicitation_form,
            Capability::ElicitationUrl => self.elicitation_url,
            Capability::Sampling => self.sampling,
            Capability::Roots => self.roots,
        }
    }

    /// The declaration as raw JSON, as it was received.
    #[must_use]
    pub fn raw(&self) -> &str {
        self.raw.as_deref().unwrap_or("{}")
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    fn read(text: &str) -> ClientCapabilities {
        ClientCapabilities::read(Document::parse(text.as_bytes(), &Limits::message()).unwrap().root())
    }

    #[test]
    fn an_empty_elicitation_declaration_means_form_mode_only() {
        let declared = read(r#"{"elicitation":{}}"#);
        assert!(declared.has(Capability::ElicitationForm));
        assert!(!declared.has(Capability::ElicitationUrl));
        let url_only = read(r#"{"elicitation":{"url":{}}}"#);
        assert!(!url_only.has(Capability::ElicitationForm));
        assert!(url_only.has(Capability::ElicitationUrl));
    }

    #[test]
    fn what_is_not_an_object_declares_nothing() {
        let declared = read(r#"{"elicitation":true,"sampling":null,"roots":[]}"#);
        assert!(!declared.elicitation_form && !declared.sampling && !declared.roots);
    }
}
