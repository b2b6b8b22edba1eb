use serde_json::json;

use super::*;
use crate::json::{Document, Limits};

fn accepts(schema: &Value, text: &str) -> bool {
    let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
    Shortcut::of(schema, false).unwrap().accepts(document.root())
}

/// R1.7: valid values of a plain schema are accepted without the compiled validator, and no others.
#[test]
fn what_keeps_a_plain_schema_is_accepted_at_a_glance() {
    let schema = json!({"type": "object", "required": ["id"], "additionalProperties": false, "properties": {
        "id": {"type": "integer", "minimum": 0, "exclusiveMaximum": 10},
        "name": {"type": ["string", "null"], "minLength": 1, "maxLength": 3},
        "side": {"enum": ["buy", "sell"]},
        "rates": {"type": "array", "maxItems": 2, "items": {"type": "number", "exclusiveMinimum": 0.5}}
    }});
    for (text, accepted) in [
        (r#"{"id":0}"#, true),
        (r#"{"rates":[0.6,1],"side":"sell","name":"äöü","id":9}"#, true),
        (r#"{"id":1,"name":null}"#, true),
        (r#"{"id":10}"#, false),
        (r#"{"id":-1}"#, false),
        (r#"{"name":"a"}"#, false),
        (r#"{"id":1,"name":"äöüß"}"#, false),
        (r#"{"id":1,"name":""}"#, false),
        (r#"{"id":1,"side":"hold"}"#, false),
        (r#"{"id":1,"rates":[0.5]}"#, false),
        (r#"{"id":1,"rates":[1,1,1]}"#, false),
        (r#"{"id":1,"other":1}"#, false),
        (r"[]", false),
    ] {
        assert_eq!(accepts(&schema, text), accepted, "{text}");
    }
}

/// R1.7: values that need exact handling are left to the compiled validator.
#[test]
fn what_takes_care_is_left_to_the_validator() {
    // Valid in some dialects or after unescaping, which the shortcut does not decide.
    assert!(!accepts(&json!({"type": "integer"}), "1.0"));
    assert!(!accepts(&json!({"minimum": 1}), "18446744073709551615"));
    assert!(!accepts(&json!({"minimum": 0.5}), "9007199254740993"));
    assert!(!accepts(&json!({"maxLength": 1}), r#""\u0041""#));
    assert!(!accepts(&json!({"enum": ["A"]}), r#""\u0041""#));
    // An escaped key is compared by its unescaped text.
    assert!(!accepts(&json!({"properties": {"a": {"type": "null"}}}), r#"{"\u0061":1}"#));
    assert!(accepts(
        &json!({"properties": {"a": {"type": "null"}}, "required": ["a"]}),
        r#"{"\u0061":null}"#
    ));
}

/// R1.7: a schema with any other keyword is left to the compiled validator.
#[test]
fn a_schema_with_any_other_keyword_has_no_shortcut() {
    for schema in [
        json!({"$ref": "#/$defs/a", "$defs": {"a": {}}}),
        json!({"properties": {"a": {"pattern": "^a$"}}}),
        json!({"items": [{"type": "string"}]}),
        json!({"exclusiveMinimum": true, "minimum": 1}),
        json!({"enum": [1]}),
        json!({"enum": ["a"], "const": "b"}),
        json!({"required": ["undescribed"]}),
        json!({"minLength": 1.0}),
        json!({"minimum": 9_007_199_254_740_993_i64}),
        json!({"$id": "urn:x"}),
        json!({"additionalProperties": {"not": {}}}),
        json!(false),
    ] {
        assert!(Shortcut::of(&schema, false).is_none(), "{schema}");
    }
    assert!(Shortcut::of(&json!({"format": "date"}), false).is_some());
    assert!(Shortcut::of(&json!({"format": "date"}), true).is_none());
}
