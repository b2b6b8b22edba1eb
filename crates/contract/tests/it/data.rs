//! Tests over real definitions and our own fixtures: definitions survive unchanged, digests are stable and equal to
//! those of another implementation, and snapshots record the outcome of registration.
//!
//! The real definitions are stored beside the repository and never copied into it; a test without them prints a
//! notice.

mod source;
mod spelling;

use std::collections::BTreeMap;

use serde_json::Value;
use toolcrib_contract::json::{Document, Limits};
use toolcrib_contract::{
    Contract, ContractError, Definition, Digest, Digests, SchemaCache, SchemaError, SchemaOptions,
};

use source::{Found, fixtures, real_definitions, real_files};
use spelling::{compact, shuffled};

/// The fixtures and, if present, the real definitions.
fn definitions() -> Vec<Found> {
    let mut all = fixtures();
    all.extend(real_definitions());
    all
}

fn digests(text: &str) -> Digests {
    Digests::of(&Definition::parse(text).unwrap()).unwrap()
}

/// R1.1: every definition keeps its bytes, except white space between tokens.
#[test]
fn every_definition_comes_back_byte_for_byte() {
    for found in definitions() {
        let expected = compact(&found.text);
        let definition = Definition::parse(&found.text).unwrap_or_else(|e| panic!("{}: {e}", found.place));
        assert_eq!(definition.text(), expected, "{}", found.place);
        let again = Definition::parse(definition.text()).unwrap();
        assert_eq!(again.text(), expected, "{}", found.place);
    }
}

/// R1.1: a definition taken out of a larger text equals the one read alone.
#[test]
fn a_definition_inside_a_list_is_the_same_as_alone() {
    let all = definitions();
    let list = format!("[{}]", all.iter().map(|found| found.text.as_str()).collect::<Vec<_>>().join(" ,\n"));
    let document = Document::parse(list.as_bytes(), &Limits::file()).unwrap();
    assert_eq!(document.root().len(), all.len());
    for (node, found) in document.root().elements().zip(&all) {
        assert_eq!(Definition::from_node(node).unwrap().text(), compact(&found.text), "{}", found.place);
    }
}

/// R1.9: the digest does not depend on key order or white space.
#[test]
fn digests_outlive_key_order_and_white_space() {
    for found in definitions() {
        let digest = digests(&found.text);
        let value: Value = serde_json::from_str(&found.text).unwrap();
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        assert_eq!(digests(&pretty), digest, "{} pretty", found.place);
        for seed in 1..4 {
            let other = shuffled(&value, seed).to_string();
            assert_eq!(digests(&other), digest, "{} shuffled", found.place);
        }
    }
}

/// R1.9: two definitions that differ in any way have different digests.
#[test]
fn different_definitions_have_different_digests() {
    let mut by_digest: BTreeMap<String, (Value, String)> = BTreeMap::new();
    for found in definitions() {
        let value: Value = serde_json::from_str(&found.text).unwrap();
        let digest = digests(&found.text).definition.to_string();
        let (first, place) = by_digest.entry(digest).or_insert_with(|| (value.clone(), found.place.clone()));
        assert_eq!(*first, value, "{} and {place} share a digest", found.place);
    }
    assert!(by_digest.len() > 5);
}

/// R1.9: digests equal those of another implementation (Python: keys sorted by UTF-16, hashlib), so a digest in a
/// lock means the same everywhere.
#[test]
fn digests_are_those_of_another_implementation() {
    let check = |place: &str, text: &str, expected: &str| {
        let document = Document::parse(text.as_bytes(), &Limits::file()).unwrap();
        assert_eq!(Digest::of(document.root()).unwrap().to_string(), expected, "{place}");
    };
    let own = table(include_str!("../fixtures/digests.txt"));
    let fixtures = fixtures();
    assert_eq!(own.len(), fixtures.len(), "a fixture has no known digest");
    for found in fixtures {
        check(&found.place, &found.text, own[found.place.as_str()]);
        assert_eq!(digests(&found.text).definition.to_string(), own[found.place.as_str()]);
    }
    if let Some(real) = real_files() {
        for (place, expected) in table(include_str!("data/digests.txt")) {
            check(place, &real[place], expected);
        }
    }
}

/// Parses lines of a digest and a place to a map by place.
fn table(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once(' ')).map(|(digest, place)| (place, digest)).collect()
}

/// Counts the outcomes of registration by folder and kind of error.
fn outcomes(found: &[Found]) -> BTreeMap<String, usize> {
    let cache = SchemaCache::new();
    let mut counts = BTreeMap::new();
    for found in found {
        let definition = Definition::parse(&found.text).unwrap();
        let outcome = match Contract::compile(definition, &SchemaOptions::default(), &cache) {
            Ok(contract) => {
                assert_eq!(contract.digest(), digests(&found.text).definition);
                "served".to_owned()
            }
            Err(error) => kind(&error),
        };
        *counts.entry(format!("{}: {outcome}", found.folder)).or_insert(0) += 1;
    }
    counts
}

fn kind(error: &ContractError) -> String {
    let schema = |side: &str, error: &SchemaError| {
        let kind = match error {
            SchemaError::Limit { limit, .. } => limit.name().to_owned(),
            SchemaError::Pattern { fault, .. } => format!("pattern {fault}"),
            other => format!("{other}"),
        };
        format!("{side}: {kind}")
    };
    match error {
        ContractError::Input(error) => schema("input", error),
        ContractError::Output(error) => schema("output", error),
        other => other.to_string(),
    }
}

/// R1.5: the outcome of registering the fixtures is recorded.
#[test]
fn registration_of_the_fixtures_is_on_record() {
    insta::assert_json_snapshot!(outcomes(&fixtures()));
}

/// R1.5: the outcome of registering the real definitions is recorded.
#[test]
fn registration_of_the_real_definitions_is_on_record() {
    let real = real_definitions();
    if !real.is_empty() {
        insta::assert_json_snapshot!(outcomes(&real));
    }
}

/// R4.9: at most one in 200 tool names of real servers is suspicious; users switch off a screening with false alarms.
#[test]
fn hardly_any_real_definition_is_suspicious() {
    let all = real_definitions();
    let mut told = BTreeMap::new();
    for found in &all {
        let definition = Definition::parse(&found.text).unwrap();
        for suspicion in toolcrib_contract::suspicion::suspicions(&definition, &Default::default()) {
            told.entry(definition.name().to_owned())
                .or_insert_with(|| format!("{}: {suspicion}", found.place));
        }
    }
    let names: std::collections::BTreeSet<String> =
        all.iter().map(|found| Definition::parse(&found.text).unwrap().name().to_owned()).collect();
    assert!(told.len() * 200 <= names.len().max(1), "{} of {}: {told:#?}", told.len(), names.len());
}
