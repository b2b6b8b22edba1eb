//! Checks: a schema and an instance, one a line. The tape and a tree of values give one verdict, and a refusal
//! explains itself.

use serde_json::Value;
use toolcrib_contract::json::{Document, Limits};
use toolcrib_contract::{Dialect, Schema, SchemaOptions, limits};

use crate::target::{Shape, Target};

pub(super) const TARGET: Target =
    Target { name: "check", seeds, dictionary: super::admission::DICTIONARY, bytes_max: 2_048, run };

fn seeds() -> Vec<Vec<u8>> {
    [
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"maximum\":9007199254740992}},\"required\":[\"a\"],\"additionalProperties\":false}\n{\"\\u0061\":9007199254740993,\"b\":1}",
        "{\"uniqueItems\":true,\"items\":{\"enum\":[1,\"é\",{\"a\":1,\"b\":2}]}}\n[1,1.0,\"\\u00e9\",{\"b\":2,\"a\":1e0}]",
        "{\"propertyNames\":{\"maxLength\":1,\"pattern\":\"^.$\"},\"unevaluatedProperties\":{\"type\":[\"string\",\"null\"]}}\n{\"\\ud83d\\ude00\":null,\"ab\":0}",
        "{\"oneOf\":[{\"$ref\":\"#/$defs/t\"},{\"const\":-0.0}],\"$defs\":{\"t\":{\"type\":\"array\",\"items\":{\"$ref\":\"#\"},\"contains\":{\"multipleOf\":0.1}}}}\n[[],0,[0.3]]",
        "{\"if\":{\"minLength\":2},\"then\":false,\"dependentSchemas\":{\"a\":{\"maxProperties\":1}}}\n{\"a\":0,\"b\":0}",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect()
}

fn run(input: &[u8]) -> Shape {
    let at = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (schema, instance) = input.split_at(at);
    let (Ok(schema), Ok(instance)) =
        (Document::parse(schema, &Limits::definition()), Document::parse(instance, &Limits::message()))
    else {
        return Shape::of(&["unread"]);
    };
    let (schema, instance) = (schema.root(), instance.root());
    let compiled = match Schema::compile(schema, &SchemaOptions::default()) {
        Ok(compiled) => compiled,
        Err(error) => return Shape::of(&["refused", &super::variant(&error)]),
    };
    let verdict = compiled.accepts(instance);
    if compiled.admission().dialect == Dialect::Draft202012 {
        let tree = plain(&schema.to_value());
        assert_eq!(verdict, tree.is_valid(&instance.to_value()), "tape and tree differ");
    }
    match compiled.check(schema, instance) {
        Ok(()) => assert!(verdict, "refused without a reason"),
        Err(violations) => {
            assert!(!verdict, "accepted with a reason: {}", violations.one_line());
            let told = violations.as_slice();
            assert!((1..=limits::VIOLATIONS_MAX).contains(&told.len()));
            assert!(!violations.full().is_empty() && !violations.full_masked().is_empty());
            let keywords: Vec<String> = told.iter().map(|one| one.keyword.to_string()).collect();
            return Shape::of(&["refused", &keywords.join(" ")]);
        }
    }
    Shape::of(&["accepted", instance.kind().name(), &compiled.admission().subschemas.to_string()])
}

fn plain(schema: &Value) -> jsonschema::Validator {
    let built = jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .offline()
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .should_validate_formats(false)
        .build(schema);
    built.unwrap_or_else(|error| panic!("compiled over the tape alone: {error}"))
}
