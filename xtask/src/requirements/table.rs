//! The table in docs/requirements.md: lines of the form `| R1.1 | summary | proof |`, anywhere in the file.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::numbers_in;

const OPEN: &str = "open";
const SEPARATOR: &str = "<br>";

#[derive(Debug)]
pub(super) struct Row {
    pub(super) number: String,
    pub(super) summary: String,
    /// Test ids; empty if the requirement is open.
    pub(super) proofs: BTreeSet<String>,
}

pub(super) fn rows(text: &str) -> Vec<Row> {
    text.lines().filter_map(row).collect()
}

fn row(line: &str) -> Option<Row> {
    let (head, proof) = line.strip_prefix("| ")?.strip_suffix(" |")?.rsplit_once(" | ")?;
    let (number, summary) = head.split_once(" | ")?;
    if !numbers_in(number).contains(number) {
        return None;
    }
    let proofs = proof.split(SEPARATOR).map(|one| one.trim().trim_matches('`'));
    Some(Row {
        number: number.to_owned(),
        summary: summary.to_owned(),
        proofs: proofs.filter(|one| *one != OPEN).map(str::to_owned).collect(),
    })
}

pub(super) fn with_proofs(text: &str, proofs: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut fixed = String::with_capacity(text.len());
    for line in text.lines() {
        match row(line) {
            Some(Row { number, summary, .. }) => {
                let proof = proofs.get(&number).map_or_else(|| OPEN.to_owned(), render);
                fixed.push_str(&format!("| {number} | {summary} | {proof} |"));
            }
            None => fixed.push_str(line),
        }
        fixed.push('\n');
    }
    fixed
}

fn render(tests: &BTreeSet<String>) -> String {
    tests.iter().map(|test| format!("`{test}`")).collect::<Vec<_>>().join(SEPARATOR)
}
