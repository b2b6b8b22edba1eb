//! Fuzz target for schema admission: a schema is admitted and compiles, or is refused with a place that exists in it.

use std::time::Duration;

use toolcrib_contract::json::{Document, Limits, Node};
use toolcrib_contract::schema::admit;
use toolcrib_contract::{Schema, SchemaError, SchemaOptions};

use super::grown::Growth;
use crate::target::{Memory, Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "admission",
    seeds,
    heavy,
    dictionary: DICTIONARY,
    bytes_max: 4_096,
    cpu_max: Duration::from_secs(2),
    memory_max: Memory { factor: 4_096, constant: 16 * 1024 * 1024 },
    run,
};

const DICTIONARY: &[&str] = &[
    "\"$ref\":\"#\"",
    "\"$ref\":\"#/$defs/a\"",
    "\"$defs\":{\"a\":",
    "\"$id\":\"https://e.example/a\"",
    "\"$id\":\"b\"",
    "\"$anchor\":\"x\"",
    "\"$dynamicRef\":\"#x\"",
    "\"$dynamicAnchor\":\"x\"",
    "\"$schema\":\"http://json-schema.org/draft-07/schema#\"",
    "\"$schema\":\"https://json-schema.org/draft/2019-09/schema\"",
    "\"$recursiveRef\":\"#\"",
    "\"allOf\":[",
    "\"anyOf\":[",
    "\"oneOf\":[",
    "\"not\":",
    "\"properties\":{\"a\":",
    "\"patternProperties\":{\"^a\":",
    "\"additionalProperties\":",
    "\"unevaluatedProperties\":",
    "\"propertyNames\":",
    "\"items\":",
    "\"prefixItems\":[",
    "\"contains\":",
    "\"pattern\":\"(a+)+$\"",
    "\"pattern\":\"(?=a)\"",
    "\"type\":\"object\"",
    "\"enum\":[",
    "\"const\":",
    "\"multipleOf\":",
    "\"dependentSchemas\":{\"a\":",
    "\"if\":",
    "true",
    "{}",
];

fn seeds() -> Vec<Vec<u8>> {
    let bomb = (0..26).map(|i| {
        format!(r##""d{i}":{{"allOf":[{{"$ref":"#/$defs/d{}"}},{{"$ref":"#/$defs/d{}"}}]}}"##, i + 1, i + 1)
    });
    let bomb =
        format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d26":{{}}}}}}"##, bomb.collect::<Vec<_>>().join(","));
    [
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"type":"string","pattern":"^a+$"},{"items":{"$ref":"#"}}]}}}"##,
        r##"{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"$id":"#x","items":[{},{}]}},"$ref":"#x","dependencies":{"a":["b"]}}"##,
        r##"{"$id":"https://e.example/r","$ref":"b#y","$defs":{"b":{"$id":"b","$anchor":"y","$dynamicAnchor":"z","if":true,"then":{"$dynamicRef":"#z"}}}}"##,
        r#"{"patternProperties":{"(?=x)":{}},"unevaluatedProperties":false}"#,
        r#"{"$ref":"https://example.com/other"}"#,
        "true",
        &bomb,
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .chain([(128..192).collect(), (0..96u8).map(|i| i.wrapping_mul(37) | 128).collect()])
    .collect()
}

/// Schemas whose parts multiply: recursion in many branches, many patterns, long chains of references.
fn heavy() -> Vec<Vec<u8>> {
    let branch = r##"{"properties":{"a":{"$ref":"#"}}}"##;
    let pattern = |n: usize| format!(r#""p{n}":{{"pattern":"^(\\p{{L}}{{2}}|x{n})$"}}"#);
    let patterns = (0..90).map(pattern).collect::<Vec<_>>().join(",");
    let links = (0..110).map(|n| format!(r##""d{n}":{{"$ref":"#/$defs/d{}"}}"##, n + 1));
    let links = links.collect::<Vec<_>>().join(",");
    [
        format!(r#"{{"anyOf":[{}]}}"#, vec![branch; 100].join(",")),
        format!(r#"{{"properties":{{{patterns}}}}}"#),
        format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{links},"d110":{{}}}}}}"##),
        format!("{}{{}}{}", r#"{"not":"#.repeat(120), "}".repeat(120)),
    ]
    .map(String::into_bytes)
    .to_vec()
}

fn looks_like_json(input: &[u8]) -> bool {
    matches!(input.first(), None | Some(b'{' | b'[' | b' ' | b'\n' | b't' | b'f'))
}

fn run(input: &[u8]) -> Shape {
    // Bytes that do not look like a schema are choices from which one is generated.
    let grown = Growth::new(input).schema().to_string();
    let text = if looks_like_json(input) { input } else { grown.as_bytes() };
    let Ok(document) = Document::parse(text, &Limits::definition()) else { return Shape::of(&["unread"]) };
    let root = document.root();
    let options = SchemaOptions::default();
    let admitted = admit(&root.to_value(), &options);
    match (Schema::compile(root, &options), admitted) {
        (Ok(schema), Ok(admission)) => {
            assert_eq!(schema.admission(), admission);
            let size = admission.subschemas.min(20).to_string();
            let steps = admission.expansion.ilog2().to_string();
            Shape::of(&[
                "admitted",
                admission.dialect.name(),
                &size,
                &steps,
                &admission.in_place.ilog2().to_string(),
            ])
        }
        (Err(error), admitted) => {
            if admitted.is_ok() {
                // Admission finds loops and unknown dialects. An unresolvable reference may be found later: if the
                // dialect hides it, admission does not follow it, but the compiler does.
                let late =
                    matches!(error, SchemaError::ReferenceLoop { .. } | SchemaError::UnknownDialect { .. });
                assert!(!late, "admitted, then refused: {error}: {}", root.raw());
            }
            if let SchemaError::UnresolvableRef { pointer, reference } = &error {
                let found = root.pointer(pointer).and_then(Node::as_str);
                assert_eq!(found.as_deref(), Some(reference.as_str()), "not at {pointer}: {}", root.raw());
            }
            let place = error.pointer();
            assert!(root.pointer(place).is_some(), "no such place: {error}: {}", root.raw());
            Shape::of(&["refused", &variant(&error), &place.tokens().count().to_string()])
        }
        (Ok(_), Err(error)) => panic!("compiled, but not admitted: {error}: {}", root.raw()),
    }
}

/// Returns the variant names of an error, from the outermost inwards: the refusal without its details.
fn variant(error: &impl std::fmt::Debug) -> String {
    let text = format!("{error:?}");
    let names =
        text.split(['(', '{']).take(2).map(|part| part.split([' ', ')', ',']).next().unwrap_or_default());
    names.filter(|name| name.starts_with(char::is_uppercase)).collect::<Vec<_>>().join(" ")
}
