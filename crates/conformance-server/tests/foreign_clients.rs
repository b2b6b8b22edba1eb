//! Independent clients over both transports, in both eras, against the real binary.
#![allow(clippy::panic, reason = "a test: what cannot go on must stop")]

use std::path::Path;

use serde_json::{Value, json};
use toolcrib_testkit::deps::Deps;
use toolcrib_testkit::foreign::{self, Era, Sdk, Server};
use toolcrib_testkit::process::Process;

const PROGRAM: &str = env!("CARGO_BIN_EXE_conformance-server");

fn over_stdio() -> Server {
    Server::Stdio { command: vec![PROGRAM.to_owned(), "--stdio".to_owned()] }
}

fn over_http() -> (Process, Server) {
    foreign::listening(Path::new(PROGRAM)).unwrap_or_else(|error| panic!("{error}"))
}

fn plan() -> Value {
    json!({
        "list": { "tools": ["test_simple_text", "test_tool_with_progress", "test_elicitation", "test_custom_header"] },
        "call": { "tool": "test_custom_header", "arguments": { "value": "both ways" }, "text": "both ways" },
        "progress": { "tool": "test_tool_with_progress", "arguments": {}, "least": 3 },
        "badArguments": { "tool": "test_elicitation", "arguments": { "message": 7 }, "as": "result" },
        "unknownTool": { "tool": "no_such_tool" },
        "ask": {
            "tool": "test_elicitation", "arguments": { "message": "Who are you?" },
            "answer": { "username": "ada", "email": "ada@example.org" }, "says": "ada@example.org"
        },
    })
}

fn walk(sdk: Sdk) {
    let (_process, http) = over_http();
    for era in [Era::Legacy, Era::Modern] {
        for server in [&http, &over_stdio()] {
            let outcome = foreign::run(&Deps::of_this_workspace(), sdk, era, server, &plan());
            outcome.unwrap_or_else(|error| panic!("{server:?}: {error}"));
        }
    }
}

/// R2.8: the TypeScript SDK lists, calls, gets progress, is refused (R2.4) and is asked (R2.7), in both eras.
#[test]
fn typescript_client_is_served_over_http_and_stdio_in_both_eras() {
    walk(Sdk::TypeScript);
}

/// R2.8: the Python SDK lists, calls, gets progress, is refused (R2.4) and is asked (R2.7), in both eras.
#[test]
fn python_client_is_served_over_http_and_stdio_in_both_eras() {
    walk(Sdk::Python);
}

/// R2.8: the Rust SDK lists, calls, gets progress, is refused (R2.4) and is asked (R2.7), in both eras.
#[tokio::test]
async fn rmcp_client_is_served_over_http_and_stdio_in_both_eras() {
    let (_process, http) = over_http();
    for era in [Era::Legacy, Era::Modern] {
        for server in [&http, &over_stdio()] {
            let report = toolcrib_foreign_rmcp::run(era, server, &plan()).await;
            assert_eq!(foreign::missed(&report), None, "{server:?}: {report}");
        }
    }
}
