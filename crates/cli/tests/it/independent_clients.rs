//! Independent clients call the desk, as `serve` offers it without arguments.

use serde_json::{Value, json};
use toolcrib_testkit::deps::Deps;
use toolcrib_testkit::foreign::{self, Era, Sdk, Server};

use crate::home::Home;
use crate::serving::desk;

fn plan() -> Value {
    json!({
        "list": { "tools": ["get_quote", "get_sqn", "enrich_excursions", "search_tools", "enable_toolset"] },
        "call": { "tool": "get_expectancy", "arguments": { "account": "pro" }, "members": ["trades", "win_rate", "expectancy"] },
        "badArguments": { "tool": "get_quote", "arguments": { "symbol": "XYZ" }, "as": "result" },
        "unknownTool": { "tool": "launch_rockets" },
    })
}

/// R8.1: a client from npm lists and calls the desk's tools, over HTTP and stdio, in both eras.
#[test]
fn the_typescript_sdk_uses_the_desk() {
    let home = Home::new("typescript");
    let (_process, url) = desk(&home);
    let stdio = Server::Stdio {
        command: vec![env!("CARGO_BIN_EXE_toolcrib").to_owned(), "serve".to_owned(), "--stdio".to_owned()],
    };
    // The command that `connect claude-desktop` writes: the binary as a bridge to the running server.
    let bridge = Server::Stdio {
        command: vec![
            env!("CARGO_BIN_EXE_toolcrib").to_owned(),
            "serve".to_owned(),
            url.clone(),
            "--stdio".to_owned(),
            "--bridge".to_owned(),
        ],
    };
    for era in [Era::Legacy, Era::Modern] {
        for server in [&Server::Http { url: url.clone() }, &stdio, &bridge] {
            let outcome = foreign::run(&Deps::of_this_workspace(), Sdk::TypeScript, era, server, &plan());
            outcome.unwrap_or_else(|error| panic!("{server:?}: {error}"));
        }
    }
}

/// R8.1: the official Rust SDK calls the desk's tools over HTTP, in both eras.
#[tokio::test]
async fn the_rust_sdk_uses_the_desk() {
    let home = Home::new("rmcp");
    let (_process, url) = desk(&home);
    for era in [Era::Legacy, Era::Modern] {
        let report = toolcrib_foreign_rmcp::run(era, &Server::Http { url: url.clone() }, &plan()).await;
        assert_eq!(foreign::missed(&report), None, "{report}");
    }
}
