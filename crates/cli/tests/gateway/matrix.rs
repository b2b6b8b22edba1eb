//! Clients and servers of every era, over both transports.

use std::process::Command;

use serde_json::{Value, json};
use toolcrib_testkit::deps::Deps;
use toolcrib_testkit::foreign::{self, Era, Sdk, Server};
use toolcrib_testkit::http::Request;
use toolcrib_testkit::port;
use toolcrib_testkit::process::Process;

use super::running::{Gateway, PROGRAM, SOON, npm, own_data, until};

fn everything() -> Value {
    json!({
        "list": { "tools": ["echo", "get-structured-content", "trigger-long-running-operation"] },
        "call": { "tool": "get-structured-content", "arguments": { "location": "Chicago" }, "members": ["temperature", "humidity"] },
        "progress": { "tool": "trigger-long-running-operation", "arguments": { "duration": 0.4, "steps": 4 }, "least": 3 },
        "badArguments": { "tool": "echo", "arguments": { "message": 7 }, "as": "result" },
        "unknownTool": { "tool": "no_such_tool" },
        "ask": {
            "tool": "trigger-elicitation-request", "arguments": {},
            "answer": { "name": "Ada Lovelace", "check": true }, "says": "Ada Lovelace"
        },
    })
}

/// Runs a client of each era through the plan, over HTTP.
fn both_eras(gateway: &Gateway, plan: &Value) {
    let server = Server::Http { url: gateway.url() };
    for era in [Era::Legacy, Era::Modern] {
        let walked = foreign::run(&Deps::of_this_workspace(), Sdk::TypeScript, era, &server, plan);
        walked.unwrap_or_else(|error| panic!("{era:?} client: {error}\n{}", gateway.process.said()));
    }
}

/// R5.2: clients of both eras in front of a legacy server over stdio: results, progress, questions during a call.
#[test]
fn clients_of_both_eras_are_served_by_a_legacy_server_over_stdio() {
    let mut words = vec!["--"];
    let command = npm("server-everything", &["stdio"]);
    words.extend(command.iter().map(String::as_str));
    both_eras(&Gateway::start(&words), &everything());
}

/// R5.2: clients of both eras in front of a legacy server over Streamable HTTP.
#[test]
fn clients_of_both_eras_are_served_by_a_legacy_server_over_http() {
    let words = npm("server-everything", &["streamableHttp"]);
    let port = port::free().unwrap();
    let mut command = Command::new(&words[0]);
    let mut server = Process::start(command.args(&words[1..]).env("PORT", port.to_string())).unwrap();
    server.wait_for_port(([127, 0, 0, 1], port).into(), SOON).unwrap();
    both_eras(&Gateway::start(&[&format!("http://127.0.0.1:{port}/mcp")]), &everything());
}

/// R5.1: the gateway serves stdio too, for clients that only start commands.
#[test]
fn a_client_that_only_starts_commands_is_served_over_stdio() {
    let mut command = vec![PROGRAM.to_owned(), "serve".to_owned(), "--stdio".to_owned()];
    command.extend(own_data());
    command.push("--".to_owned());
    command.extend(npm("server-everything", &["stdio"]));
    for era in [Era::Legacy, Era::Modern] {
        let server = Server::Stdio { command: command.clone() };
        let walked = foreign::run(&Deps::of_this_workspace(), Sdk::TypeScript, era, &server, &everything());
        walked.unwrap_or_else(|error| panic!("{era:?}: {error}"));
    }
}

/// R5.2: clients of both eras in front of a modern server, over both transports.
#[test]
fn clients_of_both_eras_are_served_by_a_modern_server() {
    let fixture = std::path::Path::new(PROGRAM).with_file_name("conformance-server");
    assert!(
        fixture.exists(),
        "{} is not built: `cargo build -p toolcrib-conformance-server`",
        fixture.display()
    );
    let plan = json!({
        "list": { "tools": ["test_simple_text", "test_tool_with_progress", "test_elicitation", "test_custom_header"] },
        "call": { "tool": "test_custom_header", "arguments": { "value": "both ways" }, "text": "both ways" },
        "progress": { "tool": "test_tool_with_progress", "arguments": {}, "least": 3 },
        "badArguments": { "tool": "test_elicitation", "arguments": { "message": 7 }, "as": "result" },
        "unknownTool": { "tool": "no_such_tool" },
        "ask": {
            "tool": "test_elicitation", "arguments": { "message": "Who are you?" },
            "answer": { "username": "ada", "email": "ada@example.org" }, "says": "ada@example.org"
        },
    });
    let (_process, behind) = foreign::listening(&fixture).unwrap();
    let Server::Http { url } = behind else { panic!("no URL") };
    both_eras(&Gateway::start(&[&url]), &plan);
    both_eras(&Gateway::start(&["--", &fixture.display().to_string(), "--stdio"]), &plan);
}

/// R5.2: a legacy client is asked during `prompts/get` what a modern server requests.
#[test]
fn a_prompt_that_asks_reaches_a_legacy_client() {
    let fixture = std::path::Path::new(PROGRAM).with_file_name("conformance-server");
    let gateway = Gateway::start(&["--prefix", "never", "--", &fixture.display().to_string(), "--stdio"]);
    let post = |body: Value, session: Option<&str>| {
        let request = Request::post_json("/mcp", &body.to_string());
        match session {
            Some(session) => {
                request.header("Mcp-Session-Id", session).header("MCP-Protocol-Version", "2025-11-25")
            }
            None => request,
        }
    };
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}}});
    let greeted = post(hello, None).send(gateway.address).unwrap();
    let session = greeted.header("mcp-session-id").unwrap().to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    post(ready, Some(&session)).send(gateway.address).unwrap();
    let get = json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/get",
        "params": {"name": "test_input_required_result_prompt"}});
    let mut stream = post(get, Some(&session)).open(gateway.address).unwrap();
    let mut next = || loop {
        let event = stream.event().unwrap().unwrap();
        if !event.data.is_empty() {
            return serde_json::from_str::<Value>(&event.data).unwrap();
        }
    };
    let question = next();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"context": "the sea"}}});
    assert_eq!(post(answer, Some(&session)).send(gateway.address).unwrap().status, 202);
    let prompt = next();
    assert!(prompt["result"]["messages"].to_string().contains("Use this context: the sea"), "{prompt}");
}

/// Starts a server from npm that only speaks the transport of 2024.
fn old_transport(port: u16) -> Process {
    let words = npm("server-everything", &["sse"]);
    let mut command = Command::new(&words[0]);
    let mut server = Process::start(command.args(&words[1..]).env("PORT", port.to_string())).unwrap();
    server.wait_for_port(([127, 0, 0, 1], port).into(), SOON).unwrap();
    server
}

/// R5.2: a server that only speaks HTTP+SSE of 2024-11-05: results, progress, questions during a call, both eras.
#[test]
fn clients_of_both_eras_are_served_by_a_server_of_the_old_transport() {
    let port = port::free().unwrap();
    let mut server = old_transport(port);
    let gateway = Gateway::start(&[&format!("http://127.0.0.1:{port}/sse")]);
    both_eras(&gateway, &everything());
    // The stream ends with the server, and the gateway reconnects when it is back.
    server.kill();
    until("noticed", || !gateway.get("/metrics").1.contains("toolcrib_server_up{server=\"server\"} 1"));
    let _server = old_transport(port);
    until("served again", || gateway.get("/metrics").1.contains("toolcrib_server_up{server=\"server\"} 1"));
    let echo = json!({"name": "echo", "arguments": {"message": "still here"}});
    let answer = gateway.ask("tools/call", &echo);
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("still here"), "{answer}");
}
