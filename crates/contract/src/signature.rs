//! Readable signatures: `get_weather(location: string, units?: "c" | "f") → { temperature: number, conditions: string
//! }`.
//!
//! A signature is a summary: everything in a schema except types, names and literals is left out, and deep or long
//! parts become `…`. Hidden characters are escaped.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt::Write as _;

use crate::definition::Definition;
use crate::json::{Kind, Node, Pointer};
use crate::text::one_line;

/// Maximum nesting depth of objects that are written out.
const DEPTH_MAX: usize = 3;
/// Maximum alternatives and literals that are written out.
const ALTERNATIVES_MAX: usize = 8;
/// Maximum members of one object that are written out.
const MEMBERS_MAX: usize = 24;
/// Maximum schemas visited for one signature; references could multiply them without bound.
const SCHEMAS_MAX: usize = 2_000;

/// Returns the signature of `definition`. Without an input schema the parameters are `…`.
#[must_use]
pub fn signature(definition: &Definition) -> String {
    let mut out = one_line(definition.name());
    out.push('(');
    match definition.input_schema() {
        Some(schema) => out.push_str(&Writer::new(schema).parameters()),
        None => out.push('…'),
    }
    out.push(')');
    if let Some(schema) = definition.output_schema() {
        let _ = write!(out, " → {}", Writer::new(schema).type_of(schema, 0));
    }
    out
}

/// Returns the type that `schema` describes, in the notation of signatures.
#[must_use]
pub fn type_text(schema: Node<'_>) -> String {
    Writer::new(schema).type_of(schema, 0)
}

struct Writer<'d> {
    root: Node<'d>,
    schemas_left: Cell<usize>,
}

impl<'d> Writer<'d> {
    fn new(root: Node<'d>) -> Self {
        Self { root, schemas_left: Cell::new(SCHEMAS_MAX) }
    }

    fn parameters(&self) -> String {
        let schema = self.followed(self.root);
        let mut parts = self.members(schema, 1);
        if parts.is_empty()
            && let Some(any) = self.map_type(schema, 1)
        {
            parts.push(format!("[name]: {any}"));
        }
        parts.join(", ")
    }

    fn type_of(&self, schema: Node<'d>, depth: usize) -> String {
        match self.schemas_left.get().checked_sub(1) {
            Some(left) => self.schemas_left.set(left),
            None => return "…".to_owned(),
        }
        match schema.as_bool() {
            Some(true) => return "any".to_owned(),
            Some(false) => return "never".to_owned(),
            None => {}
        }
        if let Some(reference) = schema.get("$ref").and_then(Node::as_str) {
            return match self.resolve(&reference) {
                Some(target) if depth < DEPTH_MAX => self.type_of(target, depth + 1),
                _ => one_line(reference.rsplit('/').next().unwrap_or("any")),
            };
        }
        if let Some(value) = schema.get("const") {
            return literal(value);
        }
        if let Some(values) = schema.get("enum") {
            return union(values.elements().map(literal));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(list) = schema.get(keyword) {
                return union(list.elements().map(|s| self.type_of(s, depth + 1)));
            }
        }
        if schema.get("type").is_none()
            && let Some(list) = schema.get("allOf")
        {
            let parts: Vec<_> = list.elements().map(|s| self.type_of(s, depth + 1)).collect();
            return parts.join(" & ");
        }
        match schema.get("type").map(|t| (t, t.kind())) {
            Some((list, Kind::Array)) => {
                union(list.elements().filter_map(Node::as_str).map(|name| self.named(&name, schema, depth)))
            }
            Some((name, _)) => self.named(&name.as_str().unwrap_or(Cow::Borrowed("any")), schema, depth),
            None if schema.get("properties").is_some() => self.object(schema, depth),
            None if schema.get("items").is_some() => self.array(schema, depth),
            None => "any".to_owned(),
        }
    }

    fn named(&self, name: &str, schema: Node<'d>, depth: usize) -> String {
        match name {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, depth),
            other => one_line(other),
        }
    }

    fn object(&self, schema: Node<'d>, depth: usize) -> String {
        if depth >= DEPTH_MAX {
            return "{ … }".to_owned();
        }
        let members = self.members(schema, depth + 1);
        if members.is_empty() {
            return match self.map_type(schema, depth + 1) {
                Some(any) => format!("{{ [name]: {any} }}"),
                None => "object".to_owned(),
            };
        }
        format!("{{ {} }}", members.join(", "))
    }

    fn map_type(&self, schema: Node<'d>, depth: usize) -> Option<String> {
        schema.get("additionalProperties").filter(|s| s.is_object()).map(|s| self.type_of(s, depth))
    }

    fn members(&self, schema: Node<'d>, depth: usize) -> Vec<String> {
        let required = |name: &str| {
            schema.get("required").is_some_and(|list| list.elements().any(|entry| entry.is_text(name)))
        };
        let Some(properties) = schema.get("properties") else { return Vec::new() };
        let mut parts: Vec<_> = properties
            .members()
            .take(MEMBERS_MAX)
            .map(|(name, member)| {
                let name = name.as_str().unwrap_or_default();
                let mark = if required(&name) { "" } else { "?" };
                format!("{}{mark}: {}", key(&name), self.type_of(member, depth))
            })
            .collect();
        if properties.len() > MEMBERS_MAX {
            parts.push("…".to_owned());
        }
        parts
    }

    fn array(&self, schema: Node<'d>, depth: usize) -> String {
        let tuple =
            schema.get("prefixItems").or_else(|| schema.get("items").filter(|items| items.is_array()));
        if let Some(tuple) = tuple {
            let parts: Vec<_> = tuple.elements().map(|s| self.type_of(s, depth + 1)).collect();
            return format!("[{}]", parts.join(", "));
        }
        let Some(items) = schema.get("items") else { return "any[]".to_owned() };
        let item = self.type_of(items, depth);
        if item.contains(" | ") && !item.starts_with('{') || item.contains(" & ") {
            format!("({item})[]")
        } else {
            format!("{item}[]")
        }
    }

    fn followed(&self, schema: Node<'d>) -> Node<'d> {
        let target = schema.get("$ref").and_then(Node::as_str).and_then(|r| self.resolve(&r));
        target.filter(|_| schema.get("properties").is_none()).unwrap_or(schema)
    }

    fn resolve(&self, reference: &str) -> Option<Node<'d>> {
        let pointer = reference.strip_prefix('#')?;
        (pointer.is_empty() || pointer.starts_with('/'))
            .then(|| self.root.pointer(&Pointer::from_escaped(pointer)))
            .flatten()
    }
}

fn key(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.'));
    if plain && !name.is_empty() { name.to_owned() } else { format!("\"{}\"", one_line(name)) }
}

fn literal(value: Node<'_>) -> String {
    one_line(&value.to_compact())
}

fn union(parts: impl Iterator<Item = String>) -> String {
    let mut unique: Vec<String> = Vec::new();
    for part in parts {
        if unique.contains(&part) {
            continue;
        }
        if unique.len() == ALTERNATIVES_MAX {
            unique.push("…".to_owned());
            break;
        }
        unique.push(part);
    }
    if unique.is_empty() { "never".to_owned() } else { unique.join(" | ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        signature(&Definition::parse(text).unwrap())
    }

    #[test]
    fn weather_reads_as_people_write_it() {
        let text = r#"{"name":"get_weather",
            "inputSchema":{"type":"object","required":["location"],"properties":{"location":{"type":"string"},"units":{"enum":["c","f"]}}},
            "outputSchema":{"type":"object","required":["temperature","conditions"],"properties":{"temperature":{"type":"number"},"conditions":{"type":"string"}}}}"#;
        assert_eq!(
            of(text),
            r#"get_weather(location: string, units?: "c" | "f") → { temperature: number, conditions: string }"#
        );
    }

    #[test]
    fn every_shape_has_a_short_form() {
        let of_type = |schema: &str| {
            let text = format!(r#"{{"name":"f","inputSchema":{{"type":"object"}},"outputSchema":{schema}}}"#);
            of(&text).strip_prefix("f() → ").unwrap().to_owned()
        };
        for (schema, expected) in [
            (r#"{"type":["string","null"]}"#, "string | null"),
            (r#"{"type":"array","items":{"type":"string"}}"#, "string[]"),
            (r#"{"type":"array","items":{"type":["string","integer"]}}"#, "(string | integer)[]"),
            (r#"{"type":"array"}"#, "any[]"),
            (r#"{"type":"array","prefixItems":[{"type":"number"},{"const":1}]}"#, "[number, 1]"),
            (r#"{"type":"object"}"#, "object"),
            (r#"{"type":"object","additionalProperties":{"type":"integer"}}"#, "{ [name]: integer }"),
            (
                r#"{"anyOf":[{"type":"string"},{"type":"object","properties":{"a b":{}}}]}"#,
                r#"string | { "a b"?: any }"#,
            ),
            (r#"{"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}"#, "{ a?: any } & { b?: any }"),
            (
                r##"{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/t"}}}}}}"##,
                "{ kids?: { … }[] }",
            ),
            (r#"{"enum":[1,2,3,4,5,6,7,8,9]}"#, "1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | …"),
            ("true", "any"),
            ("false", "never"),
            (r#"{"enum":["a\u202e"]}"#, r#""a\u202e""#),
        ] {
            assert_eq!(of_type(schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_signature_stays_on_one_line() {
        let text = r#"{"name":"x","inputSchema":{"type":"object","properties":{"a\nb":{"type":"\tc"}}}}"#;
        assert_eq!(of(text), r#"x("a\u{a}b"?: \u{9}c)"#);
    }

    #[test]
    fn references_that_multiply_are_cut_short() {
        let again = vec![r##"{"$ref":"#/properties/a"}"##; 3_000].join(",");
        let text = format!(
            r#"{{"name":"x","inputSchema":{{"type":"object","properties":{{"a":{{"anyOf":[{again}]}},"b":{{}}}}}}}}"#
        );
        let shown = of(&text);
        assert!(shown.starts_with("x(a?: ") && shown.ends_with("b?: …)") && shown.len() < 1_000, "{shown}");
    }

    #[test]
    fn name_only_definitions_have_unknown_parameters() {
        assert_eq!(of(r#"{"name":"x"}"#), "x(…)");
        assert_eq!(of(r#"{"name":"x","inputSchema":{"type":"object","additionalProperties":false}}"#), "x()");
    }
}
