//! Clients that share no code with the library meet toolsets in the example `toolsets`, over both transports, in both
//! eras: what is not loaded is unknown to them, and reachable through `call_tool` under its own contract.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test: what cannot go on must stop")]

use std::process::Command;

use serde_json::{Value, json};
use toolcrib_testkit::deps::{Deps, built_example};
use toolcrib_testkit::foreign::{self, Era, Sdk, Server};
use toolcrib_testkit::process::Process;

fn servers() -> (Process, [Server; 2]) {
    let program = built_example("toolsets").unwrap_or_else(|error| panic!("{error}"));
    let (process, http) = foreign::listening(&program).unwrap_or_else(|error| panic!("{error}"));
    let stdio = Server::Stdio { command: vec![program.display().to_string()] };
    (process, [http, stdio])
}

fn plan() -> Value {
    let inner = |title: Value| json!({"name": "lend_book", "arguments": {"title": title}});
    json!({
        "list": { "tools": ["find_book", "search_tools", "call_tool", "enable_toolset", "disable_toolset",
            "describe_toolset", "list_available_toolsets"] },
        "call": { "tool": "call_tool", "arguments": inner(json!("Emma")), "text": "Done with Emma." },
        "badArguments": { "tool": "call_tool", "arguments": inner(json!(7)), "as": "result" },
        "unknownTool": { "tool": "lend_book" },
    })
}

fn walk(sdk: Sdk) {
    let (_process, servers) = servers();
    for era in [Era::Legacy, Era::Modern] {
        for server in &servers {
            let outcome = foreign::run(&Deps::of_this_workspace(), sdk, era, server, &plan());
            outcome.unwrap_or_else(|error| panic!("{server:?}: {error}"));
        }
    }
}

/// R3.1, R3.6: the TypeScript SDK reaches what is not loaded through call_tool only.
#[test]
fn typescript_client_reaches_hidden_tools_through_call_tool_only() {
    walk(Sdk::TypeScript);
}

/// R3.1, R3.6: the Python SDK reaches what is not loaded through call_tool only.
#[test]
fn python_client_reaches_hidden_tools_through_call_tool_only() {
    walk(Sdk::Python);
}

/// R3.1, R3.6: the Rust SDK reaches what is not loaded through call_tool only.
#[tokio::test]
async fn rmcp_client_reaches_hidden_tools_through_call_tool_only() {
    let (_process, servers) = servers();
    for era in [Era::Legacy, Era::Modern] {
        for server in &servers {
            let report = toolcrib_foreign_rmcp::run(era, server, &plan()).await;
            assert_eq!(foreign::missed(&report), None, "{server:?}: {report}");
        }
    }
}

/// R3.2: a program started with a toolset that does not exist stops, and names those that do.
#[test]
fn an_unknown_toolset_stops_the_program() {
    let program = built_example("toolsets").unwrap_or_else(|error| panic!("{error}"));
    let output = Command::new(program).args(["--toolsets", "book"]).output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("archive, books, discovery, loans"), "{said}");
}
