//! Clients on other SDKs confirm a destructive call in every way, in both eras, over both transports (R4.5).

use serde_json::{Value, json};
use toolcrib_testkit::deps::Deps;
use toolcrib_testkit::foreign::{self, Era, Sdk, Server};

use crate::running::{Folder, PROGRAM, Serving};

/// Plan that is asked by `input_required` or `elicitation/create`, and uses the two-step token.
fn asked() -> Value {
    json!({
        "ask": {"tool": "launch_confetti", "arguments": {"count": 3}, "answer": {"confirm": true}, "says": "\"launched\":3"},
        "twoStep": {"tool": "launch_confetti", "arguments": {"count": 4}, "summary": "four cannons", "says": "\"launched\":4"},
    })
}

/// Plan that uses the approval queue.
fn queued(folder: &Folder) -> Value {
    let approve = [PROGRAM, "approve", "allow", "--data", folder.path().to_str().unwrap()];
    json!({"queue": {"tool": "launch_confetti", "arguments": {"count": 5}, "approve": approve, "says": "\"launched\":5"}})
}

fn servers(folder: &Folder) -> (Serving, [Server; 2]) {
    let serving = Serving::start(folder);
    let data = folder.path().display().to_string();
    let command =
        [PROGRAM, "serve", "--demo", "workshop", "--stdio", "--data", &data].map(str::to_owned).to_vec();
    let url = format!("http://{}/mcp", serving.address);
    (serving, [Server::Http { url }, Server::Stdio { command }])
}

fn walk(sdk: Sdk) {
    let folder = Folder::new();
    let (_serving, servers) = servers(&folder);
    for era in [Era::Legacy, Era::Modern] {
        for server in &servers {
            for plan in [asked(), queued(&folder)] {
                let outcome = foreign::run(&Deps::of_this_workspace(), sdk, era, server, &plan);
                outcome.unwrap_or_else(|error| panic!("{era:?} {server:?}: {error}"));
            }
        }
    }
    assert_eq!(folder.run(&["audit", "verify"]).status.code(), Some(0));
}

/// R4.5: the TypeScript SDK confirms in every way in both eras.
#[test]
fn typescript_client_confirms_by_every_way() {
    walk(Sdk::TypeScript);
}

/// R4.5: the Python SDK confirms in every way in both eras.
#[test]
fn python_client_confirms_by_every_way() {
    walk(Sdk::Python);
}

/// R4.5: the Rust SDK confirms in every way in both eras.
#[test]
fn rmcp_client_confirms_by_every_way() {
    let folder = Folder::new();
    let (_serving, servers) = servers(&folder);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for era in [Era::Legacy, Era::Modern] {
        for server in &servers {
            for plan in [asked(), queued(&folder)] {
                let report = runtime.block_on(toolcrib_foreign_rmcp::run(era, server, &plan));
                assert_eq!(foreign::missed(&report), None, "{era:?} {server:?}: {report}");
            }
        }
    }
}
