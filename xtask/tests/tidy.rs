//! Style rules as tests, over every file that git knows.
//!
//! Forbidden words are split here, so that this file does not forbid itself.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test: what cannot go on must stop")]

use std::path::{Path, PathBuf};
use std::process::Command;

const FILE_LINES_MAX: usize = 800;
const ARCHITECTURE_LINES_MAX: usize = 250;

/// Lock files: written by tools, long, and with addresses.
const WRITTEN_BY_TOOLS: [&str; 3] = ["Cargo.lock", "package-lock.json", "requirements.txt"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn files() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).expect("file names are UTF-8");
    let files: Vec<_> =
        listed.lines().map(str::to_owned).filter(|file| root().join(file).is_file()).collect();
    assert!(files.len() > 10, "git lists almost nothing: {files:?}");
    files
}

fn text(file: &str) -> Option<String> {
    String::from_utf8(std::fs::read(root().join(file)).expect("a listed file can be read")).ok()
}

fn name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

fn is_source(file: &str) -> bool {
    [".rs", ".mjs", ".js", ".ts", ".py", ".html", ".css"].iter().any(|ending| file.ends_with(ending))
}

/// Returns a complaint for every file for which `wrong` returns a reason.
fn complaints(wrong: impl Fn(&str) -> Option<String>) -> Vec<String> {
    files().iter().filter_map(|file| wrong(file).map(|why| format!("{file}: {why}"))).collect()
}

#[track_caller]
fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn no_source_file_is_longer_than_a_reading() {
    assert_none(&complaints(|file| {
        let limit = match file {
            "ARCHITECTURE.md" => ARCHITECTURE_LINES_MAX,
            _ if is_source(file) => FILE_LINES_MAX,
            _ => return None,
        };
        let lines = text(file)?.lines().count();
        (lines > limit).then(|| format!("{lines} lines, at most {limit}"))
    }));
}

#[test]
fn files_are_named_after_a_noun_of_the_domain() {
    assert_none(&complaints(|file| {
        let stem = file.strip_suffix(".rs")?.rsplit('/').next()?;
        let empty = ["util", "utils", "helper", "helpers", "common", "manager", "types", "misc"];
        empty.contains(&stem).then(|| format!("`{stem}` says nothing about what is inside"))
    }));
}

#[test]
fn every_module_says_at_its_head_what_it_is() {
    assert_none(&complaints(|file| {
        let text = file.ends_with(".rs").then(|| text(file))??;
        let first = text.lines().find(|line| !line.trim().is_empty());
        // A module of unit tests is described by the head of the module it tests.
        let is_tests = matches!(name(file), "tests.rs");
        (!is_tests && !first.is_some_and(|line| line.starts_with("//!"))).then(|| "no `//!` head".to_owned())
    }));
}

#[test]
fn doc_comments_name_their_subject() {
    let riddles = [
        concat!("Wh", "at"),
        concat!("Wh", "o"),
        concat!("The ", "same"),
        concat!("So ", "many"),
        concat!("I", "t"),
    ];
    assert_none(&complaints(|file| {
        let text = file.ends_with(".rs").then(|| text(file))??;
        let mut continues = false;
        let (number, line) = text.lines().enumerate().find(|(_, line)| {
            let comment = doc_comment(line);
            let is_first = !std::mem::replace(&mut continues, comment.is_some());
            is_first && comment.is_some_and(|comment| riddles.iter().any(|words| begins_with(comment, words)))
        })?;
        Some(format!("line {} does not name its subject: {}", number + 1, line.trim()))
    }));
}

#[test]
fn nothing_unfinished_is_left() {
    let marks =
        [concat!("to", "do!("), concat!("unimple", "mented!("), concat!("FIX", "ME"), concat!("XX", "X:")];
    assert_none(&complaints(|file| found(file, &marks)));
}

#[test]
fn no_merge_is_left_half_done() {
    let marks = [concat!("<<<<", "<<< "), concat!(">>>>", ">>> ")];
    assert_none(&complaints(|file| found(file, &marks)));
}

#[test]
fn no_machine_path_stands_in_the_repository() {
    let paths = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
        concat!("/Us", "ers/"),
        concat!("/t", "mp/"),
    ];
    assert_none(&complaints(|file| found(file, &paths)));
}

#[test]
fn no_registry_host_stands_in_the_repository() {
    let hosts = [
        concat!("registry.npm", "js"),
        concat!("npmjs", ".org"),
        concat!("npmjs", ".com"),
        concat!("pypi", ".org"),
        concat!("python", "hosted"),
        concat!("crates", ".io"),
        concat!("deb.", "debian"),
    ];
    assert_none(&complaints(|file| if name(file) == "Cargo.lock" { None } else { found(file, &hosts) }));
}

#[test]
fn lock_files_carry_no_download_address() {
    assert_none(&complaints(|file| match name(file) {
        "package-lock.json" => found(file, &["\"resolved\""]),
        "requirements.txt" => found(file, &["http://", "https://", "--index-url", "--find-links"]),
        _ => None,
    }));
}

#[test]
fn lines_end_clean() {
    assert_none(&complaints(|file| {
        if WRITTEN_BY_TOOLS.contains(&name(file)) || file.ends_with(".snap") || file.contains("/fixtures/") {
            return None;
        }
        let text = text(file)?;
        let dirty = text.lines().position(|line| line.ends_with([' ', '\t', '\r']));
        dirty.map(|line| format!("line {} ends in white space", line + 1))
    }));
}

/// R14.3: a build for Windows, which is not supported, is refused by name.
#[test]
fn a_build_for_windows_is_refused_by_name() {
    for file in ["crates/server/src/lib.rs", "crates/upstream/src/lib.rs"] {
        let refusal = concat!("#[cfg(not(unix))]\n", "compile_error!(\"Toolcrib does not run on Windows: ");
        assert!(text(file).is_some_and(|text| text.contains(refusal)), "{file}");
    }
}

fn found(file: &str, forbidden: &[&str]) -> Option<String> {
    let text = text(file)?;
    let (number, line) =
        text.lines().enumerate().find(|(_, line)| forbidden.iter().any(|word| line.contains(word)))?;
    Some(format!("line {}: {}", number + 1, line.trim()))
}

/// Returns the text of a line that is a doc comment.
fn doc_comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim_start)
}

/// Returns true if `text` begins with these whole words.
fn begins_with(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}
