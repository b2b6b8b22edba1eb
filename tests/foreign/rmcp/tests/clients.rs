//! The foreign clients themselves, tried on a server that is not ours: they pass where they should, and they can miss.
//!
//! Without this, a client that says "ok" to everything would go unnoticed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test: what cannot go on must stop"
)]

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_testkit::deps::{Deps, workspace_root};
use toolcrib_testkit::foreign::{self, Era, Sdk, Server};
use toolcrib_testkit::port;
use toolcrib_testkit::process::Process;

const START_PATIENCE: Duration = Duration::from_secs(30);

fn python_server(words: &[&str]) -> Vec<String> {
    let python = Deps::of_this_workspace().python().unwrap_or_else(|error| panic!("{error}"));
    let script = workspace_root().join("tests/foreign/python/server.py");
    [python, script]
        .iter()
        .map(|path| path.display().to_string())
        .chain(words.iter().map(|&word| word.to_owned()))
        .collect()
}

fn over_stdio() -> Server {
    Server::Stdio { command: python_server(&["stdio"]) }
}

fn over_http() -> (Process, Server) {
    let port = port::free().unwrap();
    let command = python_server(&["http", &port.to_string()]);
    let mut process = Process::start(Command::new(&command[0]).args(&command[1..])).unwrap();
    process.wait_for_port(([127, 0, 0, 1], port).into(), START_PATIENCE).unwrap();
    (process, Server::Http { url: format!("http://127.0.0.1:{port}/mcp") })
}

/// Everything that this server gets right; it answers an unknown tool with a result instead of an error.
fn plan() -> Value {
    json!({
        "list": { "tools": ["add", "count", "greet"] },
        "call": { "tool": "add", "arguments": { "a": 1, "b": 2 }, "structured": { "sum": 3 }, "members": ["sum"] },
        "progress": { "tool": "count", "arguments": {}, "least": 3 },
        "badArguments": { "tool": "add", "arguments": { "a": "one" }, "as": "result" },
        "ask": {
            "tool": "greet", "arguments": {}, "answer": { "username": "Ada", "email": "ada@example.org" },
            "says": "Hello, Ada!"
        },
    })
}

/// Plans of which every step is wrong.
fn wrong_plans() -> [Value; 3] {
    [
        json!({
            "list": { "tools": ["subtract"] },
            "call": { "tool": "add", "arguments": { "a": 1, "b": 2 }, "structured": { "sum": 4 } },
            "progress": { "tool": "count", "arguments": {}, "least": 4 },
            "badArguments": { "tool": "add", "arguments": { "a": 1, "b": 2 }, "as": "result" },
            "unknownTool": { "tool": "subtract" },
            "ask": { "tool": "add", "arguments": { "a": 1, "b": 2 }, "answer": {}, "says": "3" },
        }),
        json!({
            "call": { "tool": "add", "arguments": { "a": 1, "b": 2 }, "structured": {}, "members": ["product"] },
            "badArguments": { "tool": "add", "arguments": { "a": "one" }, "as": "error" },
        }),
        json!({ "call": { "tool": "count", "arguments": {}, "text": "subtracted" } }),
    ]
}

#[track_caller]
fn assert_all_missed(plan: &Value, report: &Value) {
    for step in plan.as_object().unwrap().keys() {
        let result = report["steps"][step].as_str();
        assert!(result.is_some_and(|result| result != "ok"), "{step} was not missed: {report}");
    }
}

#[test]
fn scripts_pass_over_both_transports_in_both_eras() {
    let (_process, http) = over_http();
    for sdk in [Sdk::TypeScript, Sdk::Python] {
        for (era, server) in [(Era::Modern, &http), (Era::Legacy, &over_stdio())] {
            let outcome = foreign::run(&Deps::of_this_workspace(), sdk, era, server, &plan());
            outcome.unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn scripts_notice_what_is_wrong() {
    let (_process, http) = over_http();
    for sdk in [Sdk::TypeScript, Sdk::Python] {
        for plan in wrong_plans() {
            let walked = foreign::walk(&Deps::of_this_workspace(), sdk, Era::Modern, &http, &plan);
            assert_all_missed(&plan, &walked.unwrap_or_else(|error| panic!("{error}")).0);
        }
    }
}

#[tokio::test]
async fn rmcp_passes_over_http_and_stdio_in_both_eras() {
    let (_process, http) = over_http();
    for era in [Era::Legacy, Era::Modern] {
        for server in [&http, &over_stdio()] {
            let report = toolcrib_foreign_rmcp::run(era, server, &plan()).await;
            assert_eq!(foreign::missed(&report), None, "{report}");
        }
    }
}

#[tokio::test]
async fn rmcp_notices_what_is_wrong() {
    let (_process, http) = over_http();
    for plan in wrong_plans() {
        assert_all_missed(&plan, &toolcrib_foreign_rmcp::run(Era::Modern, &http, &plan).await);
    }
}
