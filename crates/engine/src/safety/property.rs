//! `confirmation_token`: advertising the argument in schemas, and removing it from calls (R4.2).
//!
//! Guarantees: it is removed before the arguments are validated, so neither schema nor tool ever sees it. A tool
//! whose own schema has a property of that name keeps it, unless the value has the prefix of our tokens or handles.

use toolcrib_contract::json::{Document, Limits, Node, ObjectWriter, OwnedDocument};

use super::ticket::{APPROVAL_PREFIX, ARGUMENT, TOKEN_PREFIX};
use crate::entry::Entry;
use crate::tool::Arguments;

const SCHEMA: &str = r#"{"type":"string","description":"Confirms this call: a token from get_confirmation_token, or the handle of an approval. Used once; the tool itself does not see it."}"#;

/// Splits the arguments into those of the tool and the token.
pub(crate) fn take<'a>(entry: &Entry, arguments: Node<'a>) -> (Arguments<'a>, Option<Box<str>>) {
    let Some(value) = arguments.get(ARGUMENT) else { return (Arguments::Sent(arguments), None) };
    let text = value.as_str();
    let is_ours =
        text.as_ref().is_some_and(|text| text.starts_with(TOKEN_PREFIX) || text.starts_with(APPROVAL_PREFIX));
    if owns(entry) && !is_ours {
        return (Arguments::Sent(arguments), None);
    }
    let mut rest = ObjectWriter::new();
    for (key, value) in arguments.members().filter(|(key, _)| !key.is_text(ARGUMENT)) {
        rest.copy(key, value);
    }
    let limits = Limits::message().with_bytes_max(usize::MAX);
    match OwnedDocument::parse(rest.finish(), &limits) {
        // A value that is not a string cannot be a token; the gate refuses the empty text.
        Ok(document) => (Arguments::Rewritten(document), Some(text.map_or_else(Box::default, Into::into))),
        Err(_) => (Arguments::Sent(arguments), None),
    }
}

/// Returns true if the tool's own schema has a property of this name.
fn owns(entry: &Entry) -> bool {
    let schema = entry.contract().definition().input_schema();
    schema.and_then(|schema| schema.get("properties")).is_some_and(|all| all.get(ARGUMENT).is_some())
}

/// Returns a definition as raw JSON whose input schema has the token property; `None` if nothing changes.
pub(crate) fn advertise(entry: &Entry, raw: &str) -> Option<String> {
    if owns(entry) {
        return None;
    }
    let document = Document::parse(raw.as_bytes(), &Limits::definition()).ok()?;
    let mut definition = ObjectWriter::new();
    for (key, value) in document.root().members() {
        if key.is_text("inputSchema") {
            definition.raw("inputSchema", &with_property(value));
        } else {
            definition.copy(key, value);
        }
    }
    Some(definition.finish())
}

fn with_property(schema: Node<'_>) -> String {
    let mut out = ObjectWriter::new();
    let mut done = false;
    for (key, value) in schema.members() {
        if key.is_text("properties") && value.is_object() {
            let mut properties = ObjectWriter::new();
            for (name, property) in value.members() {
                properties.copy(name, property);
            }
            properties.raw(ARGUMENT, SCHEMA);
            out.raw("properties", &properties.finish());
            done = true;
        } else {
            out.copy(key, value);
        }
    }
    if !done {
        let mut properties = ObjectWriter::new();
        properties.raw(ARGUMENT, SCHEMA);
        out.raw("properties", &properties.finish());
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R4.2: only the one property is added; everything else keeps its value and position.
    #[test]
    fn the_property_is_added_and_nothing_else_changes() {
        let text = r#"{"type":"object","x":0.60,"properties":{"b":{},"a":{}},"required":["b"]}"#;
        let document = Document::parse(text.as_bytes(), &Limits::definition()).unwrap();
        let grown = with_property(document.root());
        assert_eq!(grown.replace(&format!(r#","confirmation_token":{SCHEMA}"#), ""), text);
        let bare = Document::parse(br#"{"type":"object"}"#, &Limits::definition()).unwrap();
        assert!(with_property(bare.root()).contains(r#""properties":{"confirmation_token":"#));
    }
}
