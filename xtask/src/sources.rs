//! Scans the workspace's sources as text: the files that git knows, their tests, and the comment above each test.
//!
//! A cheap scan, not a parser. It relies on rustfmt's layout (an item ends at a closing brace with the indentation of
//! its first line), which the same test run checks before, and on tests being plain functions under an attribute that
//! ends in `test`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::shell::{command, output, root};

/// Test function with its comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestFunction {
    pub(crate) file: String,
    /// Id as the test runner prints it: `package: module::name`, or `package::binary: name` for an integration test.
    pub(crate) id: String,
    /// Requirement numbers in the comment directly above the test, or at the start of its name.
    pub(crate) requirements: BTreeSet<String>,
    /// Comment directly above the test.
    pub(crate) comment: String,
    pub(crate) body: String,
}

/// Returns every file that git tracks or would track, relative to the root.
pub(crate) fn files() -> Result<Vec<String>> {
    let listed = output(command("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]))?;
    let mut files: Vec<String> = listed.lines().map(str::to_owned).collect();
    files.retain(|file| root().join(file).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}

pub(crate) fn read(file: &str) -> Result<String> {
    std::fs::read_to_string(root().join(file)).with_context(|| file.to_owned())
}

/// Returns every test of the workspace, in the order of files.
pub(crate) fn tests() -> Result<Vec<TestFunction>> {
    let mut tests = Vec::new();
    for file in files()? {
        if file.ends_with(".rs")
            && let Some((folder, package)) = package_of(&file)?
            // xtask's own tests contain sample sources that would be taken for tests.
            && folder != "xtask"
        {
            let inside = file.strip_prefix(&folder).unwrap_or(&file).trim_start_matches('/');
            tests.extend(tests_in(&read(&file)?, &file, &Place::of(&package, inside)));
        }
    }
    Ok(tests)
}

/// Returns the folder and name of the package that a file belongs to.
pub(crate) fn package_of(file: &str) -> Result<Option<(String, String)>> {
    for folder in Path::new(file).ancestors().skip(1) {
        let manifest = root().join(folder).join("Cargo.toml");
        if manifest.is_file() {
            let text = std::fs::read_to_string(&manifest)?;
            let name = text.lines().find_map(|line| line.strip_prefix("name = "));
            return Ok(name.map(|name| (folder.display().to_string(), name.trim_matches('"').to_owned())));
        }
    }
    Ok(None)
}

/// Location of a file in its package.
struct Place {
    binary: String,
    modules: Vec<String>,
}

impl Place {
    fn of(package: &str, inside: &str) -> Self {
        let mut words: Vec<&str> = inside.trim_end_matches(".rs").split('/').collect();
        let top = if words.is_empty() { "" } else { words.remove(0) };
        let mut binary = package.to_owned();
        if top == "tests" && !words.is_empty() {
            binary = format!("{package}::{}", words.remove(0));
        }
        if words.last().is_some_and(|last| matches!(*last, "lib" | "main" | "mod")) {
            words.pop();
        }
        Self { binary, modules: words.into_iter().map(str::to_owned).collect() }
    }
}

fn tests_in(text: &str, file: &str, place: &Place) -> Vec<TestFunction> {
    let lines: Vec<&str> = text.lines().collect();
    let mut tests = Vec::new();
    // Open inline modules: name and indentation.
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut above = String::new();
    let mut is_test = false;
    for (number, line) in lines.iter().enumerate() {
        let word = line.trim_start();
        let indentation = line.len() - word.len();
        if word == "}" && open.last().is_some_and(|(_, column)| *column == indentation) {
            open.pop();
        }
        if let Some(comment) = word.strip_prefix("//") {
            above.push_str(comment);
            above.push('\n');
            continue;
        }
        if let Some(attribute) = word.strip_prefix("#[") {
            let path = attribute.split(['(', ']']).next().unwrap_or_default();
            is_test |= path == "test" || path.ends_with("::test");
            continue;
        }
        if let Some(name) = opened_module(word) {
            open.push((name, indentation));
        } else if let Some(name) = function_name(word)
            && is_test
        {
            let mut path = place.modules.clone();
            path.extend(open.iter().map(|(module, _)| (*module).to_owned()));
            path.push(name.to_owned());
            let mut requirements = numbers_in(&above);
            requirements.extend(number_in_name(name));
            tests.push(TestFunction {
                file: file.to_owned(),
                id: format!("{}: {}", place.binary, path.join("::")),
                requirements,
                comment: above.clone(),
                body: body(lines.get(number..).unwrap_or_default(), indentation),
            });
        }
        above.clear();
        is_test = false;
    }
    tests
}

fn body(lines: &[&str], indentation: usize) -> String {
    let end = lines.iter().position(|line| {
        line.trim_start() == "}" && line.len() == indentation + 1
            || line.ends_with("{}") && line.contains("fn ")
    });
    lines.get(..=end.unwrap_or(0)).unwrap_or_default().join("\n")
}

fn opened_module(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ").unwrap_or(line);
    let rest = rest.strip_prefix("pub(crate) ").unwrap_or(rest);
    rest.strip_prefix("mod ")?.strip_suffix(" {")
}

fn function_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ").unwrap_or(line);
    let rest = rest.strip_prefix("async ").unwrap_or(rest);
    rest.strip_prefix("fn ")?.split(['(', '<']).next()
}

/// Returns the requirement numbers in a text, such as `R7.3`, as whole words.
pub(crate) fn numbers_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_'));
    words.map(|word| word.trim_matches('.')).filter(|word| is_number(word)).map(str::to_owned).collect()
}

fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    word.strip_prefix('R').and_then(|rest| rest.split_once('.')).is_some_and(|(a, b)| digits(a) && digits(b))
}

/// Returns the requirement in a test's name: `r7_3_a_verdict_has_a_witness` names R7.3.
fn number_in_name(name: &str) -> Option<String> {
    let mut words = name.strip_prefix('r')?.splitn(3, '_');
    let number = format!("R{}.{}", words.next()?, words.next()?);
    is_number(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
/// R9.9: not a test.
fn helper() {}

#[cfg(test)]
mod tests {
    use super::*;

    /// R1.1: a name alone comes back (see R1.2).
    #[test]
    fn name_only_comes_back() {
        assert!(LIMIT > 0);
    }

    mod deep {
        // R2.4, R2.5
        #[tokio::test(flavor = \"current_thread\")]
        async fn refused() {
            if true {
            }
        }
    }

    #[test]
    fn r7_3_a_verdict_has_a_witness() {}

    #[test]
    fn plain() {}
}
";

    fn scan(inside: &str) -> Vec<TestFunction> {
        tests_in(SOURCE, "file.rs", &Place::of("toolcrib-contract", inside))
    }

    #[test]
    fn tests_are_found_with_their_path_and_numbers() {
        let found = scan("src/definition.rs");
        let ids: Vec<_> = found.iter().map(|test| test.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "toolcrib-contract: definition::tests::name_only_comes_back",
                "toolcrib-contract: definition::tests::deep::refused",
                "toolcrib-contract: definition::tests::r7_3_a_verdict_has_a_witness",
                "toolcrib-contract: definition::tests::plain",
            ]
        );
        let numbers: Vec<Vec<&str>> =
            found.iter().map(|test| test.requirements.iter().map(String::as_str).collect()).collect();
        assert_eq!(numbers, [vec!["R1.1", "R1.2"], vec!["R2.4", "R2.5"], vec!["R7.3"], vec![]]);
    }

    #[test]
    fn a_body_ends_with_its_function() {
        let found = scan("src/lib.rs");
        assert!(found[0].body.contains("LIMIT") && !found[0].body.contains("mod deep"));
        assert!(found[1].body.contains("if true"));
        assert_eq!(found[2].body, "    fn r7_3_a_verdict_has_a_witness() {}");
    }

    #[test]
    fn integration_tests_carry_the_name_of_their_binary() {
        assert_eq!(scan("tests/http.rs")[3].id, "toolcrib-contract::http: tests::plain");
        assert_eq!(scan("tests/http/main.rs")[3].id, "toolcrib-contract::http: tests::plain");
        assert_eq!(scan("tests/http/frame.rs")[3].id, "toolcrib-contract::http: frame::tests::plain");
    }

    #[test]
    fn only_whole_numbers_count() {
        assert_eq!(numbers_in("R1.10. XR1.1 R1 R.1 R2.x (R3.4)"), ["R1.10", "R3.4"].map(String::from).into());
    }
}
