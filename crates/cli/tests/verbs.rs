//! The binary as people run it: its output and exit codes.
#![allow(clippy::expect_used, reason = "a test may stop")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn toolcrib(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
    command.args(words).env("TOOLCRIB_DATA", Path::new(env!("CARGO_TARGET_TMPDIR")).join("data"));
    command.output().expect("the binary starts")
}

fn written(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("a file can be written");
    path
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const OLD: &str = r#"{"tools":[{"name":"search","description":"Searches.","annotations":{"readOnlyHint":true},
    "inputSchema":{"type":"object","required":["q"],"properties":{"q":{"type":"string","description":"Words."}}}}]}"#;

#[test]
fn a_break_is_found_with_the_call_that_used_to_work() {
    let old = written("diff_old.json", OLD);
    let new = written("diff_new.json", &OLD.replace("\"q\"", "\"query\""));
    let output = toolcrib(&["diff", old.to_str().unwrap(), new.to_str().unwrap(), "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["verdict"], "breaking");
    assert_eq!(report["suggested_bump"], "major");
    assert_eq!(report["changes"][0]["tool"], "search");
    assert_eq!(report["changes"][0]["direction"], "input");
    assert!(report["changes"][0]["witness"].get("q").is_some(), "{report}");
    let same = toolcrib(&["diff", old.to_str().unwrap(), old.to_str().unwrap()]);
    assert_eq!(same.status.code(), Some(0));
}

#[test]
fn pairs_are_judged_in_their_order() {
    let pairs = written(
        "pairs.jsonl",
        concat!(
            r#"{"id":"a","old":{"type":"string"},"new":{},"direction":"input"}"#,
            "\n",
            r#"{"id":"b","old":{},"new":{"type":"string"},"direction":"input"}"#,
            "\n"
        ),
    );
    let output =
        toolcrib(&["compat", "--batch", pairs.to_str().unwrap(), "--format", "json", "--world", "open"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["id"], &lines[0]["verdict"]), (&"a".into(), &"compatible".into()));
    assert_eq!((&lines[1]["id"], &lines[1]["verdict"]), (&"b".into(), &"breaking".into()));
    assert!(lines[1].get("witness").is_some() && lines[1]["micros"].is_u64());
}

#[test]
fn lint_fails_on_errors_and_names_the_place() {
    let bad =
        written("lint_bad.json", r#"{"name":"a b","description":"X.","inputSchema":{"type":"object"}}"#);
    let output = toolcrib(&["lint", bad.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("name.invalid"), "{}", text(&output.stdout));
    let good = written("lint_good.json", OLD);
    assert_eq!(toolcrib(&["lint", good.to_str().unwrap()]).status.code(), Some(0));
}

#[test]
fn show_prints_a_signature() {
    let file = written("show.json", OLD);
    let output = toolcrib(&["show", file.to_str().unwrap()]);
    assert_eq!(text(&output.stdout), "read-only    search(q: string)\n");
    let missing = toolcrib(&["show", file.to_str().unwrap(), "nothing"]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn each_failure_is_one_line_a_hint_and_its_code() {
    let broken = written("broken.json", "{\"tools\":[{\"name\":1}]}");
    for (words, code, line) in [
        (vec!["frobnicate"], 2, "unrecognized subcommand"),
        (vec!["show", "no-such-file.json"], 3, "no-such-file.json"),
        (vec!["show", broken.to_str().unwrap()], 2, "/tools/0"),
        (vec!["serve", "--listen", "nonsense"], 2, "cannot listen at nonsense"),
    ] {
        let output = toolcrib(&words);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(line), "{words:?}: {}", text(&output.stderr));
    }
}

/// R3.1: `search_tools` finds real tools better than plain BM25 over the same text, by every figure.
#[test]
fn the_ranking_beats_plain_bm25_over_judged_questions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data = root.join("../shared/data");
    if !data.exists() {
        eprintln!("SKIPPED: there is no {}", data.display());
        return;
    }
    let queries = root.join("crates/engine/tests/search/queries.jsonl");
    let lines = std::fs::read_to_string(&queries).expect("the questions are there");
    assert!(lines.lines().count() >= 150);
    let output = toolcrib(&[
        "search",
        "--eval",
        "--queries",
        queries.to_str().expect("a path"),
        "--data",
        data.to_str().expect("a path"),
    ]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    assert!(said.contains("recall@5") && said.contains("plain BM25"), "{said}");
}

#[test]
fn a_search_prints_the_signatures_that_fit() {
    let file = written("search.json", OLD);
    let output = toolcrib(&["search", file.to_str().expect("a path"), "searching", "words"]);
    assert_eq!(text(&output.stdout), "read-only    search(q: string)\n");
    let words = ["search", file.to_str().expect("a path"), "searching", "--format", "json"];
    let found: serde_json::Value = serde_json::from_slice(&toolcrib(&words).stdout).expect("JSON");
    assert_eq!((&found[0]["name"], &found[0]["effect"]), (&"search".into(), &"read-only".into()), "{found}");
    assert_eq!(toolcrib(&["search", file.to_str().expect("a path")]).status.code(), Some(2));
}

/// R3.1: without the real tools, the measurement says so and fails.
#[test]
fn an_evaluation_without_its_tools_is_refused_loudly() {
    let queries = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/search/queries.jsonl");
    let output =
        toolcrib(&["search", "--eval", "--queries", queries.to_str().expect("a path"), "--data", "nowhere"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("nothing was measured"), "{}", text(&output.stderr));
}

/// R3.3: a client's mode and its reason can be read, and why it sees a tool or not.
#[test]
fn explain_reads_the_mode_and_the_toolsets() {
    let output = toolcrib(&["explain", "transfer_cash", "--as", "codex", "--toolsets", "tax"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("mode      static: the client calls itself \"codex\""), "{said}");
    assert!(said.contains("toolset   accounts: within reach, not loaded"), "{said}");
    let words =
        ["explain", "transfer_cash", "--as", "claude-code", "--modern", "--read-only", "--format", "json"];
    let answer: serde_json::Value = serde_json::from_slice(&toolcrib(&words).stdout).expect("JSON");
    assert_eq!((&answer["mode"], &answer["callable"]), (&"anthropic".into(), &"no".into()), "{answer}");
    let unknown = toolcrib(&["explain", "transfer_cash", "--toolsets", "taxes"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        text(&unknown.stderr)
            .contains("known: accounts, core, discovery, tax, trade-analytics, trade-planning"),
        "{}",
        text(&unknown.stderr)
    );
    assert_eq!(toolcrib(&["explain", "nothing"]).status.code(), Some(2));
}

/// R3.2: toolsets are declared by names and hints in a file; an error in it has its line and column.
#[test]
fn explain_reads_toolsets_from_a_file() {
    let tools = written("explain.json", OLD);
    let config = written(
        "explain.toml",
        "[toolsets.finding]\ndescription = \"Finds\"\ntools = [\"sea*\"]\nread_only = true\n",
    );
    let (tools, config) = (tools.to_str().expect("a path"), config.to_str().expect("a path"));
    let said = text(&toolcrib(&["explain", "search", "--file", tools, "--toolset-file", config]).stdout);
    assert!(said.contains("toolset   finding: loaded"), "{said}");
    let broken = written("broken.toml", "[toolsets.finding]\ntool = [\"sea*\"]\n");
    let output =
        toolcrib(&["explain", "search", "--file", tools, "--toolset-file", broken.to_str().expect("a path")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("broken.toml: line 2, column 1: "), "{}", text(&output.stderr));
    let missing = toolcrib(&["serve", "--toolset-file", "nowhere.toml"]);
    assert_eq!(missing.status.code(), Some(2));
}
