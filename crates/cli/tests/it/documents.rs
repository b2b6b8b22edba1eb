//! Executable documents: every `console` block of README.md and docs/guide is run, and its output compared.
//!
//! In a block, a line `$ toolcrib …` is a command, the lines below it are its output, and `? N` is its exit code if
//! that is not 0. A line `…` matches any lines, `…` inside a line any text. `<!-- file: NAME -->` before a block writes
//! the block to that file. The commands of a document run in one folder, in order. `$ cargo run --release` is the
//! program without a verb; its address and path are replaced by those a reader would see. A failing test shows the
//! program's output. `TOOLCRIB_FIX_DOCS=1` rewrites the generated references.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::home::{Home, Ran};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents() -> Vec<PathBuf> {
    let mut all = vec![root().join("README.md")];
    let guides = std::fs::read_dir(root().join("docs/guide")).into_iter().flatten().flatten();
    all.extend(
        guides.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|kind| kind == "md")),
    );
    all.sort();
    all
}

struct Step {
    line: usize,
    command: String,
    expected: Vec<String>,
    code: i32,
}

enum Piece {
    File(String, String),
    Run(Step),
}

/// Block: `true` if it is to be run, and its numbered lines.
type Block = (bool, Vec<(usize, String)>);

fn pieces(text: &str) -> Vec<Piece> {
    let (mut found, mut file, mut block): (Vec<Piece>, Option<String>, Option<Block>) =
        (Vec::new(), None, None);
    for (number, line) in text.lines().enumerate() {
        match &mut block {
            None if line.starts_with("```") => block = Some((line == "```console", Vec::new())),
            None => {
                let name = line.strip_prefix("<!-- file: ").and_then(|rest| rest.strip_suffix(" -->"));
                file = name.map(str::to_owned).or(file);
            }
            Some((console, lines)) if line == "```" => {
                if let Some(name) = file.take() {
                    let text: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
                    found.push(Piece::File(name, text));
                } else if *console {
                    found.extend(steps(lines).into_iter().map(Piece::Run));
                }
                block = None;
            }
            Some((_, lines)) => lines.push((number + 1, line.to_owned())),
        }
    }
    found
}

fn steps(lines: &[(usize, String)]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (number, line) in lines {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { line: *number, command: command.to_owned(), expected: Vec::new(), code: 0 });
        } else if let Some(step) = steps.last_mut() {
            match line.strip_prefix("? ").and_then(|code| code.parse().ok()) {
                Some(code) => step.code = code,
                None => step.expected.push(line.clone()),
            }
        }
    }
    steps
}

/// Splits a command as a shell does, with single and double quotes; a comment ends the line.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in command.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => (quote, word) = (Some(character), Some(word.unwrap_or_default())),
            (None, ' ') => words.extend(word.take()),
            (None, '#') if word.is_none() => break,
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

/// Returns true if the output matches the document.
fn fits(expected: &[String], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "…" => {
            (0..=lines.len()).any(|skipped| fits(rest, &lines[skipped..]))
        }
        Some((first, rest)) => {
            lines.split_first().is_some_and(|(line, left)| alike(first, line.trim_end()) && fits(rest, left))
        }
    }
}

fn alike(expected: &str, line: &str) -> bool {
    match expected.trim_end().split_once('…') {
        None => expected.trim_end() == line,
        Some((head, tail)) => line.strip_prefix(head).is_some_and(|rest| {
            rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| alike(tail, &rest[at..]))
        }),
    }
}

fn perform(home: &Home, command: &str) -> Ran {
    let words = words(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["cargo", "run", "--release"] | ["toolcrib"] | ["toolcrib", "serve"] => greeting(home),
        ["toolcrib", rest @ ..] => home.run(rest),
        ["cat", file] => Ran { code: 0, out: home.read(file), err: String::new() },
        _ => panic!("a document runs {command:?}, which is none of ours"),
    }
}

/// Returns the server's greeting, with the default address in place of the real one.
fn greeting(home: &Home) -> Ran {
    let (mut process, url) = crate::serving::desk(home);
    process
        .wait_for_line("the end of the greeting", Duration::from_secs(20), |line| {
            line.contains("Ctrl-C").then_some(())
        })
        .unwrap();
    // At the default address `connect` needs no URL.
    let usual = process.said().replace(&url, "http://127.0.0.1:7420/mcp");
    let usual = usual.replace(url.trim_end_matches("/mcp"), "http://127.0.0.1:7420");
    let out = ["cursor", "claude-desktop", "windsurf"].iter().fold(usual, |out, client| {
        out.replace(
            &format!("connect {client} --url http://127.0.0.1:7420/mcp"),
            &format!("connect {client}"),
        )
    });
    Ran {
        code: 0,
        out: out.replace(env!("CARGO_BIN_EXE_toolcrib"), "target/release/toolcrib"),
        err: String::new(),
    }
}

/// R8.1: every command in the documents has the output that they show.
#[test]
fn every_command_in_the_documents_does_what_they_show() {
    let mut run = 0;
    let mut wrong = String::new();
    for document in documents() {
        let name = document.file_stem().unwrap().to_string_lossy().into_owned();
        let home = Home::new(&format!("document-{name}"));
        for piece in pieces(&std::fs::read_to_string(&document).unwrap()) {
            let step = match piece {
                Piece::File(file, text) => {
                    home.write(&file, &text);
                    continue;
                }
                Piece::Run(step) => step,
            };
            run += 1;
            let ran = perform(&home, &step.command);
            let said = format!("{}{}", ran.out, ran.err);
            let said = said.replace(&home.folder.display().to_string(), "~");
            if ran.code != step.code || !fits(&step.expected, &said.lines().collect::<Vec<_>>()) {
                wrong.push_str(&format!(
                    "{name}.md:{}: $ {}\n? {}\n{said}\n",
                    step.line, step.command, ran.code
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(run >= 10, "the documents run {run} commands");
}

fn generated(file: &str, text: &str) {
    let path = root().join("docs/reference").join(file);
    if std::env::var_os("TOOLCRIB_FIX_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let hint = "run the test with TOOLCRIB_FIX_DOCS=1";
    let line = written.lines().zip(text.lines()).position(|(a, b)| a != b);
    assert!(written == text, "docs/reference/{file} is not what the code says (line {line:?}): {hint}");
}

/// R8.1: the reference of the command line is generated by the program.
#[test]
fn the_reference_of_the_command_line_is_generated() {
    let ran = Home::new("reference").run(&["reference"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    generated("cli.md", &ran.out);
}

/// R7.6: the schema of the report of `diff` and `check` is generated by the program.
#[test]
fn the_schema_of_the_report_is_generated() {
    let ran = Home::new("reference-report").run(&["reference", "report"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    generated("report.schema.json", &ran.out);
}

/// Returns the variants of an enum with explicit numbers, and their doc comments.
fn variants(source: &str, name: &str) -> Vec<(String, String, String)> {
    let body = source.split(&format!("enum {name} {{")).nth(1).unwrap().split("\n}").next().unwrap();
    let (mut found, mut comment) = (Vec::new(), String::new());
    for line in body.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("/// ") {
            comment = format!("{comment} {text}").trim().to_owned();
        } else if let Some((variant, number)) = line.trim_end_matches(',').split_once(" = ") {
            found.push((variant.to_owned(), number.to_owned(), std::mem::take(&mut comment)));
        }
    }
    found
}

/// R7.6: the lists of exit codes and error codes are generated from the code.
#[test]
fn the_reference_of_errors_is_generated() {
    let source = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let mut text = String::from(
        "# Errors\n\nGenerated from the code; a test compares.\n\n## Exit codes\n\nThe same for every verb.\n\n| code | name | meaning |\n| ---: | --- | --- |\n",
    );
    for (variant, number, meaning) in variants(&source("crates/cli/src/exit.rs"), "Exit") {
        text.push_str(&format!("| {number} | {variant} | {meaning} |\n"));
    }
    text.push_str(
        "\n## JSON-RPC error codes\n\nWhat goes wrong inside a tool is a result with `isError`, never one of these.\n\n| code | name | remark |\n| ---: | --- | --- |\n",
    );
    for (variant, number, meaning) in variants(&source("crates/protocol/src/error.rs"), "Code") {
        text.push_str(&format!("| {number} | {variant} | {meaning} |\n"));
    }
    generated("errors.md", &text);
}

#[test]
fn a_document_is_read_as_its_head_says() {
    let found = pieces(
        "x\n<!-- file: a.txt -->\n```text\nhi\n```\n```console\n$ toolcrib x 'a b' # why\nout …\n? 2\n```\n",
    );
    assert!(matches!(&found[0], Piece::File(name, text) if name == "a.txt" && text == "hi\n"));
    let Piece::Run(step) = &found[1] else { panic!("a step") };
    assert_eq!(
        (words(&step.command), step.code),
        (vec!["toolcrib".to_owned(), "x".to_owned(), "a b".to_owned()], 2)
    );
    assert!(
        fits(&step.expected, &["out put"]) && !fits(&step.expected, &["put"]) && !fits(&step.expected, &[])
    );
    assert!(fits(&["a".to_owned(), "…".to_owned(), "z".to_owned()], &["a", "b", "c", "z"]));
}
