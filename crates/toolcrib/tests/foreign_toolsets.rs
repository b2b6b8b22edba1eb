//! Clients that share no code with the library use the example `toolsets`, over both transports, in both eras and in
//! every client mode: a tool that is not loaded is unknown to them and reachable through `call_tool` under its own
//! contract; a legacy client that re-lists loads more; a modern client's list never changes because of a call.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: what cannot go on must stop"
)]

use std::process::Command;

use serde_json::{Value, json};
use toolcrib_testkit::deps::{Deps, built_example};
use toolcrib_testkit::foreign::{self, Era, Sdk, Server};
use toolcrib_testkit::process::Process;

const MODES: [&str; 3] = ["static", "dynamic", "anthropic"];

/// Starts the example over HTTP and stdio, with one mode for every client.
fn servers(mode: &str) -> (Process, [Server; 2]) {
    let program = built_example("toolsets").unwrap_or_else(|error| panic!("{error}"));
    let mut command = Command::new(&program);
    let listening = foreign::listening_with(command.env("TOOLCRIB_CLIENT_MODE", mode));
    let (process, http) = listening.unwrap_or_else(|error| panic!("{error}"));
    let variable = format!("TOOLCRIB_CLIENT_MODE={mode}");
    let stdio = Server::Stdio { command: vec!["env".to_owned(), variable, program.display().to_string()] };
    (process, [http, stdio])
}

/// Returns the calls and results that a client of this mode and era must see.
fn plan(mode: &str, era: Era) -> Value {
    let inner = |title: Value| json!({"name": "lend_book", "arguments": {"title": title}});
    let enable = json!({"tool": "enable_toolset", "arguments": {"toolset_name": "loans"}});
    let mut plan = json!({
        "list": { "tools": ["find_book", "search_tools", "call_tool", "enable_toolset", "disable_toolset",
            "describe_toolset", "list_available_toolsets"] },
        "callers": { "tools": if mode == "anthropic" { vec!["find_book"] } else { vec![] } },
        "call": { "tool": "call_tool", "arguments": inner(json!("Emma")), "text": "Done with Emma." },
        "badArguments": { "tool": "call_tool", "arguments": inner(json!(7)), "as": "result" },
        "unknownTool": { "tool": "lend_book" },
    });
    match (era, mode) {
        (Era::Legacy, "static") => {
            plan["refused"] = enable.clone();
            plan["refused"]["says"] = json!("--toolsets loans");
        }
        (Era::Legacy, _) => {
            plan["relist"] = enable.clone();
            plan["relist"]["appear"] = json!(["lend_book", "return_book"]);
        }
        (Era::Modern, _) => {
            plan["refused"] = enable.clone();
            plan["refused"]["says"] = json!("X-MCP-Toolsets: loans");
            let search = json!({"tool": "search_tools", "arguments": {"query": "burn"}});
            let call = json!({"tool": "call_tool", "arguments": inner(json!("Emma"))});
            let disable = json!({"tool": "disable_toolset", "arguments": {"toolset_name": "books"}});
            plan["same"] = json!({ "calls": [enable, search, call, disable] });
        }
    }
    plan
}

fn walk(sdk: Sdk) {
    for mode in MODES {
        let (_process, servers) = servers(mode);
        for era in [Era::Legacy, Era::Modern] {
            for server in &servers {
                let outcome = foreign::run(&Deps::of_this_workspace(), sdk, era, server, &plan(mode, era));
                outcome.unwrap_or_else(|error| panic!("{mode}, {server:?}: {error}"));
            }
        }
    }
}

/// R3.1, R3.3, R3.4, R3.6, R10.1: the TypeScript SDK's client in every mode, era and transport.
#[test]
fn typescript_client_meets_toolsets_in_every_mode() {
    walk(Sdk::TypeScript);
}

/// R3.1, R3.3, R3.4, R3.6, R10.1: the Python SDK's client in every mode, era and transport.
#[test]
fn python_client_meets_toolsets_in_every_mode() {
    walk(Sdk::Python);
}

/// R3.1, R3.3, R3.4, R3.6, R10.1: the Rust SDK's client in every mode, era and transport.
#[tokio::test]
async fn rmcp_client_meets_toolsets_in_every_mode() {
    for mode in MODES {
        let (_process, servers) = servers(mode);
        for era in [Era::Legacy, Era::Modern] {
            for server in &servers {
                let report = toolcrib_foreign_rmcp::run(era, server, &plan(mode, era)).await;
                assert_eq!(foreign::missed(&report), None, "{mode}, {server:?}: {report}");
            }
        }
    }
}

/// R3.4: a modern client chooses by URL the toolsets that a call cannot load for it.
#[test]
fn a_modern_client_chooses_by_address() {
    let (_process, [http, _]) = servers("static");
    let Server::Http { url } = http else { panic!("not over HTTP") };
    let server = Server::Http { url: format!("{url}?toolsets=loans") };
    let plan = json!({
        "list": { "tools": ["lend_book", "return_book"] },
        "unknownTool": { "tool": "find_book" },
        "call": { "tool": "lend_book", "arguments": {"title": "Emma"}, "text": "Done with Emma." },
    });
    for sdk in [Sdk::TypeScript, Sdk::Python] {
        let outcome = foreign::run(&Deps::of_this_workspace(), sdk, Era::Modern, &server, &plan);
        outcome.unwrap_or_else(|error| panic!("{error}"));
    }
}

/// R3.2: a program started with an unknown toolset exits, and names the known ones.
#[test]
fn an_unknown_toolset_stops_the_program() {
    let program = built_example("toolsets").unwrap_or_else(|error| panic!("{error}"));
    let output = Command::new(program).args(["--toolsets", "book"]).output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("archive, books, discovery, loans"), "{said}");
}
