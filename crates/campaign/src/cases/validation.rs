//! Values of up to 1 MiB that are costly to check against an admitted schema.

use serde_json::{Value, json};

use super::explanations::{output, refused};
use crate::case::Case;

/// Bytes of a body for which the CPU limits hold.
const BODY_BYTES: usize = 1 << 20;
const SMALL_BODY_BYTES: usize = 1 << 14;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("validation", "wrong-items", |setting| {
            let schema = list_of(&json!({"type": "string"}));
            refused(&schema, &numbers(setting.size(500_000, 5_000), "1"))
        }),
        Case::new("validation", "wrong-items-in-output", |setting| {
            let schema = list_of(&json!({"type": "string"}));
            output(&schema, &numbers(setting.size(500_000, 5_000), "1"))
        }),
        Case::new("validation", "large-expansion", |setting| {
            refused(&expanding(), &numbers(setting.size(500_000, 5_000), "\"x\""))
        }),
        Case::new("validation", "patterns-against-keys", |setting| {
            refused(&many_patterns(), &keys(setting.size(BODY_BYTES, SMALL_BODY_BYTES)))
        }),
        Case::new("validation", "pattern-of-many-states", |setting| {
            let schema = list_of(&json!({"pattern": "^(a|b)*a(a|b){900}$"}));
            let text = "ab".repeat(setting.size(BODY_BYTES, SMALL_BODY_BYTES) / 2 - 64);
            refused(&schema, &format!("{{\"items\":[\"{text}\"]}}"))
        }),
        Case::new("validation", "pattern-of-many-states-against-many-texts", |setting| {
            let schema = list_of(&json!({"pattern": "^(a|b)*a(a|b){900}$"}));
            let texts = vec!["ab".repeat(400); setting.size(1_300, 20)];
            refused(&schema, &json!({"items": texts}).to_string())
        }),
        Case::new("validation", "unique-numbers", |setting| {
            let schema = unique();
            refused(&schema, &different_numbers(setting.size(BODY_BYTES, SMALL_BODY_BYTES)))
        }),
        Case::new("validation", "unique-objects", |setting| {
            refused(&unique(), &different_objects(setting.size(BODY_BYTES, SMALL_BODY_BYTES)))
        }),
        Case::new("validation", "deep-nesting", |setting| {
            refused(&tree(), &deep(setting.size(BODY_BYTES, SMALL_BODY_BYTES)))
        }),
        Case::new("validation", "long-enum", |setting| {
            let allowed: Vec<String> = (0..5_000).map(|number| format!("allowed value {number}")).collect();
            let schema = list_of(&json!({"enum": allowed}));
            refused(&schema, &numbers(setting.size(500_000, 5_000), "1"))
        }),
        Case::new("validation", "one-of-many", |setting| {
            let branch = |number: usize| json!({"type": "integer", "multipleOf": number + 2});
            let branches: Vec<Value> = (0..50).map(branch).collect();
            refused(&list_of(&json!({"oneOf": branches})), &numbers(setting.size(500_000, 5_000), "1"))
        }),
        Case::new("validation", "unevaluated", |setting| {
            let branch =
                |number: usize| json!({"patternProperties": {format!("^k{number}"): {"type": "integer"}}});
            let branches: Vec<Value> = (0..20).map(branch).collect();
            let schema = json!({"type": "object", "anyOf": branches, "unevaluatedProperties": false});
            refused(&schema, &keys(setting.size(BODY_BYTES, SMALL_BODY_BYTES)))
        }),
    ]
}

fn list_of(items: &Value) -> Value {
    json!({"type": "object", "properties": {"items": {"type": "array", "items": items}}})
}

fn unique() -> Value {
    json!({"type": "object", "properties": {"items": {"type": "array", "uniqueItems": true}}})
}

/// Schema in which every item is tested against thousands of branches, of which only the last accepts an integer.
fn expanding() -> Value {
    let inner = |depth: usize| json!({"$ref": format!("#/$defs/d{}", depth + 1)});
    let mut definitions = serde_json::Map::new();
    for depth in 0..3 {
        definitions.insert(format!("d{depth}"), json!({"anyOf": vec![inner(depth); 16]}));
    }
    definitions.insert("d3".to_owned(), json!({"const": "never"}));
    json!({"type": "object", "properties": {"items": {"type": "array", "items": {
        "anyOf": [{"$ref": "#/$defs/d0"}, {"type": "integer"}]}}}, "$defs": definitions})
}

fn many_patterns() -> Value {
    let mut patterns = serde_json::Map::new();
    for number in 0..256 {
        patterns.insert(format!("^[a-z]+_{number}_[0-9]+$"), json!({"type": "string"}));
    }
    json!({"type": "object", "patternProperties": patterns, "additionalProperties": {"type": "integer"}})
}

fn tree() -> Value {
    json!({"type": "object", "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
        "$defs": {"n": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/n"}}]}}})
}

/// Returns `{"items":[1,1,…]}` with this last item.
fn numbers(count: usize, last: &str) -> String {
    format!("{{\"items\":[{}{last}]}}", "1,".repeat(count))
}

fn different_numbers(bytes: usize) -> String {
    let mut text = "{\"items\":[".to_owned();
    let mut number = 0;
    while text.len() < bytes - 16 {
        text.push_str(&format!("{number},"));
        number += 1;
    }
    text + "0]}"
}

fn different_objects(bytes: usize) -> String {
    let mut text = "{\"items\":[".to_owned();
    let mut number = 0;
    while text.len() < bytes - 32 {
        text.push_str(&format!("{{\"a\":[{number}]}},"));
        number += 1;
    }
    text + "{\"a\":[0]}]}"
}

fn keys(bytes: usize) -> String {
    let mut text = "{".to_owned();
    let mut number = 0;
    while text.len() < bytes - 32 {
        text.push_str(&format!("\"k{number}\":1,"));
        number += 1;
    }
    text + "\"z\":\"no\"}"
}

/// Nested arrays up to the accepted depth, repeated, with one wrong leaf at the end.
fn deep(bytes: usize) -> String {
    const DEPTH: usize = 110;
    let one = "[".repeat(DEPTH) + "1" + &"]".repeat(DEPTH);
    let many = vec![one.as_str(); bytes / (one.len() + 1)].join(",");
    let wrong = "[".repeat(DEPTH) + "\"x\"" + &"]".repeat(DEPTH);
    format!("{{\"items\":[{many},{wrong}]}}")
}
