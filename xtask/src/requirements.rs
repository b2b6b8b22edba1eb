//! `xtask requirements`: checks that docs/requirements.md lists, for each requirement, exactly the tests that prove it.
//!
//! The requirement numbers are fixed here, and people write the summaries. The column of proofs must equal the result
//! of scanning the tests: any difference is an error, and `--fix` rewrites the column.

mod table;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail};

use self::table::Row;
use crate::shell::root;
use crate::sources::{self, TestFunction};

const FILE: &str = "docs/requirements.md";

/// Number of requirements in each chapter, from R1 on.
const CHAPTERS: [usize; 14] = [9, 9, 6, 9, 10, 7, 7, 5, 5, 3, 3, 5, 3, 3];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write the proof column from the tests that exist.
    #[arg(long)]
    fix: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.fix {
        let text = sources::read(FILE)?;
        let fixed = table::with_proofs(&text, &proofs(&sources::tests()?));
        if fixed != text {
            std::fs::write(root().join(FILE), &fixed).context(FILE)?;
        }
    }
    check()
}

pub(crate) fn check() -> Result<()> {
    report(&sources::read(FILE)?, &sources::tests()?)
}

fn report(text: &str, tests: &[TestFunction]) -> Result<()> {
    let found = complaints(text, tests);
    for complaint in &found {
        println!("    {complaint}");
    }
    if !found.is_empty() {
        bail!("{FILE} and the tests disagree in {} places (`xtask requirements --fix`)", found.len());
    }
    let rows = table::rows(text);
    let open = rows.iter().filter(|row| row.proofs.is_empty()).count();
    println!("    {} requirements, {} with tests, {open} open", rows.len(), rows.len() - open);
    Ok(())
}

fn expected() -> BTreeSet<String> {
    let chapters = CHAPTERS.iter().zip(1..);
    chapters.flat_map(|(count, chapter)| (1..=*count).map(move |item| format!("R{chapter}.{item}"))).collect()
}

/// Returns the tests that name each requirement.
fn proofs(tests: &[TestFunction]) -> BTreeMap<String, BTreeSet<String>> {
    let mut proofs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for test in tests {
        for number in &test.requirements {
            proofs.entry(number.clone()).or_default().insert(test.id.clone());
        }
    }
    proofs
}

fn complaints(text: &str, tests: &[TestFunction]) -> Vec<String> {
    let (rows, expected) = (table::rows(text), expected());
    let mut found = Vec::new();
    for number in &expected {
        match rows.iter().filter(|row| row.number == *number).count() {
            1 => {}
            0 => found.push(format!("{number} is not listed")),
            count => found.push(format!("{number} is listed {count} times")),
        }
    }
    for Row { number, .. } in rows.iter().filter(|row| !expected.contains(&row.number)) {
        found.push(format!("{number} is listed but is no requirement"));
    }
    for test in tests {
        for number in test.requirements.iter().filter(|number| !expected.contains(*number)) {
            found.push(format!("{} ({}) names {number}, which is no requirement", test.id, test.file));
        }
    }
    let (proofs, nothing) = (proofs(tests), BTreeSet::new());
    for row in &rows {
        let proven = proofs.get(&row.number).unwrap_or(&nothing);
        for test in row.proofs.difference(proven) {
            let exists = tests.iter().any(|known| known.id == *test);
            let why = if exists { "does not name it" } else { "does not exist" };
            found.push(format!("{}: `{test}` is listed but {why}", row.number));
        }
        for test in proven.difference(&row.proofs) {
            found.push(format!("{}: `{test}` names it but is not listed", row.number));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(id: &str, numbers: &[&str]) -> TestFunction {
        TestFunction {
            file: "src/lib.rs".into(),
            id: id.into(),
            requirements: numbers.iter().map(|&number| number.to_owned()).collect(),
            comment: String::new(),
            body: String::new(),
        }
    }

    fn full_table() -> String {
        expected().iter().map(|number| format!("| {number} | what | open |\n")).collect()
    }

    #[test]
    fn there_are_84_requirements() {
        assert_eq!(expected().len(), 84);
        assert!(expected().contains("R5.10") && expected().contains("R11.1"));
    }

    #[test]
    fn an_open_table_without_tests_is_true() {
        assert!(complaints(&full_table(), &[]).is_empty());
    }

    #[test]
    fn drift_in_either_direction_is_found() {
        let missing = complaints(&full_table(), &[test("p: a", &["R1.1"])]);
        assert_eq!(missing, ["R1.1: `p: a` names it but is not listed"]);
        let listed = full_table().replace("| R1.1 | what | open |", "| R1.1 | what | `p: a`<br>`p: gone` |");
        let wrong = complaints(&listed, &[test("p: a", &[])]);
        assert_eq!(
            wrong,
            ["R1.1: `p: a` is listed but does not name it", "R1.1: `p: gone` is listed but does not exist"]
        );
    }

    #[test]
    fn missing_double_and_unknown_numbers_are_found() {
        let table = full_table().replace("| R1.1 |", "| R1.2 |");
        let found = complaints(&table, &[test("p: a", &["R1.99"])]);
        assert!(found.contains(&"R1.1 is not listed".to_owned()), "{found:?}");
        assert!(found.contains(&"R1.2 is listed 2 times".to_owned()), "{found:?}");
        assert!(found.iter().any(|one| one.contains("R1.99, which is no requirement")), "{found:?}");
    }

    #[test]
    fn fixing_makes_the_table_true_and_touches_nothing_else() {
        let tests = [test("p: b", &["R1.1", "R2.1"]), test("p: a", &["R1.1"])];
        let text = format!("# Head\n\n{}\ntail\n", full_table());
        let fixed = table::with_proofs(&text, &proofs(&tests));
        assert!(complaints(&fixed, &tests).is_empty());
        assert!(fixed.contains("| R1.1 | what | `p: a`<br>`p: b` |"), "{fixed}");
        assert!(fixed.starts_with("# Head\n\n|") && fixed.ends_with("\ntail\n"));
        assert_eq!(table::with_proofs(&fixed, &proofs(&[])), text);
    }
}
