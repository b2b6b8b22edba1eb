//! `serve` without arguments, and `status` and `explain` about it.

use std::time::Duration;

use toolcrib_testkit::process::Process;

use crate::home::Home;

/// Starts `serve` without a server, and returns the process and its URL.
pub(crate) fn desk(home: &Home) -> (Process, String) {
    let mut process = Process::start(&mut home.command(&["serve", "--listen", "127.0.0.1:0"])).unwrap();
    let url = |line: &str| line.strip_prefix("toolcrib serves at ").map(str::to_owned);
    let url = process.wait_for_line("saying where it serves", Duration::from_secs(20), url).unwrap();
    (process, url)
}

/// R8.1: the greeting says what is served, where, and the command that connects each known client.
#[test]
fn the_greeting_says_what_where_and_how() {
    let home = Home::new("greeting");
    let (mut process, url) = desk(&home);
    process
        .wait_for_line("the end of the greeting", Duration::from_secs(20), |line| {
            line.contains("stop with Ctrl-C").then_some(())
        })
        .unwrap();
    let said = process.said();
    for line in [
        "trade-analytics".to_owned(),
        format!("claude mcp add --transport http toolcrib {url}"),
        format!("codex mcp add toolcrib --url {url}"),
        format!("connect cursor --url {url}"),
        format!("connect windsurf --url {url}"),
    ] {
        assert!(said.contains(&line), "{line}: {said}");
    }
    assert!(!said.contains('\u{1b}'), "no colour where there is no terminal");
    let status = home.run(&["status", &url]);
    assert_eq!(status.code, 0, "{}", status.err);
    assert!(
        status.out.contains("is ready, MCP 2026-07-28") && status.out.contains("trade-planning"),
        "{}",
        status.out
    );
    // An address as in `--listen` is enough.
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    for short in [address.to_owned(), format!("http://{address}")] {
        let json = home.run(&["status", &short, "--format", "json"]).json();
        assert_eq!(json["url"], *url, "{json}");
    }
    let json = home.run(&["status", &url, "--format", "json"]).json();
    assert_eq!(json["toolsets"].as_array().unwrap().len(), 6, "{json}");
    assert!(process.terminate(Duration::from_secs(10)).unwrap().success());
}

/// R8.1: an address without a server is one line with a hint.
#[test]
fn status_of_nothing_is_unreachable() {
    let port = toolcrib_testkit::port::free().unwrap();
    let ran =
        Home::new("nothing").run(&["status", &format!("http://127.0.0.1:{port}/mcp"), "--patience", "2"]);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("hint: start it with"), "{}", ran.err);
}

/// R8.4: `explain` says why a client sees a tool or not: toolset, mode, whether it is listed and how it is reached.
#[test]
fn explain_says_why_a_tool_is_there_or_not() {
    let home = Home::new("explain");
    let ask = |words: &[&str]| home.run(&[&["explain"], words, &["--format", "json"]].concat()).json();
    let deferred = ask(&["transfer_cash", "--as", "claude-code"]);
    assert_eq!((&deferred["listed"], &deferred["mode"]), (&false.into(), &"anthropic".into()), "{deferred}");
    let loaded = ask(&["transfer_cash", "--as", "claude-code", "--toolsets", "all"]);
    assert_eq!(loaded["listed"], true, "{loaded}");
    let read_only = ask(&["transfer_cash", "--as", "codex", "--toolsets", "all", "--request-read-only"]);
    assert_eq!(read_only["callable"], "no", "{read_only}");
    assert!(read_only["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{read_only}");
    assert_eq!(home.run(&["explain", "no_such_tool"]).code, 2);
}
