//! Fuzz target for an unknown schema and an unknown value: admission and checking terminate soon, and an admitted
//! schema judges the value like the plain validator over `serde_json`'s tree.

use std::time::Duration;

use jsonschema::{Draft, PatternOptions};
use toolcrib_contract::json::{Document, Limits};
use toolcrib_contract::limits::{VIOLATION_BYTES_MAX, VIOLATION_PATH_BYTES_MAX};
use toolcrib_contract::{Dialect, Ended, Schema, SchemaError, SchemaOptions, Violations, canonical};

use crate::measure::measured;
use crate::mutation::tree::SEPARATOR;
use crate::target::{Memory, Shape, Target};
use crate::targets::vocabulary::SCHEMA;

pub(super) const TARGET: Target = Target {
    name: "schema",
    seeds,
    heavy,
    dictionary: SCHEMA,
    bytes_max: 4_096,
    cpu_max: Duration::from_secs(2),
    memory_max: Memory { factor: 4_096, constant: 16 * 1024 * 1024 },
    run,
};

/// Memory limit of one check and its explanation: 32 times the value, and a report of bounded size.
const CHECK_MEMORY_MAX: Memory = Memory { factor: 32, constant: 1024 * 1024 };
/// CPU time limit of one check and its explanation; the product's limit is 50 ms in an optimised build.
const CHECK_CPU_MAX: Duration = Duration::from_millis(500);

/// Maximum bytes of a report with its rules and places: a multiple of the limit on one violation.
const REPORT_BYTES_MAX: usize = 8 * VIOLATION_BYTES_MAX;

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = [
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":1}},\"required\":[\"a\"],\"additionalProperties\":false}\u{1e}{\"a\":0,\"b\":1}",
        "{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"object\",\"properties\":{\"next\":{\"$ref\":\"#/$defs/n\"}}}]}}}\u{1e}{\"next\":{\"next\":1}}",
        "{\"$defs\":{\"a\":{\"allOf\":[{\"$ref\":\"#/$defs/b\"},{\"$ref\":\"#/$defs/b\"}]},\"b\":{\"allOf\":[{\"type\":\"string\"}]}},\"$ref\":\"#/$defs/a\"}\u{1e}\"x\"",
        "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"items\":[{\"const\":1}],\"additionalItems\":{\"pattern\":\"^a+$\"}}\u{1e}[1,\"aaa\",\"b\"]",
        "{\"$dynamicAnchor\":\"m\",\"properties\":{\"c\":{\"$dynamicRef\":\"#m\"}},\"unevaluatedProperties\":false}\u{1e}{\"c\":{\"d\":1}}",
        "{\"oneOf\":[{\"multipleOf\":0.1},{\"enum\":[1,\"b\",null]}]}\u{1e}1.0",
        "{\"$ref\":\"http://example.org/remote\"}\u{1e}1",
        "{\"pattern\":\"(a)\\\\1\"}\u{1e}\"aa\"",
    ]
    .map(|seed| seed.as_bytes().to_vec())
    .to_vec();
    seeds.extend([recursive(2, 3), recursive(8, 2), blocks(2)]);
    seeds
}

/// Values whose violations multiply with every level: a report of all would have 8 to the power of 9 entries.
fn heavy() -> Vec<Vec<u8>> {
    vec![recursive(8, 4), recursive(8, 5), recursive(2, 60), blocks(4), recursive(8, 9), recursive(16, 30)]
}

/// A schema of equal branches that all refer back to it, and a value that none of them accepts at its deepest level.
fn recursive(branches: usize, depth: usize) -> Vec<u8> {
    let branch = r##"{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/n"}}}"##;
    let branches = vec![branch; branches].join(",");
    let schema = format!(r##"{{"$ref":"#/$defs/n","$defs":{{"n":{{"anyOf":[{branches}]}}}}}}"##);
    let value = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    format!("{schema}\u{1e}{value}").into_bytes()
}

/// Blocks of a document in the style of note-taking servers: ten kinds, each with a list of further blocks.
fn blocks(depth: usize) -> Vec<u8> {
    let kinds = (0..10).map(|kind| {
        format!(r##"{{"type":"object","required":["type"],"properties":{{"type":{{"const":"k{kind}"}},"children":{{"$ref":"#/$defs/list"}}}}}}"##)
    });
    let kinds = kinds.collect::<Vec<_>>().join(",");
    let schema = format!(
        r##"{{"type":"object","properties":{{"children":{{"$ref":"#/$defs/list"}}}},"$defs":{{"list":{{"type":"array","items":{{"anyOf":[{kinds}]}}}}}}}}"##
    );
    let mut value = r#"{"type":"none"}"#.to_owned();
    for _ in 0..depth {
        value = format!(r#"{{"type":"k1","children":[{value},{value}]}}"#);
    }
    format!("{schema}\u{1e}{value}").into_bytes()
}

fn run(input: &[u8]) -> Shape {
    let mut parts = input.splitn(2, |byte| *byte == SEPARATOR);
    let limits = Limits::message();
    let Ok(schema) = Document::parse(parts.next().unwrap_or_default(), &limits) else {
        return Shape::of(&["unreadable schema"]);
    };
    let compiled = match Schema::compile(schema.root(), &SchemaOptions::default()) {
        Ok(compiled) => compiled,
        Err(error) => return Shape::of(&["refused", reason(&error)]),
    };
    let Ok(value) = Document::parse(parts.next().unwrap_or_default(), &limits) else {
        return Shape::of(&["unreadable value", compiled.admission().dialect.name()]);
    };
    let accepted = compiled.accepts(value.root());
    let mut checked = Ok(());
    let used = measured(|| checked = compiled.check(schema.root(), value.root()));
    let memory_max = CHECK_MEMORY_MAX.for_input(value.root().raw().len());
    assert!(used.memory <= memory_max, "checking held {} bytes, at most {memory_max}", used.memory);
    assert!(used.cpu <= CHECK_CPU_MAX, "checking took {:?}, at most {CHECK_CPU_MAX:?}", used.cpu);
    assert_eq!(accepted, checked.is_ok(), "two answers to one question");
    // The explanation interprets a schema by the dialect of its root only.
    let is_mixed = schema.root().raw().matches("\"$schema\"").count() > 1;
    let explained =
        if is_mixed { None } else { compiled.accepts_by_explanation(schema.root(), value.root()) };
    let ended = checked.as_ref().err().and_then(Violations::ended);
    let is_known = !matches!(ended, Some(Ended::CheckSteps | Ended::CheckStack));
    let keyword = checked.err().and_then(|violations| {
        assert!(!violations.as_slice().is_empty(), "refused without a reason");
        let (masked, full) = (violations.full_masked(), violations.full());
        assert!(!masked.is_empty() && !full.is_empty(), "a violation without words");
        assert!(full.len() <= REPORT_BYTES_MAX, "a report of {} bytes", full.len());
        let paths = violations.as_slice().iter().map(|violation| &violation.instance_path);
        for path in paths.filter(|path| path.as_str().len() < VIOLATION_PATH_BYTES_MAX / 2) {
            assert!(value.root().pointer(path).is_some(), "no such place: {path}");
        }
        violations.as_slice().first().map(|violation| violation.keyword.clone())
    });
    let admission = compiled.admission();
    // The plain validator has no memoisation, so its time multiplies with every level.
    let is_slow = value.root().depth() * admission.in_place.ilog2() as usize > 20;
    let plain = if is_slow { None } else { plain_verdict(&schema, &value, admission.dialect) };
    for other in [plain, explained].into_iter().flatten().filter(|_| is_known) {
        assert_eq!(other, accepted, "the plain validator says {plain:?}, the explanation {explained:?}");
    }
    let sizes = (admission.subschemas.min(16), admission.expansion.ilog2(), admission.in_place.ilog2());
    Shape::of(&[keyword.as_deref().unwrap_or("accepted"), admission.dialect.name(), &format!("{sizes:?}")])
}

/// Verdict of the validator alone, over `serde_json`'s tree. `None` if it refuses the schema, or if that tree cannot
/// represent one of the numbers (`1e-400` becomes 0).
fn plain_verdict(schema: &Document<'_>, value: &Document<'_>, dialect: Dialect) -> Option<bool> {
    canonical(schema.root()).ok()?;
    canonical(value.root()).ok()?;
    let draft = match dialect {
        Dialect::Draft4 => Draft::Draft4,
        Dialect::Draft6 => Draft::Draft6,
        Dialect::Draft7 => Draft::Draft7,
        Dialect::Draft201909 => Draft::Draft201909,
        Dialect::Draft202012 => Draft::Draft202012,
    };
    let validator = jsonschema::options()
        .with_draft(draft)
        .with_pattern_options(PatternOptions::regex())
        .should_validate_formats(false)
        .build(&schema.root().to_value());
    Some(validator.ok()?.is_valid(&value.root().to_value()))
}

fn reason(error: &SchemaError) -> &'static str {
    match error {
        SchemaError::NotASchema { .. } => "not a schema",
        SchemaError::UnknownDialect { .. } => "dialect",
        SchemaError::Invalid { .. } => "invalid",
        SchemaError::UnresolvableRef { .. } => "reference",
        SchemaError::ReferenceLoop { .. } => "loop",
        SchemaError::Pattern { .. } => "pattern",
        SchemaError::Limit { .. } => "limit",
        _ => "other",
    }
}
