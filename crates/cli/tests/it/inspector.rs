//! The README's commands for a client from npm, run as written.

use std::process::Command;

use serde_json::Value;
use toolcrib_testkit::deps::Deps;

use crate::home::Home;
use crate::serving::desk;

/// Returns the README's commands that start with `beginning`, with their continuation lines.
fn commands(beginning: &str) -> Vec<String> {
    let readme = include_str!("../../../../README.md").replace("\\\n", " ");
    readme.lines().filter(|line| line.starts_with(beginning)).map(str::to_owned).collect()
}

/// R8.1: the Inspector lists and calls a tool of the desk with the README's commands; only the address is the test's.
#[test]
fn the_inspector_uses_the_desk_by_the_readmes_lines() {
    let deps = Deps::of_this_workspace();
    let bin = deps.npm_project().join("node_modules/.bin/inspector");
    assert!(bin.exists(), "{} is missing: run `cargo run -p xtask -- provision`", bin.display());
    let node = deps.node().unwrap_or_else(|error| panic!("{error}"));
    let machine = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(node.parent().unwrap().to_owned()).chain(std::env::split_paths(&machine));
    let path = std::env::join_paths(folders).unwrap();
    let home = Home::new("inspector");
    let (_process, url) = desk(&home);
    let run = |line: &str| -> Value {
        let line = line.replace("http://127.0.0.1:7420/mcp", &url);
        let output = Command::new("sh")
            .args(["-c", &line])
            .current_dir(deps.npm_project())
            .env("PATH", &path)
            .env("HOME", &home.folder)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line}: {error}: {said}"))
    };
    let lines = commands("npx @modelcontextprotocol/inspector --cli ");
    let [list, call] = lines.as_slice() else { panic!("two lines, a list and a call: {lines:?}") };
    let listed = run(list);
    let tools = listed["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "get_expectancy"), "{listed}");
    let called = run(call);
    assert_eq!(called["structuredContent"]["trades"], 99, "{called}");
}
