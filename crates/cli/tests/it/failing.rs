//! Bad input: one clear line, a hint, the right code.

use std::io::Read as _;
use std::process::Stdio;

use crate::home::Home;

/// R7.6: the same codes for every verb, and never 0 for what went wrong.
#[test]
fn each_failure_has_its_line_and_code() {
    let home = Home::new("failures");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    home.write("broken.toml", "[servers.a]\ncommand = 3\n");
    for (words, code, line) in [
        (&["serve", "--listen", &address][..], 2, "cannot listen at"),
        (&["serve", "--config", "nowhere.toml"], 2, "nowhere.toml"),
        (&["serve", "--config", "broken.toml"], 2, "broken.toml"),
        (&["serve", "--toolsets", "nonsense"], 2, "known: accounts"),
        (&["frobnicate"], 2, "unrecognized subcommand"),
        (&["serve", "--frobnicate"], 2, "unexpected argument"),
        (&["connect", "emacs"], 2, "possible values"),
        (&["connect", "windsurf", "--scope", "project"], 2, "--file"),
        (&["connect", "cursor", "--file", "/proc/nowhere/x", "--yes"], 3, "/proc/nowhere"),
        (&["doctor", "--config", "broken.toml"], 1, ""),
        (&["completions", "tcsh"], 2, "possible values"),
        (&["man", "--out", "/proc/nowhere"], 3, "/proc/nowhere"),
        (&["call", "http://127.0.0.1:1/mcp/x", "--patience", "2"], 3, "127.0.0.1:1"),
    ] {
        let ran = home.run(words);
        assert_eq!(ran.code, code, "{words:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(line), "{words:?}: {}", ran.err);
        assert!(!ran.err.contains("panicked"), "{words:?}: {}", ran.err);
    }
}

/// R7.6: a reader that goes away is no failure.
#[test]
fn a_broken_pipe_is_quiet() {
    let home = Home::new("pipe");
    for words in
        [&["completions", "bash"][..], &["man"], &["--help"], &["call", "desk/get_round_trips", "limit=500"]]
    {
        let mut child = home.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let status = child.wait().unwrap();
        assert_eq!((status.code(), said.as_str()), (Some(0), ""), "{words:?}");
    }
}

/// R8.1: completions for every shell, a manual page for every verb, and a version with its commit.
#[test]
fn completions_manual_and_version_come_from_the_definition() {
    let home = Home::new("generated");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = home.run(&["completions", shell]);
        assert!(ran.code == 0 && ran.out.contains("connect") && ran.out.contains("dry-run"), "{shell}");
    }
    assert!(home.run(&["man"]).out.contains(".TH toolcrib 1"));
    assert_eq!(home.run(&["man", "--out", "pages"]).code, 0);
    assert!(home.read("pages/toolcrib-connect.1").contains("\\-\\-undo"));
    let version = home.run(&["--version"]).out;
    let commit = version
        .trim()
        .strip_prefix(concat!("toolcrib ", env!("CARGO_PKG_VERSION"), " ("))
        .and_then(|rest| rest.strip_suffix(')'));
    let commit = commit.unwrap_or_else(|| panic!("{version}"));
    assert!(
        commit == "unknown" || commit.len() == 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{version}"
    );
}

/// R8.1: colour is for terminals, and `NO_COLOR` turns it off there too.
#[test]
fn no_output_of_a_pipe_is_coloured() {
    let home = Home::new("colour");
    for words in
        [&["doctor", "--listen", "127.0.0.1:0"][..], &["--help"], &["connect", "cursor", "--dry-run"]]
    {
        let ran = home.run(words);
        assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "{words:?}");
    }
}
