//! Progress of long work: drawn at a terminal, and nowhere else.

use std::fmt::Write as _;

use crate::home::Home;
use crate::terminal;

/// Creates a home with two slow servers.
fn slow(name: &str) -> Home {
    let home = Home::new(name);
    home.write("notes.sh", include_str!("scripted.sh"));
    home.write("tools.json", r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}"#);
    let server = |name: &str| {
        format!("[servers.{name}]\ncommand = \"sh\"\nargs = [\"-c\", \"sleep 0.4; exec sh notes.sh\"]\n")
    };
    home.write("toolcrib.toml", &format!("{}{}", server("first"), server("second")));
    home
}

/// R8.1: reading several servers shows the current one and how far, and the line is erased before the result.
#[test]
fn several_servers_are_counted_at_a_terminal() {
    let home = slow("progress-lock");
    let said = terminal::run(&mut home.command(&["lock"]), None);
    assert_eq!(said.code, 0, "{}{}", said.out, said.shown);
    assert!(
        said.shown.contains("reading servers [                        ]   0 % first"),
        "{:?}",
        said.shown
    );
    assert!(
        said.shown.contains("reading servers [============            ]  50 % second"),
        "{:?}",
        said.shown
    );
    assert!(said.shown.ends_with("\r\u{1b}[K"), "the line is gone at the end: {:?}", said.shown);
    assert_eq!(said.out, "toolcrib.lock: 2 tools pinned\n", "what is said goes where it always goes");
    let checked = terminal::run(&mut home.command(&["check"]), None);
    assert!(checked.code == 0 && checked.shown.contains("50 % second"), "{:?}", checked.shown);
}

/// R8.1: a gateway shows how many servers have answered; log lines stay separate, and the greeting is complete.
#[test]
fn servers_that_start_slowly_are_counted_at_a_terminal() {
    let home = slow("progress-serve");
    let mut config = home.read("toolcrib.toml").replacen("sleep 0.4", "sleep 1.5", 1);
    config.push_str("[servers.broken]\ncommand = \"sh\"\nargs = [\"-c\", \"sleep 0.6; exit 3\"]\n");
    home.write("toolcrib.toml", &config);
    let serve = |home: &Home| {
        let mut command = std::process::Command::new("timeout");
        command.args(["--preserve-status", "-s", "TERM", "5", env!("CARGO_BIN_EXE_toolcrib"), "serve"]);
        command.args(["--config", "toolcrib.toml", "--listen", "127.0.0.1:0"]);
        command.current_dir(&home.folder).env("HOME", &home.folder).stdin(std::process::Stdio::null());
        command
    };
    let said = terminal::run(&mut serve(&home), None);
    assert_eq!(said.code, 0, "{}{}", said.out, said.shown);
    assert!(said.shown.contains("starting servers ["), "{:?}", said.shown);
    assert!(said.shown.contains("% first"), "the one that is waited for: {:?}", said.shown);
    assert!(said.out.starts_with("toolcrib serves at http://127.0.0.1:"), "{}", said.out);
    assert!(said.out.ends_with("stop with Ctrl-C\n") && !said.out.contains('\u{1b}'), "{}", said.out);
    let logged: Vec<&str> = said.shown.lines().filter(|line| line.contains(" WARN ")).collect();
    assert!(!logged.is_empty(), "{:?}", said.shown);
    for line in logged {
        let (before, _) = line.split_once("20").unwrap();
        assert!(before.is_empty() || before.ends_with("\r\u{1b}[K"), "a log line begins its line: {line:?}");
    }
    let quiet = terminal::run_with(&mut serve(&home), "NO_COLOR", "1");
    assert!(!quiet.shown.contains("starting servers"), "{:?}", quiet.shown);
}

/// R8.1: nothing is drawn under --quiet, if colour is off, in CI, and into a pipe.
#[test]
fn nothing_is_drawn_where_nobody_looks() {
    let home = slow("progress-quiet");
    let quiet = terminal::run(&mut home.command(&["--quiet", "lock"]), None);
    assert_eq!((quiet.code, quiet.shown.as_str()), (0, ""));
    for (name, value) in [("NO_COLOR", "1"), ("CI", "true"), ("TERM", "dumb")] {
        let said = terminal::run_with(&mut home.command(&["lock", "-o", "other.lock"]), name, value);
        assert_eq!((said.code, said.shown.as_str()), (0, ""), "{name}");
    }
    let piped = home.run(&["lock", "-o", "piped.lock"]);
    assert_eq!((piped.code, piped.err.as_str()), (0, ""));
}

/// Number of pairs whose judgement takes several ticks on any machine.
const PAIRS: usize = 40_000;

/// Number of servers whose import takes a while on any machine.
const SERVERS: usize = 40_000;

/// R8.1: long files show progress: pairs to judge, by the bytes read, and a catalogue import.
#[test]
fn long_files_show_how_far_they_are() {
    let home = Home::new("progress-files");
    let (mut pairs, mut servers) = (String::new(), Vec::new());
    for at in 0..PAIRS {
        let old = format!(
            r#"{{"type":"object","properties":{{"p{at}":{{"type":"string","maxLength":{at}}}}},"required":["p{at}"]}}"#
        );
        let new = old.replace("\"string\"", "[\"string\",\"null\"]");
        let _ = writeln!(pairs, r#"{{"id":{at},"old":{old},"new":{new},"direction":"input"}}"#);
    }
    for at in 0..SERVERS {
        servers.push(format!(
            r#"{{"name":"io.example/s{at}","description":"One of many.","version":"1.0.0","remotes":[{{"type":"streamable-http","url":"https://s{at}.example.org/mcp"}}]}}"#
        ));
    }
    home.write("pairs.jsonl", &pairs);
    let judged = terminal::run(&mut home.command(&["compat", "--batch", "pairs.jsonl"]), None);
    assert_eq!((judged.code, judged.out.lines().count()), (0, PAIRS), "{}", judged.shown);
    assert!(judged.shown.contains("judging pairs [="), "{:?}", judged.shown);
    let file = format!(
        r#"{{"version":"1.0.0","meta":{{"last_updated":"2026-01-01T00:00:00Z"}},"data":{{"servers":[{}]}}}}"#,
        servers.join(",")
    );
    home.write("catalogue.json", &file);
    let words = ["registry", "import", "catalogue.json", "--store", "catalogue.db"];
    let imported = terminal::run(&mut home.command(&words), None);
    assert_eq!(imported.code, 0, "{}{}", imported.out, imported.shown);
    assert!(imported.shown.contains("importing catalogue.json ["), "{:?}", imported.shown);
    assert!(imported.out.contains(&format!("{SERVERS} servers added")), "{}", imported.out);
}

/// R8.1: a question at a terminal is answered there.
#[test]
fn a_question_is_asked_at_a_terminal() {
    let home = Home::new("question");
    let words = ["call", "desk/transfer_cash", "from=main", "to=pro", "amount=1"];
    let refused = terminal::run(&mut home.command(&words), Some("n\n"));
    assert!(
        refused.shown.contains("transfer_cash (destructive)") && refused.shown.contains("[y/N]"),
        "{:?}",
        refused.shown
    );
    assert_eq!((refused.code, refused.out.as_str()), (0, "nothing was called\n"));
    let agreed = terminal::run(&mut home.command(&words), Some("y\n"));
    assert!(agreed.code == 0 && agreed.out.contains("\"amount\""), "{}{}", agreed.out, agreed.shown);
}
