//! Lint rules for `x-mcp-header` (MCP 2026-07-28). An HTTP client drops a tool that breaks one of them.

use super::Found;
use crate::definition::Definition;
use crate::json::{Kind, Node, Pointer};

/// Occurrence of `x-mcp-header`.
struct Header<'d> {
    pointer: Pointer,
    value: Node<'d>,
    schema: Node<'d>,
    parameter: String,
    /// `true` if it is reached from the root through `properties` alone.
    reachable: bool,
}

fn headers(definition: &Definition) -> Vec<Header<'_>> {
    let mut list = Vec::new();
    if let Some(schema) = definition.input_schema() {
        walk(schema, &mut Pointer::root().join("inputSchema"), "", true, &mut list);
    }
    list
}

/// Walks schemas, not values: a *property named* `x-mcp-header` is not a header.
fn walk<'d>(
    schema: Node<'d>,
    pointer: &mut Pointer,
    parameter: &str,
    reachable: bool,
    list: &mut Vec<Header<'d>>,
) {
    for (key, value) in schema.members() {
        let key = key.as_str().unwrap_or_default();
        pointer.push(&key);
        match key.as_ref() {
            "x-mcp-header" => list.push(Header {
                pointer: pointer.clone(),
                value,
                schema,
                parameter: parameter.to_owned(),
                // The root is not a parameter.
                reachable: reachable && !parameter.is_empty(),
            }),
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                for (name, child) in value.members() {
                    let name = name.as_str().unwrap_or_default();
                    pointer.push(&name);
                    walk(child, pointer, &name, reachable && key == "properties", list);
                    pointer.pop();
                }
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                for (i, child) in value.elements().enumerate() {
                    pointer.push(&i.to_string());
                    walk(child, pointer, parameter, false, list);
                    pointer.pop();
                }
            }
            "items"
            | "additionalProperties"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames"
                if value.kind() == Kind::Object =>
            {
                walk(value, pointer, parameter, false, list);
            }
            _ => {}
        }
        pointer.pop();
    }
}

/// `true` if `text` is a token of RFC 9110.
fn is_token(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(allowed)
}

pub(super) fn token(definition: &Definition, found: &mut Vec<Found>) {
    for header in headers(definition) {
        match header.value.as_str() {
            Some(name) if is_token(&name) => {}
            _ => found.push((header.pointer, format!("{} is no header name", header.value.to_compact()))),
        }
    }
}

pub(super) fn duplicate(definition: &Definition, found: &mut Vec<Found>) {
    let mut seen: Vec<String> = Vec::new();
    for header in headers(definition) {
        let Some(name) = header.value.as_str() else { continue };
        let folded = name.to_ascii_lowercase();
        if seen.contains(&folded) {
            found.push((header.pointer, format!("the header {name:?} is used twice (case does not count)")));
        } else {
            seen.push(folded);
        }
    }
}

pub(super) fn wrong_type(definition: &Definition, found: &mut Vec<Found>) {
    for header in headers(definition) {
        let kind = header.schema.get("type").and_then(Node::as_str);
        if !matches!(kind.as_deref(), Some("string" | "integer" | "boolean")) {
            let kind = kind.map_or_else(|| "nothing".to_owned(), |k| format!("{k:?}"));
            let message = format!("a header needs the type string, integer or boolean, this has {kind}");
            found.push((header.pointer, message));
        }
    }
}

pub(super) fn wrong_place(definition: &Definition, found: &mut Vec<Found>) {
    for header in headers(definition).into_iter().filter(|h| !h.reachable) {
        found.push((header.pointer, "not reached from the root through \"properties\" alone".to_owned()));
    }
}

pub(super) fn secret(definition: &Definition, found: &mut Vec<Found>) {
    for header in headers(definition) {
        let secret = crate::violation::is_secret(&header.parameter)
            || header.schema.get("format").is_some_and(|f| f.is_text("password"))
            || header.schema.get("writeOnly").and_then(Node::as_bool) == Some(true);
        if secret {
            let message = format!("the secret {:?} would be copied into a header", header.parameter);
            found.push((header.pointer, message));
        }
    }
}
