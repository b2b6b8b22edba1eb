//! Other spellings of the same JSON, produced without the crate's code.

use serde_json::{Map, Value};

/// Returns `text` without white space between its tokens.
pub(super) fn compact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            in_string = c != '"' || escaped;
            escaped = c == '\\' && !escaped;
        } else if matches!(c, ' ' | '\t' | '\r' | '\n') {
            continue;
        } else {
            in_string = c == '"';
        }
        out.push(c);
    }
    out
}

/// Returns the value with the keys of every object in an order that depends on `seed`.
pub(super) fn shuffled(value: &Value, seed: u64) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| shuffled(item, seed)).collect(),
        Value::Object(members) => {
            let mut keys: Vec<&String> = members.keys().collect();
            keys.sort_by_key(|key| {
                key.bytes().fold(seed, |hash, byte| {
                    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(7)
                })
            });
            let mut out = Map::new();
            for key in keys {
                out.insert(key.clone(), shuffled(&members[key], seed));
            }
            Value::Object(out)
        }
        scalar => scalar.clone(),
    }
}

#[test]
fn compact_keeps_white_space_inside_strings() {
    assert_eq!(compact("{ \"a \\\" b\\\\\" :\n[ 1 ,\t\"\\\\ \" ] }"), "{\"a \\\" b\\\\\":[1,\"\\\\ \"]}");
}

#[test]
fn shuffling_changes_the_order_and_nothing_else() {
    let value: Value =
        serde_json::from_str(r#"{"a":1,"b":{"c":[{"d":1,"e":2,"f":3,"g":4}]},"h":0}"#).unwrap();
    assert_eq!(shuffled(&value, 1), value);
    let text = value.to_string();
    for seed in 1..4 {
        let other = shuffled(&value, seed).to_string();
        assert_ne!(other, text);
    }
}
