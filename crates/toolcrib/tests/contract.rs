//! R2.4 to R2.6: answers to calls that break the tool's contract.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::needless_pass_by_value
)]

mod support;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use support::*;
use toolcrib::{BadArguments, Context, Server, ToolError, ToolResult, ToolSpec};

fn strict() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false})
}

fn server_with(bad_arguments: BadArguments) -> Server {
    let server = Server::builder("contract", "1").bad_arguments(bad_arguments).build().unwrap();
    server
        .register("count", "Counts", strict(), |a: Value, _: Context| async move {
            Ok::<_, ToolError>(a["n"].to_string())
        })
        .unwrap();
    server
}

async fn count(to: std::net::SocketAddr, version: &str) -> Answer {
    if version == MODERN {
        return modern(to, "tools/call", json!({"name": "count", "arguments": {"n": "one"}})).await;
    }
    let session = initialize(to, version, json!({}), &[]).await;
    legacy(to, &session, "tools/call", json!({"name": "count", "arguments": {"n": "one"}})).await
}

/// R2.4: a tool result with repair hints from 2025-11-25 on, `-32602` before.
#[tokio::test]
async fn bad_arguments_are_told_as_the_peers_revision_wants() {
    let running = serve(&server_with(BadArguments::ByRevision)).await;
    for version in [MODERN, LEGACY] {
        let result = count(running.address, version).await.result();
        assert_eq!(result["isError"], true, "{version}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("/n") && text.contains("integer"), "{text}");
    }
    for version in ["2025-06-18", "2025-03-26", "2024-11-05"] {
        assert_eq!(count(running.address, version).await.code(), -32602, "{version}");
    }
}

/// R2.4: an option forces either form.
#[tokio::test]
async fn how_bad_arguments_are_told_can_be_forced() {
    let running = serve(&server_with(BadArguments::AsError)).await;
    assert_eq!(count(running.address, MODERN).await.code(), -32602);
    let running = serve(&server_with(BadArguments::AsResult)).await;
    assert_eq!(count(running.address, "2024-11-05").await.result()["isError"], true);
}

/// R2.4: unknown tool is `-32602` always, missing arguments are `{}`.
#[tokio::test]
async fn an_unknown_tool_and_missing_arguments_are_told_apart() {
    let server = server_with(BadArguments::AsResult);
    server
        .register("any", "x", json!({"type": "object"}), |a: Value, _: Context| async move {
            Ok::<_, ToolError>(a.to_string())
        })
        .unwrap();
    let running = serve(&server).await;
    let to = running.address;
    assert_eq!(modern(to, "tools/call", json!({"name": "nobody"})).await.code(), -32602);
    assert_eq!(modern(to, "tools/call", json!({"name": "any"})).await.result()["content"][0]["text"], "{}");
    let session = initialize(to, "2025-06-18", json!({}), &[]).await;
    assert_eq!(legacy(to, &session, "tools/call", json!({"name": "nobody"})).await.code(), -32602);
    assert_eq!(
        legacy(to, &session, "tools/call", json!({"name": "any"})).await.result()["content"][0]["text"],
        "{}"
    );
}

/// R2.5: errors and panics become `isError` results; the server stays up.
#[tokio::test]
async fn a_failing_or_panicking_handler_is_a_result() {
    let faults = Arc::new(Mutex::new(Vec::new()));
    let heard = faults.clone();
    let server = Server::builder("faults", "1")
        .call_ms_max(100)
        .on_fault(move |fault| heard.lock().unwrap().push(fault.to_string()))
        .build()
        .unwrap();
    let object = json!({"type": "object"});
    server
        .register("fails", "x", object.clone(), |_, _: Context| async {
            Err::<&str, _>(ToolError::from(std::io::Error::other("disk on fire")))
        })
        .unwrap();
    async fn panics(_: Value, _: Context) -> Result<&'static str, ToolError> {
        panic!("secret detail")
    }
    server.register("panics", "x", object.clone(), panics).unwrap();
    server
        .register("hangs", "x", object, |_, _: Context| async {
            std::future::pending::<()>().await;
            Ok::<_, ToolError>("never")
        })
        .unwrap();
    let running = serve(&server).await;
    let to = running.address;
    let text = |answer: Answer| {
        let result = answer.result();
        assert_eq!(result["isError"], true);
        result["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(text(modern(to, "tools/call", json!({"name": "fails"})).await), "disk on fire");
    let panicked = text(modern(to, "tools/call", json!({"name": "panics"})).await);
    assert!(!panicked.contains("secret"), "{panicked}");
    assert!(text(modern(to, "tools/call", json!({"name": "hangs"})).await).contains("100 ms"));
    let heard = faults.lock().unwrap().join("\n");
    assert!(
        heard.contains("disk on fire") && heard.contains("secret detail") && heard.contains("hangs"),
        "{heard}"
    );
}

fn output_server() -> (Server, Arc<Mutex<Vec<String>>>) {
    let faults = Arc::new(Mutex::new(Vec::new()));
    let heard = faults.clone();
    let server = Server::builder("output", "1")
        .on_fault(move |f| heard.lock().unwrap().push(f.to_string()))
        .build()
        .unwrap();
    let spec = |name: &str| {
        ToolSpec::new(name, "x").output_schema(json!({
            "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}))
    };
    let give = |value: Value| {
        move |_: Value, _: Context| {
            let value = value.clone();
            async move { Ok::<_, ToolError>(ToolResult::structured(&value)?) }
        }
    };
    server.add(spec("valid"), give(json!({"n": 1}))).unwrap();
    server.add(spec("invalid"), give(json!({"n": "one"}))).unwrap();
    server.add(spec("missing"), |_: Value, _: Context| async { Ok::<_, ToolError>("only text") }).unwrap();
    server
        .add(spec("own_text"), |_: Value, _: Context| async {
            Ok::<_, ToolError>(ToolResult::text("mine").with_structured(&json!({"n": 2}))?)
        })
        .unwrap();
    server
        .add(spec("failed"), |_: Value, _: Context| async {
            Ok::<_, ToolError>(ToolResult::error("broke").with_structured(&json!({"n": "x"}))?)
        })
        .unwrap();
    server.add(ToolSpec::new("list", "x").output_schema(json!({"type": "array"})), give(json!([1]))).unwrap();
    (server, faults)
}

/// R2.6: valid output leaves unchanged, with the same JSON as text unless the handler gave one.
#[tokio::test]
async fn valid_output_leaves_with_its_text_copy() {
    let running = serve(&output_server().0).await;
    let to = running.address;
    let valid = modern(to, "tools/call", json!({"name": "valid"})).await.result();
    assert_eq!(valid["structuredContent"], json!({"n": 1}));
    assert_eq!(valid["content"], json!([{"type": "text", "text": "{\"n\":1}"}]));
    let own = modern(to, "tools/call", json!({"name": "own_text"})).await.result();
    assert_eq!(own["content"], json!([{"type": "text", "text": "mine"}]));
    assert_eq!(own["structuredContent"], json!({"n": 2}));
}

/// R2.6: invalid or missing output never leaves, and the operator gets the full violation.
#[tokio::test]
async fn invalid_or_missing_output_is_an_error_without_structured_content() {
    let (server, faults) = output_server();
    let running = serve(&server).await;
    for name in ["invalid", "missing"] {
        let result = modern(running.address, "tools/call", json!({"name": name})).await.result();
        assert_eq!(result["isError"], true);
        assert!(
            result["content"][0]["text"].as_str().unwrap().starts_with("Output validation failed:"),
            "{result}"
        );
        assert!(result.get("structuredContent").is_none());
    }
    assert_eq!(faults.lock().unwrap().len(), 2);
    assert!(faults.lock().unwrap()[0].contains("/n"), "{faults:?}");
}

/// R2.6: a result that is an error already is passed on, unvalidated, without structured content.
#[tokio::test]
async fn an_error_result_is_passed_on_without_structured_content() {
    let (server, faults) = output_server();
    let running = serve(&server).await;
    let result = modern(running.address, "tools/call", json!({"name": "failed"})).await.result();
    assert_eq!(result["content"][0]["text"], "broke");
    assert!(result.get("structuredContent").is_none());
    assert!(faults.lock().unwrap().is_empty());
}

/// A member that an older revision does not have is not sent to its clients.
#[tokio::test]
async fn older_peers_get_no_structured_content_they_do_not_know() {
    let running = serve(&output_server().0).await;
    let to = running.address;
    let old = initialize(to, "2025-03-26", json!({}), &[]).await;
    let result = legacy(to, &old, "tools/call", json!({"name": "valid"})).await.result();
    assert!(result.get("structuredContent").is_none());
    assert_eq!(result["content"][0]["text"], "{\"n\":1}");
    let new = initialize(to, LEGACY, json!({}), &[]).await;
    let list = legacy(to, &new, "tools/call", json!({"name": "list"})).await.result();
    assert!(list.get("structuredContent").is_none(), "no object, no legacy structured content");
    assert_eq!(list["content"][0]["text"], "[1]");
    let tools = legacy(to, &new, "tools/list", json!({})).await.result()["tools"].clone();
    let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "list").unwrap();
    assert!(tool.get("outputSchema").is_none());
    let modern_list = modern(to, "tools/call", json!({"name": "list"})).await.result();
    assert_eq!(modern_list["structuredContent"], json!([1]));
}

/// Returns a schema of eight equal recursive branches, and a value that none of them accepts.
fn branching() -> (Value, Value) {
    let branch = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"]});
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"anyOf": vec![branch; 8]}}});
    (schema, (0..9).fold(json!(1), |inner, _| json!({"a": inner})))
}

/// Returns a schema and a value that are allowed separately, but whose check exceeds the time of a serving thread.
fn costly() -> (Value, Value) {
    let schema =
        json!({"type": "object", "properties": {"list": {"items": {"allOf": vec![json!({}); 4_000]}}}});
    (schema, json!({"list": vec![0; 100_000]}))
}

fn serves(input: Value, output: Value, answer: Value) -> Server {
    let server = Server::new("costly", "1").unwrap();
    server
        .register("input", "x", input, |_: Value, _: Context| async move { Ok::<_, ToolError>("served") })
        .unwrap();
    let spec = ToolSpec::new("output", "x").input_schema(json!({"type": "object"})).output_schema(output);
    server
        .add(spec, move |_: Value, _: Context| {
            let answer = answer.clone();
            async move { Ok::<_, ToolError>(ToolResult::structured(&answer)?) }
        })
        .unwrap();
    server
}

/// R1.8, R2.6: 57 bytes against a schema of 875 bytes took all memory, as arguments and as an answer.
#[tokio::test]
async fn violations_of_recursive_branches_are_told_at_once() {
    let (schema, value) = branching();
    let running = serve(&serves(schema.clone(), schema, value.clone())).await;
    let begun = std::time::Instant::now();
    let input = modern(running.address, "tools/call", json!({"name": "input", "arguments": value})).await;
    let text = input.result()["content"][0]["text"].to_string();
    assert!(text.contains("one of 8 alternatives to match, none does"), "{text}");
    let output = modern(running.address, "tools/call", json!({"name": "output"})).await.result();
    assert_eq!(output["isError"], true);
    let text = output["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("Output validation failed:") && text.contains("one of 8 alternatives"),
        "{text}"
    );
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}

/// `CHECK_BRIEF_STEPS_MAX`, `VIOLATION_BRIEF_STEPS_MAX`: long checks run on another thread, and checks over the limit
/// are refused with its name, for arguments and answers alike.
#[tokio::test]
async fn costly_values_are_checked_elsewhere_and_refused_by_the_limits_name() {
    let (schema, value) = costly();
    let running = serve(&serves(schema.clone(), schema, value.clone())).await;
    let (costly, neighbour) = tokio::join!(
        modern(running.address, "tools/call", json!({"name": "input", "arguments": value})),
        modern(running.address, "tools/call", json!({"name": "input", "arguments": {"list": [1]}})),
    );
    let text = costly.result()["content"][0]["text"].to_string();
    assert!(text.contains("CHECK_STEPS_MAX"), "{text}");
    assert_eq!(neighbour.result()["content"][0]["text"], "served");
    // More steps than a serving thread may take, fewer than a check may.
    let some = json!({"name": "input", "arguments": {"list": vec![0; 1_000]}});
    assert_eq!(modern(running.address, "tools/call", some).await.result()["content"][0]["text"], "served");
    let output = modern(running.address, "tools/call", json!({"name": "output"})).await.result();
    let text = output["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Output validation failed:") && text.contains("CHECK_STEPS_MAX"), "{text}");
}
