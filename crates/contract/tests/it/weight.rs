//! Comparison of estimated schema memory with the real allocations of compiling and matching.

use std::time::Instant;

use serde_json::{Value, json};
use toolcrib_contract::json::{Document, Limits, OwnedDocument};
use toolcrib_contract::{Schema, SchemaOptions};

fn owned(schema: &Value) -> OwnedDocument {
    OwnedDocument::parse(schema.to_string(), &Limits::definition()).unwrap()
}

fn object(properties: impl Iterator<Item = (String, Value)>) -> Value {
    json!({"type": "object", "properties": properties.collect::<serde_json::Map<_, _>>()})
}

fn patterns(count: usize, pattern: impl Fn(usize) -> String) -> Value {
    object((0..count).map(|at| (format!("p{at}"), json!({"type": "string", "pattern": pattern(at)}))))
}

fn uuid(at: usize) -> String {
    format!(
        "^([0-9a-fA-F]{{8}}-[0-9a-fA-F]{{4}}-[1-8][0-9a-fA-F]{{3}}-[89abAB][0-9a-fA-F]{{3}}-[0-9a-fA-F]{{12}}|x{at})$"
    )
}

fn schemas() -> Vec<(&'static str, Value)> {
    let recursive = json!({"type": "object", "$ref": "#/$defs/b", "$defs": {"b": {"anyOf":
        (0..40).map(|at| json!({"properties": {format!("k{at}"): {"$ref": "#/$defs/b"}}})).collect::<Vec<_>>()}}});
    vec![
        ("empty", json!({"type": "object"})),
        ("one property", object([("a".to_owned(), json!({"type": "string"}))].into_iter())),
        ("a thousand of two types", object((0..1_000).map(|at| (format!("p{at}"), json!({"type": ["string", "null"], "maxLength": at}))))),
        ("bounds", object((0..300).map(|at| (format!("p{at}"), json!({"type": "integer", "minimum": 0, "maximum": at, "exclusiveMinimum": 1, "multipleOf": 2}))))),
        ("a large enum", object([("a".to_owned(), json!({"enum": (0..2_000).map(|at| format!("value number {at}")).collect::<Vec<_>>()}))].into_iter())),
        ("many enums", object((0..300).map(|at| (format!("p{at}"), json!({"enum": ["a", "b", "c", at]}))))),
        ("a thousand alternatives", json!({"type": "object", "anyOf": (0..1_000).map(|at| json!({"required": [format!("p{at}")]})).collect::<Vec<_>>()})),
        ("empty alternatives", json!({"type": "object", "anyOf": vec![json!({}); 2_000]})),
        ("conditions", json!({"type": "object", "allOf": (0..200).map(|at| json!({"if": {"required": [format!("a{at}")]}, "then": {"required": [format!("b{at}")]}, "else": {"minProperties": at}})).collect::<Vec<_>>()})),
        ("constants", object((0..500).map(|at| (format!("p{at}"), json!({"const": {"a": at, "b": [1, 2, 3]}}))))),
        ("closed", json!({"type": "object", "additionalProperties": false, "unevaluatedProperties": false, "properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}}}})),
        ("nested", (0..60).fold(json!({"type": "string"}), |inner, at| json!({"type": "object", "properties": {format!("p{at}"): inner}}))),
        ("recursive", recursive),
        ("many definitions", json!({"type": "object", "$defs": (0..500).map(|at| (format!("d{at}"), json!({"type": "string"}))).collect::<serde_json::Map<_, _>>(),
            "properties": (0..500).map(|at| (format!("p{at}"), json!({"$ref": format!("#/$defs/d{at}")}))).collect::<serde_json::Map<_, _>>()})),
        ("text patterns", patterns(200, |at| format!("^prefix-{at}"))),
        ("uuids", patterns(20, uuid)),
        ("words", patterns(100, |at| format!("^[a-z]+(-[a-z0-9]+)*-{at}$"))),
        ("letters", patterns(3, |at| format!(r"^\p{{L}}+{at}$"))),
        ("explosive", patterns(3, |at| format!("^(a|b)*a(a|b){{12}}$|x{at}"))),
        ("groups", patterns(2, |at| format!("^{}{at}$", "(a|b)?".repeat(100)))),
        ("pattern properties", json!({"type": "object", "patternProperties": (0..50).map(|at| (format!("^x-[a-z]+-{at}$"), json!({"type": "string"}))).collect::<serde_json::Map<_, _>>()})),
    ]
}

/// R1.6: a schema's estimated weight is at least what is allocated, and within a constant factor of it.
#[test]
fn a_schema_weighs_at_least_what_its_compiled_form_allocates() {
    // The meta-schemas are compiled once per process; compiled here, they are not counted below.
    drop(Schema::compile(owned(&json!({"type": "object"})).root(), &SchemaOptions::default()));
    let mut wrong = Vec::new();
    for (name, schema) in schemas() {
        let document = owned(&schema);
        let begun = Instant::now();
        let mut compiled = None;
        let used = allocation_counter::measure(|| {
            compiled = Some(Schema::compile(document.root(), &SchemaOptions::default()).unwrap());
        });
        let took = begun.elapsed();
        let compiled = compiled.unwrap();
        // A text that makes each pattern visit many DFA states.
        let text: String = (0_u32..3_000)
            .map(|at| if at.wrapping_mul(2_654_435_761) >> 20 & 1 == 0 { 'a' } else { 'b' })
            .collect();
        let values: serde_json::Map<_, _> = (0..250).map(|at| (format!("p{at}"), json!(text))).collect();
        let value = Value::Object(values).to_string();
        let value = Document::parse(value.as_bytes(), &Limits::message()).unwrap();
        let matched = allocation_counter::measure(|| {
            let _ = compiled.accepts(value.root());
        });
        let weight = compiled.weight();
        let real = usize::try_from(used.bytes_current + matched.bytes_current).unwrap();
        eprintln!(
            "{name:24} estimated {:9} + {:9}, compiled {:9} matching {:9}, peak {:9}, {took:?}",
            weight.validator, weight.patterns, used.bytes_current, matched.bytes_current, used.bytes_max
        );
        if weight.bytes() < real || weight.validator > 4 * real + 8_000 {
            wrong.push(format!("{name}: {weight:?}, {real} bytes allocated"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
