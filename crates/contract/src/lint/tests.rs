use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::*;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lint").join(name)
}

fn fixture(rule: &str, side: &str) -> Definition {
    let text = std::fs::read_to_string(folder("fixtures").join(format!("{rule}.{side}.json"))).unwrap();
    Definition::parse(text).unwrap()
}

fn shown(report: &Report) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let _ = writeln!(
            out,
            "{} {} {}: {}",
            finding.level.name(),
            finding.rule,
            finding.pointer,
            finding.message
        );
    }
    out
}

#[test]
fn every_rule_is_a_file_and_every_file_is_a_rule() {
    let files: BTreeSet<_> = std::fs::read_dir(folder("rules"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let known: BTreeSet<_> = SOURCES.iter().map(|(id, ..)| (*id).to_owned()).collect();
    assert_eq!(files, known);
    assert_eq!(RULES.len(), SOURCES.len(), "a rule file does not parse");
    assert!(RULES.iter().all(|entry| entry.rule.id == entry.id));
}

#[test]
fn every_rule_finds_its_bad_fixture_and_spares_its_good_one() {
    for (id, ..) in SOURCES {
        let found = |side| lint(&fixture(id, side)).findings.iter().any(|f| f.rule == *id);
        assert!(found("bad"), "{id} does not find its bad fixture");
        assert!(!found("good"), "{id} finds its good fixture");
    }
}

#[test]
fn good_fixtures_are_free_of_errors_of_any_rule() {
    for (id, ..) in SOURCES {
        let report = lint(&fixture(id, "good"));
        assert!(report.findings.iter().all(|f| f.level < Level::Error), "{id}: {}", shown(&report));
    }
}

/// Runs every rule on every fixture, so that a changed rule shows wherever it applies.
#[test]
fn findings_on_all_fixtures() {
    let mut out = String::new();
    for (id, ..) in SOURCES {
        for side in ["bad", "good"] {
            let _ = write!(out, "== {id} ({side})\n{}", shown(&lint(&fixture(id, side))));
        }
    }
    insta::assert_snapshot!(out);
}
