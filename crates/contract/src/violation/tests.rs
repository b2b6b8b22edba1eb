use serde_json::{Value, json};

use super::*;
use crate::json::{Document, Limits, OwnedDocument};
use crate::schema::{Schema, SchemaOptions};

fn violations(schema: &Value, instance: &Value) -> Violations {
    let schema = OwnedDocument::parse(schema.to_string(), &Limits::definition()).unwrap();
    let text = instance.to_string();
    let instance = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
    let compiled = Schema::compile(schema.root(), &SchemaOptions::default()).unwrap();
    compiled.check(schema.root(), instance.root()).unwrap_err()
}

fn weather() -> Value {
    json!({
        "type": "object",
        "required": ["location"],
        "additionalProperties": false,
        "properties": {
            "location": {"type": "string", "minLength": 1},
            "units": {"enum": ["c", "f"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "api_key": {"type": "string", "pattern": "^k-"},
            "when": {"anyOf": [{"type": "object", "required": ["from"]}, {"type": "string", "pattern": "^\\d{4}$"}]}
        }
    })
}

/// R1.8: a violation names path in the value, path in the schema, keyword, expected and actual value, allowed values.
#[test]
fn violation_names_everything_needed_to_repair() {
    let found = violations(&weather(), &json!({"location": "Oslo", "units": "k"}));
    let [violation] = found.as_slice() else { panic!("{found}") };
    assert_eq!(violation.instance_path.as_str(), "/units");
    assert_eq!(violation.schema_path.as_str(), "/properties/units/enum");
    assert_eq!(violation.keyword, "enum");
    assert_eq!(violation.allowed, ["\"c\"", "\"f\""]);
    assert_eq!(violation.one_line(), "/units: expected one of \"c\", \"f\"; got \"k\"");
}

/// R1.8: an unknown property names the nearest known one; a missing one names its misspelling.
#[test]
fn unknown_property_names_the_nearest_known_one() {
    let found = violations(&weather(), &json!({"location": "Oslo", "unit": "c"}));
    assert_eq!(
        found.one_line(),
        "(root): expected no property \"unit\" (known: location, units, days, api_key, when) (did you mean \"units\" instead of \"unit\"?)"
    );
    let missing =
        violations(&json!({"required": ["query"], "properties": {"query": {}}}), &json!({"qurey": 1}));
    assert_eq!(
        missing.one_line(),
        "(root): expected the required property \"query\" (did you mean \"query\" instead of \"qurey\"?)"
    );
}

/// R1.8: actual values are shortened, and secrets are masked at every level.
#[test]
fn secrets_are_masked_and_long_values_cut() {
    let found = violations(&weather(), &json!({"location": "Oslo", "api_key": "hunter2"}));
    assert_eq!(found.one_line(), "/api_key: expected text matching /^k-/; got «masked»");
    let nested =
        violations(&json!({"type": "string"}), &json!({"user": "a", "auth": {"Access-Token": "hunter2"}}));
    assert_eq!(
        nested.one_line(),
        "(root): expected a string; got {\"user\":\"a\",\"auth\":{\"Access-Token\":«masked»}}"
    );
    let long = violations(&json!({"type": "string"}), &json!(vec!["abcdefgh"; 5000]));
    let line = long.one_line();
    let words = "(root): expected a string; got ".chars().count();
    assert_eq!(line.chars().count(), words + crate::limits::VIOLATION_VALUE_CHARS_MAX, "{line}");
    assert!(line.ends_with('…'), "{line}");
    let odd = violations(&json!({"type": "integer"}), &json!("a\u{1b}[31m\u{202e}"));
    assert_eq!(odd.one_line(), "(root): expected an integer; got \"a\\u{1b}[31m\\u{202e}\"");
}

/// R1.8: the masked forms show no value at all.
#[test]
fn values_are_masked_on_request() {
    let found = violations(&weather(), &json!({"location": "", "units": "k", "days": 20}));
    let masked = found.one_line_masked() + &found.full_masked();
    assert!(
        masked.contains("got an integer") && !masked.contains("20") && !masked.contains("\"k\""),
        "{masked}"
    );
}

/// R1.8: the one-line and the full form are readable.
#[test]
fn full_form_reads_well() {
    let found = violations(&weather(), &json!({"days": 0, "when": "soon", "units": "k"}));
    insta::assert_snapshot!(found.full(), @r#"
    /days: expected at least 1; got 0
      rule: minimum at /properties/days/minimum
    /when: expected one of 2 alternatives to match, none does; got "soon"
      rule: anyOf at /properties/when/anyOf
      the closest alternative refused:
        /when: expected text matching /^\d{4}$/; got "soon"
          rule: pattern at /properties/when/anyOf/1/pattern
    /units: expected one of "c", "f"; got "k"
      rule: enum at /properties/units/enum
      allowed: "c", "f"
    (root): expected the required property "location"
      rule: required at /required
    "#);
    insta::assert_snapshot!(found.list(), @r#"
    /days: expected at least 1; got 0
    /when: expected one of 2 alternatives to match, none does; got "soon" (closest: /when: expected text matching /^\d{4}$/; got "soon")
    /units: expected one of "c", "f"; got "k"
    (root): expected the required property "location"
    "#);
}

#[test]
fn the_number_of_violations_is_bounded() {
    let found = violations(&json!({"items": {"type": "string"}}), &json!(vec![1; 1000]));
    assert_eq!(found.as_slice().len(), crate::limits::VIOLATIONS_MAX);
    assert_eq!(found.ended(), Some(Ended::Violations));
    assert!(found.one_line().ends_with("and more"));
}

/// `VIOLATION_ALLOWED_MAX`: of a long enum only the first values are shown.
#[test]
fn no_more_values_are_shown_than_violation_allowed_max() {
    use crate::limits::VIOLATION_ALLOWED_MAX;
    let values: Vec<usize> = (0..VIOLATION_ALLOWED_MAX * 3).collect();
    let found = violations(&json!({"enum": values}), &json!("x"));
    let allowed = &found.as_slice()[0].allowed;
    assert_eq!(allowed.len(), VIOLATION_ALLOWED_MAX);
}

#[test]
fn every_keyword_has_words_of_its_own() {
    for (schema, instance, line) in [
        (json!({"const": 1}), json!(2), "(root): expected 1; got 2"),
        (json!({"multipleOf": 5}), json!(7), "(root): expected a multiple of 5; got 7"),
        (json!({"exclusiveMinimum": 5}), json!(5), "(root): expected more than 5; got 5"),
        (json!({"maxLength": 1}), json!("ab"), "(root): expected at most 1 character; got \"ab\""),
        (json!({"minItems": 2}), json!([1]), "(root): expected at least 2 items; got [1]"),
        (
            json!({"uniqueItems": true}),
            json!([1, 1]),
            "(root): expected items that are all different; got [1,1]",
        ),
        (json!({"type": ["string", "null"]}), json!(1), "(root): expected null or a string; got 1"),
        (
            json!({"properties": {"a": false}}),
            json!({"a": 1}),
            "/a: expected nothing here: no value is allowed; got 1",
        ),
        (
            json!({"not": {"type": "integer"}}),
            json!(1),
            "(root): expected a value that does not match a forbidden schema; got 1",
        ),
        (
            json!({"contains": {"type": "string"}}),
            json!([1]),
            "(root): expected an item that the schema asks for; got [1]",
        ),
        (
            json!({"oneOf": [{}, {}]}),
            json!(1),
            "(root): expected exactly one of 2 alternatives to match, 2 do; got 1",
        ),
        (
            json!({"maxProperties": 1}),
            json!({"a": 1, "b": 2}),
            "(root): expected at most 1 properties; got {\"a\":1,\"b\":2}",
        ),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            json!({"ab": 1}),
            "(root): expected property names that are at most 1 character, not \"ab\" (closest: (root): expected at most 1 character; got \"ab\")",
        ),
    ] {
        assert_eq!(violations(&schema, &instance).one_line(), line);
    }
}
