//! Differential tests of verdicts: the check over the tape, the same validator over a tree of values, and `boon`,
//! which shares no code with either. Schemas and instances are random texts from a small domain, so that they often
//! match.
//!
//! Formats are not asserted. Every run uses the same random sequence; `PROPTEST_CASES` makes it longer.

mod instance;
mod judge;
mod schema;

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use toolcrib_contract::Dialect;
use toolcrib_contract::json::{Document, Limits, OwnedDocument, Tape};

use judge::{Boon, Plain, Taped};

/// Counts of verdicts, which show that both verdicts occur.
#[derive(Debug, Default)]
struct Tally {
    accepted: Cell<usize>,
    refused: Cell<usize>,
    not_admitted: Cell<usize>,
    by_boon_too: Cell<usize>,
    by_explanation_too: Cell<usize>,
}

fn more(count: &Cell<usize>) {
    count.set(count.get() + 1);
}

fn agree(dialect: Dialect, schema: &str, instances: &[String], tally: &Tally) -> Result<(), TestCaseError> {
    let Ok(taped) = Taped::new(dialect, schema) else {
        more(&tally.not_admitted);
        return Ok(());
    };
    let plain = Plain::new(dialect, schema);
    let boon = Boon::new(dialect, schema);
    for instance in instances {
        let verdict = taped.accepts(instance);
        more(if verdict { &tally.accepted } else { &tally.refused });
        prop_assert_eq!(verdict, plain.accepts(instance), "tape | tree: {} on {}", schema, instance);
        if let Some(walked) = taped.accepts_by_explanation(instance) {
            more(&tally.by_explanation_too);
            prop_assert_eq!(verdict, walked, "tape | explanation: {} on {}", schema, instance);
        }
        if judge::boon_can_tell(schema, instance) {
            more(&tally.by_boon_too);
            prop_assert_eq!(verdict, boon.accepts(instance), "tape | boon: {} on {}", schema, instance);
        }
    }
    Ok(())
}

fn campaign(dialect: Dialect) {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_500);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let tally = Tally::default();
    let strategy = (schema::root(dialect), prop::collection::vec(instance::text(), 8));
    let outcome = runner.run(&strategy, |(schema, instances)| agree(dialect, &schema, &instances, &tally));
    eprintln!("{}: {tally:?}", dialect.name());
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    let checks = tally.accepted.get() + tally.refused.get();
    for verdict in [&tally.accepted, &tally.refused] {
        assert!(verdict.get() * 10 > checks, "one verdict is too rare to prove anything: {tally:?}");
    }
    assert!(tally.by_boon_too.get() * 3 > checks, "boon was asked too rarely: {tally:?}");
    assert!(tally.not_admitted.get() * 10 < cases as usize, "too few schemas are admitted: {tally:?}");
}

/// R1.7: the compiled check agrees with two other validators on draft-07.
#[test]
fn verdicts_of_draft_07_are_those_of_two_other_validators() {
    campaign(Dialect::Draft7);
}

/// R1.7: the compiled check agrees with two other validators on 2020-12.
#[test]
fn verdicts_of_2020_12_are_those_of_two_other_validators() {
    campaign(Dialect::Draft202012);
}

/// R1.7: a check explains every refusal, and explains nothing that it accepts.
#[test]
fn a_check_explains_what_it_refuses() {
    let config = Config { cases: 500, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let strategy = (schema::root(Dialect::Draft202012), prop::collection::vec(instance::text(), 4));
    let outcome = runner.run(&strategy, |(schema, instances)| {
        let Ok(taped) = Taped::new(Dialect::Draft202012, &schema) else { return Ok(()) };
        for instance in &instances {
            let (verdict, told) = (taped.accepts(instance), taped.explains(instance));
            prop_assert_eq!(verdict, told.is_none(), "{} on {}", &schema, instance);
            prop_assert!(told.is_none_or(|told| !told.is_empty()), "{} on {}", &schema, instance);
        }
        Ok(())
    });
    assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
}

/// R1.7: the tape passes the conformance tests that the validator defines for JSON representations.
#[test]
fn the_tape_keeps_the_validators_own_rules() {
    let text = jsonschema_value::conformance::document().to_string();
    let owned = OwnedDocument::parse(text.as_str(), &Limits::message()).unwrap();
    jsonschema_value::conformance::assert_conformance::<Tape>(&owned.root());
    let borrowed = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
    jsonschema_value::conformance::assert_conformance::<Tape>(&borrowed.root());
}

/// Edge cases that random texts rarely reach, one line each: schema, accepted instances, refused instances.
const CORNERS: &[(&str, &[&str], &[&str])] = &[
    (r#"{"const":0}"#, &["-0", "0.0", "-0.0", "0e5"], &["false", "\"0\"", "1e-300"]),
    (r#"{"const":1.0}"#, &["1", "1.0", "10e-1", "1E0"], &["true", "1.0000000000000002"]),
    (r#"{"const":9007199254740993}"#, &["9007199254740993"], &["9007199254740992", "9007199254740994"]),
    (r#"{"enum":[18446744073709551615]}"#, &["18446744073709551615"], &["18446744073709551614"]),
    (r#"{"maximum":9007199254740992}"#, &["9007199254740992"], &["9007199254740993"]),
    (
        r#"{"type":"integer"}"#,
        &["1.0", "-0.0", "1e2", "1e300", "123456789012345678901234567890"],
        &["0.5", "1e-1"],
    ),
    (
        r#"{"uniqueItems":true}"#,
        &["[1,\"1\",true]", "[9007199254740992,9007199254740993]"],
        &["[1,1.0]", "[0,-0]", "[1e2,100]"],
    ),
    (
        r#"{"uniqueItems":true}"#,
        &["[{\"a\":1},{\"a\":2}]", "[[1],[2]]"],
        &["[{\"a\":1,\"b\":2},{\"b\":2.0,\"a\":1e0}]", "[\"\\u0061\",\"a\"]"],
    ),
    (
        r#"{"const":{"a":[1],"b":{}}}"#,
        &["{\"b\":{},\"\\u0061\":[1.0]}"],
        &["{\"a\":[1]}", "{\"a\":[1],\"b\":{},\"c\":0}"],
    ),
    (r#"{"const":"é\n"}"#, &["\"\\u00e9\\u000a\"", "\"é\\n\""], &["\"e\\n\""]),
    (r#"{"maxLength":1}"#, &["\"\\ud83d\\ude00\"", "\"😀\"", "\"\\n\""], &["\"ab\"", "\"\\u0061b\""]),
    (r#"{"propertyNames":{"maxLength":1}}"#, &["{\"\\n\":0,\"\\ud83d\\ude00\":0}"], &["{\"\\n\\n\":0}"]),
    (r#"{"propertyNames":{"enum":["a\"b"]}}"#, &["{\"a\\\"b\":0}", "{\"a\\u0022b\":0}"], &["{\"ab\":0}"]),
    (r#"{"required":["é"]}"#, &["{\"\\u00e9\":0}", "{\"é\":0}"], &["{\"e\":0}"]),
    (r#"{"patternProperties":{"^\\n$":false}}"#, &["{\"n\":0}"], &["{\"\\u000a\":0}", "{\"\\n\":0}"]),
    (r#"{"multipleOf":0.01}"#, &["0.07", "19.99", "4.35", "1e2"], &["0.075"]),
    (
        r##"{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}"##,
        &["{\"a\":{\"a\":{\"a\":{}}}}"],
        &["{\"a\":{\"a\":{\"b\":{}}}}"],
    ),
];

/// R1.7: the spelling of numbers, escapes and key order does not change a verdict.
#[test]
fn spelling_never_changes_a_verdict() {
    for (schema, good, bad) in CORNERS {
        let taped = Taped::new(Dialect::Draft202012, schema).unwrap();
        let plain = Plain::new(Dialect::Draft202012, schema);
        for (instances, verdict) in [(good, true), (bad, false)] {
            for instance in *instances {
                assert_eq!(taped.accepts(instance), verdict, "{schema} on {instance}");
                assert_eq!(plain.accepts(instance), verdict, "tree: {schema} on {instance}");
            }
        }
    }
}
