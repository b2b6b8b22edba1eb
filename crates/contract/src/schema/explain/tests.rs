//! Adversarial schemas and values; each is checked and explained within its limits.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::json::{Document, Limits, OwnedDocument};
use crate::limits::{
    CHECK_STEPS_MAX, VIOLATION_ALLOWED_CHARS_MAX, VIOLATION_BYTES_MAX, VIOLATION_KNOWN_MAX,
    VIOLATION_PATH_BYTES_MAX, VIOLATION_STEPS_MAX,
};
use crate::schema::{Schema, SchemaOptions};
use crate::violation::{Ended, Violations};

/// Maximum bytes of memory for a report, besides a share that grows with value and schema.
const REPORT_BYTES: u64 = 1024 * 1024;
/// Maximum time of a check in an unoptimised build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(4);

/// Checks a value that must be refused, and asserts the time and memory that LIMITS.md promises.
fn refused(schema: &Value, text: &str) -> Violations {
    let schema = OwnedDocument::parse(schema.to_string(), &Limits::definition()).unwrap();
    let compiled = Schema::compile(schema.root(), &SchemaOptions::default()).unwrap();
    let instance = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
    let begun = Instant::now();
    let mut violations = None;
    let used = allocation_counter::measure(|| {
        violations = compiled.check(schema.root(), instance.root()).err();
    });
    let took = begun.elapsed();
    assert!(took < PATIENCE, "{took:?}");
    // The explanation first reads the schema into a tree.
    let schema_bytes = schema.root().raw().len() as u64;
    let allowed = 32 * text.len() as u64 + 64 * schema_bytes + REPORT_BYTES;
    assert!(used.bytes_max <= allowed, "{} bytes, {allowed} allowed", used.bytes_max);
    let violations = violations.expect("a value that is refused");
    assert!(violations.full().len() <= 3 * VIOLATION_BYTES_MAX, "{} bytes", violations.full().len());
    violations
}

/// Schema for a list of blocks, as note-taking services have it: ten kinds of block, each with children.
fn blocks() -> Value {
    let kinds =
        ["paragraph", "heading", "quote", "todo", "toggle", "code", "callout", "table", "column", "image"];
    let variant = |kind: &&str| {
        json!({"type": "object", "required": ["type", kind], "properties": {
            "type": {"const": kind},
            *kind: {"type": "object", "properties": {"text": {"type": "string"}}},
            "children": {"type": "array", "items": {"$ref": "#/$defs/block"}}}})
    };
    json!({"type": "object", "required": ["blocks"],
        "properties": {"blocks": {"type": "array", "items": {"$ref": "#/$defs/block"}}},
        "$defs": {"block": {"anyOf": kinds.iter().map(variant).collect::<Vec<_>>()}}})
}

/// R1.8: an ordinary mistake, fourteen levels deep in an ordinary recursive schema, is located.
#[test]
fn a_mistake_deep_in_a_recursive_list_of_blocks_is_explained() {
    let leaf = json!({"type": "paragraph", "paragraph": {"text": 7}});
    let nested = (0..14).fold(leaf, |inner, _| {
        let sibling = json!({"type": "quote", "quote": {"text": "x".repeat(400)}});
        json!({"type": "toggle", "toggle": {}, "children": [sibling, inner]})
    });
    let violations = refused(&blocks(), &json!({"blocks": [nested]}).to_string());
    let line = violations.one_line();
    assert!(line.starts_with("/blocks/0: expected one of 10 alternatives to match, none does"), "{line}");
    let place = format!("/blocks/0{}/paragraph/text", "/children/1".repeat(14));
    assert!(line.ends_with(&format!("(closest: {place}: expected a string; got 7)")), "{line}");
}

/// R1.8: the violation names the wrong place inside the closest branch, not only the branch.
#[test]
fn the_closest_branch_is_followed_to_the_mistake() {
    let block = json!({"type": "toggle", "toggle": {}, "children": [{"type": "code", "code": {"text": 7}}]});
    let violations = refused(&blocks(), &json!({"blocks": [block]}).to_string());
    assert!(
        violations
            .one_line()
            .ends_with("(closest: /blocks/0/children/0/code/text: expected a string; got 7)"),
        "{violations}"
    );
}

/// R1.8: eight branches that all refer to the same subschema; 57 bytes of arguments once exhausted memory.
#[test]
fn equal_recursive_branches_cost_no_more_than_one() {
    let branch = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"]});
    let schema = json!({"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": vec![branch; 8]}}});
    let nested = (0..9).fold(json!(1), |inner, _| json!({"a": inner}));
    let violations = refused(&schema, &nested.to_string());
    assert!(violations.one_line().contains("one of 8 alternatives"), "{violations}");
    let deep = (0..100).fold(json!(1), |inner, _| json!({"a": inner}));
    refused(&schema, &deep.to_string());
}

/// `VIOLATIONS_MAX`: half a million wrong items do not become half a million errors.
#[test]
fn many_wrong_items_cost_as_much_as_the_first_ones() {
    let text = format!("[{}0]", "0,".repeat(250_000));
    let violations = refused(&json!({"items": {"anyOf": [{"type": "string"}, {"type": "boolean"}]}}), &text);
    assert_eq!(violations.ended(), Some(Ended::Violations));
}

/// `VIOLATION_STEPS_MAX`: the explanation ends before it reaches a mistake that is too far away.
#[test]
fn beyond_violation_steps_max_the_limit_is_named() {
    let steps = usize::try_from(VIOLATION_STEPS_MAX).unwrap();
    let either = json!({"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer", "maximum": 5}]});
    let text = format!("[{}true]", "5,".repeat(steps / 5));
    let violations = refused(&json!({"items": either}), &text);
    assert_eq!(violations.ended(), Some(Ended::Steps));
    assert!(violations.one_line().ends_with("the explanation ended at VIOLATION_STEPS_MAX"), "{violations}");
}

/// `CHECK_STEPS_MAX`: subschemas that read nothing of a value also cost steps.
#[test]
fn beyond_check_steps_max_a_value_is_refused_by_the_limits_name() {
    let nothing = json!({"items": {"allOf": vec![json!({}); 4_000]}});
    let violations = refused(&nothing, &format!("[{}0]", "0,".repeat(100_000)));
    assert_eq!(violations.ended(), Some(Ended::CheckSteps));
    assert!(violations.one_line().contains("within CHECK_STEPS_MAX"), "{violations}");
    let few = usize::try_from(CHECK_STEPS_MAX / 4_000).unwrap();
    let text = format!("[{}0]", "0,".repeat(few));
    let schema = OwnedDocument::parse(nothing.to_string(), &Limits::definition()).unwrap();
    let compiled = Schema::compile(schema.root(), &SchemaOptions::default()).unwrap();
    let instance = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
    assert!(compiled.accepts(instance.root()), "what is within the limit is accepted");
}

/// `CHECK_STEPS_MAX` bounds patterns against names, strings, enums, and combinations of them.
#[test]
fn products_of_schema_and_value_are_bounded() {
    let names = |count: usize| {
        let mut text = String::from("{");
        for number in 0..count {
            let _ = write!(text, "\"member{number:06}\":{number},");
        }
        text + "\"last\":\"x\"}"
    };
    let patterns: Value =
        (0..200).map(|n| (format!("^member.*[a-z]{n}$"), json!({"type": "integer"}))).collect();
    let enumeration: Vec<Value> = (0..4_000).map(|n| json!({"value": n})).collect();
    let required: Vec<String> = (0..4_000).map(|n| format!("member{n:06}")).collect();
    let declared: Value = (0..4_000).map(|n| (format!("member{n:06}"), json!({"minimum": -1}))).collect();
    for (schema, text) in [
        (json!({"patternProperties": patterns, "additionalProperties": false}), names(40_000)),
        (json!({"patternProperties": patterns, "maxProperties": 3}), names(40_000)),
        (json!({"items": {"enum": enumeration}}), format!("[{}0]", "{\"value\":-1},".repeat(70_000))),
        (json!({"required": required, "maxProperties": 3}), names(40_000)),
        (json!({"properties": declared, "maxProperties": 3}), names(40_000)),
        (json!({"uniqueItems": true, "maxItems": 1}), format!("[{}0]", "{\"a\":[1]},".repeat(90_000))),
        (json!({"propertyNames": {"minLength": 5, "pattern": "r"}, "maxProperties": 3}), names(40_000)),
        (json!({"unevaluatedProperties": false, "properties": declared}), names(40_000)),
        (
            json!({"contains": {"const": 1}, "items": {"not": {"multipleOf": 7}}}),
            format!("[{}0]", "3,".repeat(250_000)),
        ),
        (json!({"type": "integer", "multipleOf": 3, "maximum": 1}), "9".repeat(300)),
        (json!({"pattern": "(a|b|ab)*c$", "minLength": 5}), format!("\"{}\"", "ab".repeat(500_000))),
    ] {
        refused(&schema, &text);
    }
}

/// `CHECK_STACK_BYTES_MAX`: many subschemas in place, at each of many levels.
#[test]
fn recursion_ends_before_the_stack_does() {
    let in_place = (0..50).fold(json!({"items": {"$ref": "#"}}), |inner, _| json!({"allOf": [inner]}));
    let deep = format!("{}{}", "[".repeat(127), "]".repeat(127));
    let schema = OwnedDocument::parse(in_place.to_string(), &Limits::definition()).unwrap();
    let compiled = Schema::compile(schema.root(), &SchemaOptions::default()).unwrap();
    let instance = Document::parse(deep.as_bytes(), &Limits::message()).unwrap();
    // Whether the check fits depends on the build; that the process survives does not.
    if let Err(violations) = compiled.check(schema.root(), instance.root()) {
        assert_eq!(violations.ended(), Some(Ended::CheckStack), "{violations}");
    }
}

/// `VIOLATION_BYTES_MAX`, `VIOLATION_PATH_BYTES_MAX`, `VIOLATION_ALLOWED_CHARS_MAX`, `VIOLATION_KNOWN_MAX`: long
/// parts of schema and value are cut in the report.
#[test]
fn long_names_values_and_paths_are_cut() {
    let long = "n".repeat(100_000);
    let path = refused(&json!({"additionalProperties": {"type": "string"}}), &json!({&long: 1}).to_string());
    assert!(path.as_slice()[0].instance_path.as_str().len() <= VIOLATION_PATH_BYTES_MAX + 16);
    let unknown = refused(&json!({"additionalProperties": false}), &json!({&long: 1}).to_string());
    assert!(unknown.one_line().len() < 300, "{unknown}");
    let allowed = refused(&json!({"enum": [long]}), "1");
    assert_eq!(allowed.as_slice()[0].allowed[0].chars().count(), VIOLATION_ALLOWED_CHARS_MAX);
    let declared: Value = (0..VIOLATION_KNOWN_MAX + 7).map(|n| (format!("p{n}"), json!({}))).collect();
    let known = refused(&json!({"properties": declared, "additionalProperties": false}), r#"{"zzz":1}"#);
    assert!(known.one_line().contains(" and 7 more)"), "{known}");
    let keys: Value = (0..16).map(|n| (format!("{n}{}", "k".repeat(2_000)), json!(1))).collect();
    let many = refused(&json!({"additionalProperties": {"type": "string"}}), &keys.to_string());
    assert_eq!(many.ended(), Some(Ended::Bytes));
    assert!(many.as_slice().len() < 16 && many.one_line().contains("VIOLATION_BYTES_MAX"));
}
