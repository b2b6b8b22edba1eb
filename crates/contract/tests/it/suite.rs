//! The JSON Schema Test Suite, run through this crate's own check.
//!
//! Every case must give the suite's verdict, except those in two lists that must match exactly, so that a stale line
//! fails like a missing one: `suite/refused.txt` (admission refuses the schema) and `suite/differs.txt` (the verdict
//! differs).

mod case;
mod list;

use std::path::Path;

use toolcrib_contract::json::{Document, Limits, OwnedDocument};
use toolcrib_contract::{Dialect, Schema, SchemaOptions};

use case::{Group, groups};
use list::List;

/// Result of running all groups of a dialect.
#[derive(Default)]
struct Outcome {
    refused: Vec<String>,
    differs: Vec<String>,
    agreed: usize,
    /// Cases in which the explaining walk gave a verdict as well.
    explained: usize,
}

impl Outcome {
    fn run(&mut self, dialect: Dialect, group: &Group) {
        // Formats are asserted only in the files that test them as assertions.
        let options = SchemaOptions::default()
            .with_default_dialect(dialect)
            .asserting_formats(group.file.starts_with("optional/format/"));
        let source = OwnedDocument::parse(group.schema.as_str(), &Limits::definition()).unwrap();
        let schema = match Schema::compile(source.root(), &options) {
            Ok(schema) => schema,
            Err(error) => {
                let group_name = &group.name;
                self.refused.push(format!("{} | {} | {group_name} | {error}", dialect.name(), group.file));
                return;
            }
        };
        for case in &group.cases {
            let verdict = match Document::parse(case.data.as_bytes(), &Limits::message()) {
                Ok(instance) => {
                    let verdict = schema.accepts(instance.root());
                    let walked = schema.accepts_by_explanation(source.root(), instance.root());
                    let place =
                        format!("{} | {} | {} | {}", dialect.name(), group.file, group.name, case.name);
                    assert!(walked.is_none_or(|walked| walked == verdict), "explained otherwise: {place}");
                    self.explained += usize::from(walked.is_some());
                    verdict.to_string()
                }
                Err(error) => error.to_string(),
            };
            if verdict == case.valid.to_string() {
                self.agreed += 1;
            } else {
                let place = format!("{} | {} | {} | {}", dialect.name(), group.file, group.name, case.name);
                self.differs.push(format!("{place} | {verdict}"));
            }
        }
    }
}

fn run(dialect: Dialect) {
    let mut outcome = Outcome::default();
    for group in groups(&Path::new("tests").join(dialect.name())) {
        outcome.run(dialect, &group);
    }
    let Outcome { refused, differs, agreed, explained } = outcome;
    eprintln!(
        "{}: {agreed} agree, {explained} by the explanation too, {} groups refused, {} differ",
        dialect.name(),
        refused.len(),
        differs.len()
    );
    let faults = [
        List::read(include_str!("suite/refused.txt"), dialect).compare("refused.txt", &refused),
        List::read(include_str!("suite/differs.txt"), dialect).compare("differs.txt", &differs),
    ];
    assert!(faults.iter().all(String::is_empty), "{}", faults.concat());
    assert!(explained > 1_000, "the explanation knew {explained} verdicts only");
    assert!(agreed > 1_000, "the suite is not all there: {agreed} cases ran");
}

/// R1.5, R1.7: verdicts on draft-07 are those of the published suite.
#[test]
fn draft_07_gives_the_published_verdicts() {
    run(Dialect::Draft7);
}

/// R1.5, R1.7: verdicts on 2020-12 are those of the published suite.
#[test]
fn draft_2020_12_gives_the_published_verdicts() {
    run(Dialect::Draft202012);
}
