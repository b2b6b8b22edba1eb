//! Bad input: one clear line, a hint, and the right exit code.

use std::io::Read as _;
use std::process::Stdio;

use crate::home::{Home, Ran};

/// R7.6: the same exit codes for every verb, and never 0 for a failure.
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

/// Requires one line that begins with the program's name, followed by at most one hint.
fn one_line_and_a_hint(ran: &Ran, line: &str, hint: &str) {
    let mut said = ran.err.lines();
    let first = said.next().unwrap_or_default();
    assert!(first.starts_with("toolcrib: ") && first.contains(line), "{line}: {}", ran.err);
    assert_eq!(
        said.next().map(str::trim_start).filter(|text| text.starts_with("hint: ")).is_some(),
        !hint.is_empty(),
        "{}",
        ran.err
    );
    assert!(ran.err.contains(hint) && said.next().is_none(), "{hint}: {}", ran.err);
    assert!(ran.out.is_empty(), "{}", ran.out);
}

/// R8.1: an address that is in use, for the demonstration and for a gateway; no server is started.
#[test]
fn a_taken_port_is_one_line_with_a_hint() {
    let home = Home::new("taken");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    home.write("toolcrib.toml", "[servers.a]\ncommand = \"touch\"\nargs = [\"started\"]\n");
    for words in [
        &["serve", "--listen", &address][..],
        &["serve", "--config", "toolcrib.toml", "--listen", &address],
        &["registry", "serve", "--listen", &address, "--store", "c.db"],
    ] {
        let ran = home.run(words);
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.err);
        one_line_and_a_hint(&ran, &format!("cannot listen at {address}"), "--listen");
    }
    assert!(!home.path("started").exists(), "nothing is started for an address that cannot be had");
}

/// R8.1: a configuration that is missing, unreadable, a folder, not text, or invalid is named with the location.
#[test]
fn an_unreadable_configuration_is_one_line_with_its_name() {
    let home = Home::new("unreadable");
    home.write("folder.toml/x", "");
    home.write("wrong.toml", "[servers.a]\ncommand = 3\n");
    home.write("typo.toml", "[servers.a]\ncomand = \"x\"\n");
    home.write("empty.toml", "");
    std::fs::write(home.path("binary.toml"), [0xff, 0xfe, 0x00]).unwrap();
    for (file, line) in [
        ("nowhere.toml", "nowhere.toml: "),
        ("folder.toml", "folder.toml: "),
        ("binary.toml", "binary.toml: "),
        ("wrong.toml", "wrong.toml:2:11: "),
        ("typo.toml", "typo.toml:2:1: "),
        ("empty.toml", "empty.toml: "),
    ] {
        for verb in [
            &["serve", "--config"][..],
            &["config", "validate"],
            &["explain", "x", "--config"],
            &["lock", "--config"],
        ] {
            let ran = home.run(&[verb, &[file]].concat());
            assert_eq!(ran.code, 2, "{verb:?} {file}: {}", ran.err);
            assert!(
                ran.err
                    .lines()
                    .next()
                    .is_some_and(|first| first.starts_with("toolcrib: ") && first.contains(line)),
                "{verb:?} {file}: {}",
                ran.err
            );
            assert!(ran.err.lines().count() <= 2, "{verb:?} {file}: {}", ran.err);
        }
    }
}

/// R8.1: an unknown verb or flag gets a suggestion.
#[test]
fn an_unknown_verb_or_flag_says_what_was_meant() {
    let home = Home::new("unknown-words");
    for (words, meant) in [
        (&["serv"][..], "serve"),
        (&["explian", "x"], "explain"),
        (&["serve", "--conifg", "x"], "--config"),
        (&["check", "--fail-on", "braking"], "breaking"),
    ] {
        let ran = home.run(words);
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.err);
        assert!(ran.err.contains(meant) && ran.err.contains("--help"), "{words:?}: {}", ran.err);
    }
}

/// R8.1: without a terminal, a verb that would ask refuses in one line and says how to agree beforehand; nothing is
/// done.
#[test]
fn without_a_terminal_nothing_is_asked_or_done() {
    let home = Home::new("no-terminal");
    home.write(".cursor/mcp.json", r#"{"mcpServers":{"fetch":{"command":"uvx","args":["f"]}}}"#);
    let before = home.read(".cursor/mcp.json");
    for words in [
        &["call", "desk/transfer_cash", "from=main", "to=pro", "amount=1"][..],
        &["init"],
        &["connect", "cursor"],
    ] {
        let ran = home.run(words);
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.err);
        assert_eq!(ran.err, "toolcrib: there is no terminal to ask at\n  hint: agree beforehand with --yes, or check with --dry-run\n".replace("check with", if words[0] == "call" { "check with" } else { "look with" }));
    }
    assert_eq!(home.read(".cursor/mcp.json"), before);
    assert!(!home.path("toolcrib.toml").exists());
}

/// R7.6: a closed output pipe is no failure.
#[test]
fn a_broken_pipe_is_quiet() {
    let home = Home::new("pipe");
    home.write("pairs.jsonl", "{\"id\":1,\"old\":true,\"new\":true,\"direction\":\"input\"}\n");
    for words in [
        &["completions", "bash"][..],
        &["man"],
        &["--help"],
        &["call", "desk/get_round_trips", "limit=500"],
        &["explain", "get_quote"],
        &["doctor", "--listen", "127.0.0.1:0", "--format", "json"],
        &["compat", "--batch", "pairs.jsonl"],
        &["reference"],
    ] {
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

/// R8.1: output to a pipe has no colour, and `NO_COLOR` turns it off at a terminal too.
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
