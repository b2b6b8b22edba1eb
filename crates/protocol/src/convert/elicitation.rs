//! Conversion of elicitation parameters for an older revision.
//!
//! Before 2025-11-25 there is no `mode` and no array property, only booleans have a default, and a titled enum is
//! `enum` with `enumNames`. URL mode has no older form.

use std::borrow::Cow;

use serde_json::{Map, Value};
use toolcrib_contract::json::Node;

use crate::revision::{Era, Revision};

/// Converts the parameters for `revision`; `None` if the revision cannot express the question.
#[must_use]
pub fn params<'a>(node: Node<'a>, revision: Revision) -> Option<Cow<'a, str>> {
    if revision.era() == Era::Modern || revision.has_rich_elicitation() {
        return Some(Cow::Borrowed(node.raw()));
    }
    if !revision.has_elicitation() || node.get("mode").is_some_and(|mode| mode.is_text("url")) {
        return None;
    }
    let Value::Object(mut object) = node.to_value() else { return None };
    object.shift_remove("mode");
    if let Some(Value::Object(schema)) = object.get_mut("requestedSchema") {
        simplify(schema);
    }
    Some(Cow::Owned(Value::Object(object).to_string()))
}

fn simplify(schema: &mut Map<String, Value>) {
    let mut dropped = Vec::new();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            let Value::Object(property) = property else { continue };
            if property.get("type").and_then(Value::as_str) == Some("array") {
                dropped.push(name.clone());
                continue;
            }
            if property.get("type").and_then(Value::as_str) != Some("boolean") {
                property.shift_remove("default");
            }
            flatten_titles(property);
        }
        properties.retain(|name, _| !dropped.contains(name));
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !dropped.iter().any(|gone| name.as_str() == Some(gone)));
    }
}

/// Converts `oneOf: [{const, title}]` to `enum` and `enumNames`.
fn flatten_titles(property: &mut Map<String, Value>) {
    let Some(Value::Array(options)) = property.shift_remove("oneOf") else { return };
    let values: Vec<Value> = options.iter().filter_map(|option| option.get("const").cloned()).collect();
    let names: Vec<Value> = options
        .iter()
        .filter_map(|option| option.get("title").or_else(|| option.get("const")).cloned())
        .collect();
    property.insert("enum".into(), Value::Array(values));
    property.insert("enumNames".into(), Value::Array(names));
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    #[test]
    fn a_rich_form_is_simplified_for_2025_06_18_and_unknown_before() {
        let text =
            json!({"mode": "form", "message": "m", "requestedSchema": {"type": "object", "properties": {
            "tags": {"type": "array", "items": {"type": "string"}},
            "age": {"type": "integer", "default": 3},
            "ok": {"type": "boolean", "default": true},
            "color": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}
        }, "required": ["tags", "age"]}})
            .to_string();
        let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
        let old: Value =
            serde_json::from_str(&params(document.root(), Revision::V2025_06_18).unwrap()).unwrap();
        assert_eq!(
            old,
            json!({"message": "m", "requestedSchema": {"type": "object", "properties": {
                "age": {"type": "integer"},
                "ok": {"type": "boolean", "default": true},
                "color": {"type": "string", "enum": ["r"], "enumNames": ["Red"]}
            }, "required": ["age"]}})
        );
        assert_eq!(params(document.root(), Revision::V2025_03_26), None);
        assert_eq!(params(document.root(), Revision::V2025_11_25).unwrap(), text);
    }
}
