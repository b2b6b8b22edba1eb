//! Clients that share no code with the library call the tools of the example `workshop`, over both transports, in
//! both eras: structured output arrives and is mirrored as text, arguments are validated, and the user is asked.
#![allow(clippy::panic, reason = "a test: what cannot go on must stop")]

use serde_json::{Value, json};
use toolcrib_testkit::deps::{Deps, built_example};
use toolcrib_testkit::foreign::{self, Era, Sdk, Server};
use toolcrib_testkit::process::Process;

fn servers() -> (Process, [Server; 2]) {
    let program = built_example("workshop").unwrap_or_else(|error| panic!("{error}"));
    let (process, http) = foreign::listening(&program).unwrap_or_else(|error| panic!("{error}"));
    let stdio = Server::Stdio { command: vec![program.display().to_string()] };
    (process, [http, stdio])
}

fn plan() -> Value {
    json!({
        "list": { "tools": ["generate_fantasy_character", "launch_confetti"] },
        "call": {
            "tool": "generate_fantasy_character", "arguments": { "theme": "sea" },
            "structured": { "name": "Elowen of the sea" }, "members": ["species", "characterClass", "abilities"]
        },
        "progress": { "tool": "generate_fantasy_character", "arguments": {}, "least": 2 },
        "badArguments": { "tool": "generate_fantasy_character", "arguments": { "thema": "sea" }, "as": "result" },
        "unknownTool": { "tool": "launch_rockets" },
        "ask": {
            "tool": "launch_confetti", "arguments": { "count": 3, "ask": true }, "answer": { "sure": true },
            "says": "Launched 3"
        },
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

/// R2.6: the TypeScript SDK gets structured content that it validates itself, with the same JSON as text (R2.1,
/// R2.8).
#[test]
fn typescript_client_gets_structured_content_in_both_eras() {
    walk(Sdk::TypeScript);
}

/// R2.6: the Python SDK gets structured content that it validates itself, with the same JSON as text (R2.1, R2.8).
#[test]
fn python_client_gets_structured_content_in_both_eras() {
    walk(Sdk::Python);
}

/// R2.6: the Rust SDK gets structured content, with the same JSON as text (R2.1, R2.8).
#[tokio::test]
async fn rmcp_client_gets_structured_content_in_both_eras() {
    let (_process, servers) = servers();
    for era in [Era::Legacy, Era::Modern] {
        for server in &servers {
            let report = toolcrib_foreign_rmcp::run(era, server, &plan()).await;
            assert_eq!(foreign::missed(&report), None, "{server:?}: {report}");
        }
    }
}
