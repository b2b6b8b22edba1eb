//! Pairs that published tools answer wrongly: tested bare and as property `x` of an object, in both directions, in
//! the open world, with every break confirmed by a second validator.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use serde_json::{Value, json};
use support::validators::Validators;
use toolcrib_containment::{Dialect, Direction, Options, Prover, Verdict, World};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Truth {
    Breaking,
    Compatible,
}
use Truth::{Breaking as B, Compatible as C};

struct Case {
    id: &'static str,
    old: Value,
    new: Value,
    input: Truth,
    output: Truth,
}

fn case(id: &'static str, old: Value, new: Value, input: Truth, output: Truth) -> Case {
    Case { id, old, new, input, output }
}

const D7: &str = "http://json-schema.org/draft-07/schema#";
const D4: &str = "http://json-schema.org/draft-04/schema#";
const D2020: &str = "https://json-schema.org/draft/2020-12/schema";

fn cases() -> Vec<Case> {
    let tree = |kinds: Value| {
        json!({"$ref": "#/$defs/T", "$defs": {"T": {"type": "object", "properties":
            {"v": {"type": kinds}, "kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}}}}})
    };
    vec![
        case(
            "W1",
            json!({"required": ["a"], "maxProperties": 1}),
            json!({"required": ["a"], "properties": {"c": {}}, "additionalProperties": false}),
            B,
            C,
        ),
        case("W3", json!({"const": {"a": 1, "b": 2}}), json!({"const": {"b": 2, "a": 1}}), C, C),
        case(
            "W4",
            json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
            json!({"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "number"}]}),
            B,
            B,
        ),
        case(
            "W5",
            json!({"required": ["a"]}),
            json!({"required": ["a", "b"], "properties": {"b": {"default": 1}}}),
            B,
            C,
        ),
        case("W6", json!({"required": ["a"]}), json!({"required": ["b"]}), B, B),
        case("W7", json!({"type": "string", "pattern": "^a"}), json!({"type": "string"}), C, B),
        case(
            "W8",
            json!({"anyOf": [{"type": "string"}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            C,
            B,
        ),
        case("W9", json!({"enum": ["a", "b", "c"]}), json!({"enum": ["a", "b"]}), B, C),
        case("W10", json!({"type": "string"}), json!({"type": "string", "enum": ["a"]}), B, C),
        case("W11", json!({"const": "a"}), json!({"const": "b"}), B, B),
        case(
            "W12",
            json!({"type": "array", "items": {"type": "string"}}),
            json!({"type": "array", "items": {"type": "integer"}}),
            B,
            B,
        ),
        case("W13", json!({"type": "integer"}), json!({"type": "number"}), C, B),
        case(
            "W14",
            json!({"type": ["string", "null"]}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            C,
            C,
        ),
        case(
            "W15",
            json!({"enum": ["a", "b"]}),
            json!({"oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}),
            C,
            C,
        ),
        case(
            "W16",
            json!({"type": "integer", "minimum": 1}),
            json!({"type": "integer", "exclusiveMinimum": 0}),
            C,
            C,
        ),
        case("W17", json!({"type": "array"}), json!({"type": "array", "contains": {"type": "string"}}), B, C),
        case("W18", json!({}), json!({"if": {"required": ["m"]}, "then": {"required": ["b"]}}), B, C),
        case("W19", json!({"type": "array"}), json!({"type": "array", "uniqueItems": true}), B, C),
        case("W20", tree(json!(["string", "integer"])), tree(json!("string")), B, C),
        case(
            "W21",
            json!({"$schema": D7, "items": [{"type": "string"}]}),
            json!({"$schema": D2020, "prefixItems": [{"type": "string"}]}),
            C,
            C,
        ),
        case(
            "W22",
            json!({"$schema": D7, "$ref": "#/definitions/S", "maxLength": 3, "definitions": {"S": {"type": "string"}}}),
            json!({"$schema": D2020, "$ref": "#/definitions/S", "maxLength": 3, "definitions": {"S": {"type": "string"}}}),
            B,
            C,
        ),
        case(
            "W23",
            json!({"$schema": D7, "items": {"type": "string"}}),
            json!({"$schema": D7, "items": {"type": "string"}, "additionalItems": false}),
            C,
            C,
        ),
        case(
            "W24",
            json!({"type": "string", "pattern": "[0-9]*"}),
            json!({"type": "string", "pattern": "[x-z]*"}),
            C,
            C,
        ),
        case("W25", json!({"type": "string", "const": [1]}), json!({"type": "string", "const": [2]}), C, C),
        case(
            "W26",
            json!({"type": "integer", "multipleOf": 3}),
            json!({"type": "number", "multipleOf": 0.3}),
            C,
            B,
        ),
        case(
            "W27",
            json!({"type": "integer", "minimum": 18_446_744_073_709_551_613_u64}),
            json!({"type": "integer", "minimum": 18_446_744_073_709_551_614_u64}),
            B,
            C,
        ),
        case("W28", json!({"const": "\u{e9}"}), json!({"type": "string", "pattern": "^\\w$"}), B, B),
        case("W28 digits", json!({"const": "\u{7c0}"}), json!({"type": "string", "pattern": "^\\d$"}), B, B),
        case(
            "W29",
            json!({"$schema": D7, "type": "number", "minimum": 4}),
            json!({"$schema": D4, "type": "number", "minimum": 4, "exclusiveMinimum": true}),
            B,
            C,
        ),
        case(
            "W30",
            json!({"type": "integer"}),
            json!({"type": "integer", "minimum": -9_007_199_254_740_991_i64, "maximum": 9_007_199_254_740_991_i64}),
            B,
            C,
        ),
    ]
}

/// Wraps the schema as property `x`; `$schema` and definitions stay at the root.
fn as_property(schema: &Value) -> Value {
    let mut inner = schema.clone();
    let mut outer = json!({"type": "object", "properties": {}});
    if let (Some(inner), Some(outer)) = (inner.as_object_mut(), outer.as_object_mut()) {
        for key in ["$schema", "$defs", "definitions"] {
            if let Some(value) = inner.shift_remove(key) {
                outer.insert(key.to_owned(), value);
            }
        }
    }
    outer["properties"]["x"] = inner;
    outer
}

fn assert_truth(id: &str, old: &Value, new: &Value, direction: Direction, truth: Truth) {
    let prover = Prover::new(Options { world: World::Open, ..Options::default() });
    let judgement = prover.judge_change(old, new, direction, Dialect::default()).unwrap();
    match (judgement.verdict, truth) {
        (Verdict::Compatible(_), C) => {}
        (Verdict::Breaking(witness), B) => {
            let (producer, consumer) = if direction == Direction::Input { (old, new) } else { (new, old) };
            let value = witness.value;
            for (schema, accepts) in [(producer, true), (consumer, false)] {
                let dialect = match schema.get("$schema").and_then(Value::as_str) {
                    Some(D7) => Dialect::Draft7,
                    Some(D4) => Dialect::Draft4,
                    _ => Dialect::Draft202012,
                };
                let validators = Validators::new(schema, dialect).unwrap();
                assert_eq!(validators.first(&value), accepts, "{id}: {value}");
                // The second validator compares 64-bit integers as floats, which is the mistake that case W27 tests.
                if id != "W27" {
                    assert_eq!(validators.second(&value), Some(accepts), "{id}: {value}");
                }
            }
        }
        (verdict, truth) => panic!("{id} {direction:?}: {truth:?} expected, {verdict:?} came"),
    }
}

/// R7.3: pairs that published tools answer wrongly are answered rightly, bare.
#[test]
fn bare_pairs_are_judged_rightly_in_both_directions() {
    for case in cases() {
        assert_truth(case.id, &case.old, &case.new, Direction::Input, case.input);
        assert_truth(case.id, &case.old, &case.new, Direction::Output, case.output);
    }
}

/// R7.3: these pairs are also answered rightly as property `x` of an object.
#[test]
fn pairs_inside_a_property_are_judged_rightly_in_both_directions() {
    for case in cases() {
        let (old, new) = (as_property(&case.old), as_property(&case.new));
        assert_truth(case.id, &old, &new, Direction::Input, case.input);
        assert_truth(case.id, &old, &new, Direction::Output, case.output);
    }
}

/// W2: the validator that confirms witnesses refuses an object without its required keys.
#[test]
fn the_validator_refuses_an_object_without_its_required_keys() {
    let schema = json!({"type": "object", "properties": {"b": true}, "required": ["a", "b"],
        "additionalProperties": {"type": "number"}});
    let validators = Validators::new(&schema, Dialect::Draft202012).unwrap();
    assert!(!validators.first(&json!({})));
    assert_eq!(validators.second(&json!({})), Some(false));
}

/// R7.3: a witness is small.
#[test]
fn witnesses_are_minimal() {
    let prover = Prover::new(Options { world: World::Open, ..Options::default() });
    let expected = [
        (
            json!({"required": ["a"], "maxProperties": 1}),
            json!({"required": ["a"], "properties": {"c": {}}, "additionalProperties": false}),
            json!({"a": null}),
        ),
        (json!({"type": "number"}), json!({"type": "integer"}), json!(0.5)),
        (json!({"type": "array"}), json!({"type": "array", "uniqueItems": true}), json!([null, null])),
        (json!({"enum": ["a", "b", "c"]}), json!({"enum": ["a", "b"]}), json!("c")),
    ];
    for (old, new, witness) in expected {
        let judgement = prover.judge(&old, &new, (Dialect::default(), Dialect::default())).unwrap();
        let Verdict::Breaking(own) = judgement.verdict else { panic!("{old} → {new}") };
        assert_eq!(own.value, witness);
        assert!(!own.refusal.keyword.is_empty());
    }
}
