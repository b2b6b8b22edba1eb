//! Tests of rules as data: each rule has a pair, and every rule runs on every pair and on each side against itself.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;
use toolcrib_change::{Direction, Level, Options, Report, Rule, diff, rules, unusable};
use toolcrib_contract::Definition;

fn tools(values: &[Value]) -> Vec<Definition> {
    values.iter().map(|value| Definition::from_value(value).unwrap()).collect()
}

fn report(rule: &Rule) -> Report {
    diff(&tools(&rule.old), &tools(&rule.new), &Options::default())
}

/// R7.5: every file is a rule, loaded under the name of its file.
#[test]
fn every_file_is_a_rule_of_its_name() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/rules");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let loaded: BTreeSet<String> = rules().iter().map(|rule| rule.id.clone()).collect();
    assert_eq!(files, loaded);
    for rule in rules() {
        assert!(
            !rule.message.is_empty() && !rule.fix.is_empty() && rule.reference.starts_with("https://"),
            "{}",
            rule.id
        );
        assert!(
            ["definition", "input", "output", "schema"].contains(&rule.direction.as_str()),
            "{}",
            rule.id
        );
    }
}

/// R7.5: each rule finds its own pair, at its own level.
#[test]
fn each_rule_finds_its_own_pair() {
    for rule in rules() {
        let report = report(rule);
        let found = report.changes.iter().find(|change| change.id == rule.id);
        let change =
            found.unwrap_or_else(|| panic!("{} is silent on its own pair: {:#}", rule.id, report.to_json()));
        if let Some(level) = rule.level.fixed() {
            assert_eq!(change.verdict, level, "{}", rule.id);
        }
        insta::assert_json_snapshot!(rule.id.replace('.', "-"), report.to_json());
    }
}

/// R7.3: every breaking schema verdict has a witness, for every pair in both directions.
#[test]
fn every_break_of_a_schema_has_its_witness() {
    let mut breaks = 0;
    for rule in rules() {
        for (old, new) in [(&rule.old, &rule.new), (&rule.new, &rule.old)] {
            let report = diff(&tools(old), &tools(new), &Options::default());
            for change in report.changes.iter().filter(|change| change.verdict == Level::Breaking) {
                breaks += 1;
                let is_of_tool = change.direction == Direction::Definition;
                assert!(is_of_tool || change.witness.is_some(), "{}: {:#}", rule.id, report.to_json());
            }
        }
    }
    assert!(breaks > 20, "{breaks}");
}

/// R7.5: a side compared with itself gives no finding, except that it is unusable.
#[test]
fn no_rule_finds_anything_between_a_side_and_itself() {
    for rule in rules() {
        for side in [&rule.old, &rule.new] {
            let report = diff(&tools(side), &tools(side), &Options::default());
            if !unusable(&tools(side)).is_empty() {
                assert_eq!(rule.id, "schema.invalid");
                assert_eq!(report.verdict(), Level::Unknown);
                continue;
            }
            assert!(report.changes.is_empty(), "{}: {:#}", rule.id, report.to_json());
            assert_eq!(report.suggested_bump().name(), "none");
        }
    }
}

/// R7.5: the findings on every pair, in both directions, are recorded.
#[test]
fn every_rule_on_every_pair_is_as_recorded() {
    let mut text = String::new();
    for rule in rules() {
        for (arrow, old, new) in [("→", &rule.old, &rule.new), ("←", &rule.new, &rule.old)] {
            let report = diff(&tools(old), &tools(new), &Options::default());
            let found: Vec<String> = report
                .changes
                .iter()
                .map(|change| format!("{}={}", change.id, change.verdict.name()))
                .collect();
            let _ = writeln!(
                text,
                "{:<28}{arrow} {} ({})",
                rule.id,
                found.join(" "),
                report.suggested_bump().name()
            );
        }
    }
    insta::assert_snapshot!("matrix", text);
}
