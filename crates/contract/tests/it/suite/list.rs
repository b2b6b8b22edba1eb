//! Checked-in list of exceptions: one per line; `#` starts the reason for the lines below it.

use std::collections::BTreeSet;

use toolcrib_contract::Dialect;

pub(super) struct List<'a> {
    lines: BTreeSet<&'a str>,
}

impl<'a> List<'a> {
    /// Reads the lines of one dialect. Each must follow a reason.
    pub(super) fn read(text: &'a str, dialect: Dialect) -> Self {
        let mut reasoned = false;
        let mut lines = BTreeSet::new();
        for line in text.lines() {
            match line.strip_prefix('#') {
                Some(reason) => reasoned = !reason.trim().is_empty(),
                None if line.trim().is_empty() => reasoned = false,
                None => {
                    assert!(reasoned, "a line without a reason above it: {line}");
                    let of_dialect = line.split(" | ").next() == Some(dialect.name());
                    assert!(!of_dialect || lines.insert(line), "a line stands twice: {line}");
                }
            }
        }
        Self { lines }
    }

    /// Describes the lines that are missing or stale; empty if the list is exact.
    pub(super) fn compare(&self, name: &str, found: &[String]) -> String {
        let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
        let mut told = String::new();
        for line in found.difference(&self.lines) {
            told.push_str(&format!("\nmissing from {name}: {line}"));
        }
        for line in self.lines.difference(&found) {
            told.push_str(&format!("\nstale in {name}: {line}"));
        }
        told
    }
}
