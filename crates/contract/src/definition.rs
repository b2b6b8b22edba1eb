//! Definition of one tool, as JSON in the shape of MCP `tools/list` (R1.1).
//!
//! Guarantees lossless storage: unknown fields, vendor annotations, key order and the spelling of every number and
//! string survive; only white space between tokens is dropped. `{"name":"x"}` alone is a valid stored definition.
//!
//! Refuses everything but a JSON object whose `name` is a non-empty string, and everything that the strict JSON
//! reader refuses.

use std::borrow::Cow;

use crate::annotations::{self, Annotations};
use crate::json::{Limits, Node, ObjectWriter, OwnedDocument, Pointer, ReadError, ReadErrorKind};
use crate::limits::DEFINITION_BYTES_MAX;

/// One tool definition as JSON. Clones share the text.
#[derive(Debug, Clone)]
pub struct Definition {
    document: OwnedDocument,
    name: String,
}

/// Reason why a text is not a definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The text is not JSON, or exceeds a limit.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The JSON value is not an object.
    #[error("a definition is a JSON object, this is {found}")]
    NotAnObject { found: &'static str },
    /// `name` is missing.
    #[error("/name: a definition has a name")]
    NoName,
    /// `name` is not a non-empty string.
    #[error("/name: a name is a non-empty string, this is {found}")]
    BadName { found: &'static str },
}

impl Definition {
    /// Reads a definition from text.
    ///
    /// # Errors
    /// A [`DefinitionError`] that names the place and the rule or limit.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, DefinitionError> {
        let document = crate::json::Document::parse(text.as_ref(), &Limits::definition())?;
        Self::from_node(document.root())
    }

    /// Copies a definition out of a larger text, for example one tool of a `tools/list` result.
    ///
    /// # Errors
    /// A [`DefinitionError`] that names the place and the rule or limit.
    pub fn from_node(node: Node<'_>) -> Result<Self, DefinitionError> {
        let bytes = node.raw().len();
        if bytes > DEFINITION_BYTES_MAX {
            let kind = ReadErrorKind::Bytes { limit: DEFINITION_BYTES_MAX, found: bytes };
            return Err(ReadError { kind, offset: DEFINITION_BYTES_MAX, pointer: Pointer::root() }.into());
        }
        if !node.is_object() {
            return Err(DefinitionError::NotAnObject { found: node.kind().name() });
        }
        let name = node.get("name").ok_or(DefinitionError::NoName)?;
        let name = match name.as_str() {
            Some(name) if !name.is_empty() => name.into_owned(),
            Some(_) => return Err(DefinitionError::BadName { found: "empty" }),
            None => return Err(DefinitionError::BadName { found: name.kind().name() }),
        };
        let document = OwnedDocument::parse(node.to_compact(), &Limits::definition())?;
        Ok(Self { document, name })
    }

    /// Reads a definition from a [`serde_json::Value`].
    ///
    /// # Errors
    /// A [`DefinitionError`] that names the place and the rule or limit.
    pub fn from_value(value: &serde_json::Value) -> Result<Self, DefinitionError> {
        Self::parse(value.to_string())
    }

    /// The text as it was given, without white space between tokens.
    #[must_use]
    pub fn text(&self) -> &str {
        self.document.source()
    }

    /// Root node of the definition.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        self.document.root()
    }

    /// Returns the member `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Node<'_>> {
        self.root().get(key)
    }

    /// The name as it is written; [`crate::ToolName`] decides whether it may be served.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The description, if it is a string.
    #[must_use]
    pub fn description(&self) -> Option<Cow<'_, str>> {
        self.get("description")?.as_str()
    }

    /// The title for people: `title`, else `annotations.title`, as the specification orders them.
    #[must_use]
    pub fn title(&self) -> Option<Cow<'_, str>> {
        let own = self.get("title").and_then(Node::as_str);
        own.or_else(|| self.get("annotations")?.get("title")?.as_str())
    }

    /// The input schema, if present. `null` counts as absent.
    #[must_use]
    pub fn input_schema(&self) -> Option<Node<'_>> {
        self.get("inputSchema").filter(|schema| !schema.is_null())
    }

    /// The output schema, if present. `null` counts as absent.
    #[must_use]
    pub fn output_schema(&self) -> Option<Node<'_>> {
        self.get("outputSchema").filter(|schema| !schema.is_null())
    }

    /// Reads the `annotations` member.
    #[must_use]
    pub fn annotations(&self) -> Annotations {
        self.get("annotations").map(Annotations::read).unwrap_or_default()
    }

    /// The text for the MCP wire: hints have the specification's names, everything else is unchanged.
    #[must_use]
    pub fn wire_text(&self) -> Cow<'_, str> {
        match self.get("annotations").and_then(annotations::wire) {
            Some(annotations) => Cow::Owned(self.with_member("annotations", &annotations)),
            None => Cow::Borrowed(self.text()),
        }
    }

    /// Returns the text with member `key` replaced in place, or appended. `value` is JSON text.
    #[must_use]
    pub fn with_member(&self, key: &str, value: &str) -> String {
        let mut out = ObjectWriter::new();
        let mut replaced = false;
        for (name, old) in self.root().members() {
            if name.is_text(key) {
                out.raw(key, value);
                replaced = true;
            } else {
                out.copy(name, old);
            }
        }
        if !replaced {
            out.raw(key, value);
        }
        out.finish()
    }
}

impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Definition {}

#[cfg(test)]
mod tests {
    use super::*;

    /// R1.1: a definition that has only a name is valid and is returned unchanged.
    #[test]
    fn name_only_comes_back_as_it_was() {
        assert_eq!(Definition::parse(r#"{"name":"x"}"#).unwrap().text(), r#"{"name":"x"}"#);
        assert_eq!(Definition::parse(" { \"name\" : \"x\" } ").unwrap().text(), r#"{"name":"x"}"#);
    }

    /// A definition over its byte limit is refused, alone or inside a larger text.
    #[test]
    fn a_definition_over_definition_bytes_max_is_refused() {
        let of = |bytes: usize| {
            let empty = r#"{"name":"x","description":""}"#.len();
            format!(r#"{{"name":"x","description":"{}"}}"#, "d".repeat(bytes - empty))
        };
        assert!(Definition::parse(of(DEFINITION_BYTES_MAX)).is_ok());
        let large = of(DEFINITION_BYTES_MAX + 1);
        let list = crate::json::Document::parse(large.as_bytes(), &Limits::message()).unwrap();
        for refused in [Definition::parse(&large), Definition::from_node(list.root())] {
            let Err(DefinitionError::Read(error)) = refused else { panic!("not refused") };
            let found = DEFINITION_BYTES_MAX + 1;
            assert_eq!(error.kind, ReadErrorKind::Bytes { limit: DEFINITION_BYTES_MAX, found });
        }
    }

    /// R1.1: unknown fields, vendor annotations, key order and exact numbers survive.
    #[test]
    fn everything_given_comes_back() {
        let text = concat!(
            r#"{"defer_loading":true,"outputSchema":null,"name":"x","annotations":{"x-cost":0.60,"readOnly":true,"priority":1},"#,
            r#""inputSchema":{"type":"object","required":["z","a"],"properties":{"z":{"maximum":9007199254740993},"a":{"multipleOf":1e-2}}},"#,
            r#""allowed_callers":["direct"],"_meta":{"k":[1.0,-0,"\u00e9"]}}"#
        );
        let definition = Definition::parse(text).unwrap();
        assert_eq!(definition.text(), text);
        assert_eq!(definition.input_schema().unwrap().get("type").unwrap().as_str().unwrap(), "object");
        assert!(definition.output_schema().is_none());
    }

    /// R1.2: the wire has the specification's names; the stored text does not change.
    #[test]
    fn wire_text_renames_hints_in_place() {
        let definition =
            Definition::parse(r#"{"name":"x","annotations":{"readOnly":true},"title":"X"}"#).unwrap();
        assert_eq!(definition.wire_text(), r#"{"name":"x","annotations":{"readOnlyHint":true},"title":"X"}"#);
        assert_eq!(definition.text(), r#"{"name":"x","annotations":{"readOnly":true},"title":"X"}"#);
    }

    #[test]
    fn each_refusal_is_its_own_error() {
        let refuse = |text: &str| Definition::parse(text).unwrap_err().to_string();
        assert_eq!(refuse("[]"), "a definition is a JSON object, this is array");
        assert_eq!(refuse("{}"), "/name: a definition has a name");
        assert_eq!(refuse(r#"{"name":7}"#), "/name: a name is a non-empty string, this is number");
        assert_eq!(refuse(r#"{"name":""}"#), "/name: a name is a non-empty string, this is empty");
        assert_eq!(refuse(r#"{"name":"a","name":"b"}"#), "duplicate key \"name\" at byte 22");
    }

    #[test]
    fn title_has_the_specifications_order() {
        let title = |text: &str| Definition::parse(text).unwrap().title().map(Cow::into_owned);
        assert_eq!(title(r#"{"name":"x","annotations":{"title":"B"},"title":"A"}"#).as_deref(), Some("A"));
        assert_eq!(title(r#"{"name":"x","annotations":{"title":"B"}}"#).as_deref(), Some("B"));
        assert_eq!(title(r#"{"name":"x"}"#), None);
    }
}
