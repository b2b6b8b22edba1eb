//! `serve` without a word, and what can be asked of it.

use std::time::Duration;

use toolcrib_testkit::process::Process;

use crate::home::Home;

pub(crate) fn desk(home: &Home) -> (Process, String) {
    let mut process = Process::start(&mut home.command(&["serve", "--listen", "127.0.0.1:0"])).unwrap();
    let address = process.wait_for_address(Duration::from_secs(20)).unwrap();
    (process, format!("http://{address}/mcp"))
}

/// R8.1: serving says what it serves, where, and the line that connects each known client.
#[test]
fn the_greeting_says_what_where_and_how() {
    let home = Home::new("greeting");
    let (mut process, url) = desk(&home);
    process
        .wait_for_line(Duration::from_secs(20), |line| line.contains("stop with Ctrl-C").then_some(()))
        .unwrap();
    let said = process.said();
    for line in [
        "trade-analytics".to_owned(),
        format!("claude mcp add --transport http toolcrib {url}"),
        format!("codex mcp add toolcrib --url {url}"),
        "connect cursor".to_owned(),
        "connect windsurf".to_owned(),
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
    let json = home.run(&["status", &url, "--format", "json"]).json();
    assert_eq!(json["toolsets"].as_array().unwrap().len(), 6, "{json}");
    assert!(process.terminate(Duration::from_secs(10)).unwrap().success());
}

/// R8.1: nothing at the address is said in one line with a hint.
#[test]
fn status_of_nothing_is_unreachable() {
    let port = toolcrib_testkit::port::free().unwrap();
    let ran =
        Home::new("nothing").run(&["status", &format!("http://127.0.0.1:{port}/mcp"), "--patience", "2"]);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("hint: start it with"), "{}", ran.err);
}
