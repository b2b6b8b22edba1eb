//! R2.1 to R2.3: registration, its five errors, and look-up.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::needless_pass_by_value
)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib::{Audience, Context, Filter, RegisterError, Server, ToolError, ToolSpec};

async fn nothing(_: Value, _: Context) -> Result<&'static str, ToolError> {
    Ok("done")
}

#[derive(Deserialize, JsonSchema)]
struct Pair {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

fn names(server: &Server, filter: &Filter) -> Vec<String> {
    server.list(filter).iter().map(|entry| entry.name().to_owned()).collect()
}

/// R2.1: four arguments are enough.
#[tokio::test]
async fn the_short_form_is_enough() {
    let server = Server::new("s", "1").unwrap();
    server
        .register("echo", "Says it again", json!({"type": "object"}), |a: Value, _: Context| async move {
            Ok::<_, ToolError>(a.to_string())
        })
        .unwrap();
    let result = server.call("echo", json!({"x": 1})).await.unwrap();
    assert_eq!(result["content"][0]["text"], r#"{"x":1}"#);
}

/// R2.1: typed, with schemas derived from Rust types.
#[tokio::test]
async fn the_typed_form_derives_both_schemas() {
    let server = Server::new("s", "1").unwrap();
    server
        .register_typed(
            "add",
            "Adds",
            |pair: Pair, _: Context| async move { Ok(Sum { sum: pair.a + pair.b }) },
        )
        .unwrap();
    let entry = server.get("add").unwrap();
    let definition = entry.contract().definition();
    // Number formats of Rust types are removed, because clients do not know them.
    assert!(!definition.text().contains("\"format\""), "{}", definition.text());
    assert!(definition.input_schema().unwrap().raw().contains("\"required\":[\"a\",\"b\"]"));
    assert!(definition.output_schema().is_some());
    let result = server.call("add", json!({"a": 2, "b": 40})).await.unwrap();
    assert_eq!(result["structuredContent"], json!({"sum": 42}));
    assert_eq!(result["content"][0]["text"], r#"{"sum":42}"#);
    let refused = server.call("add", json!({"a": 2})).await.unwrap();
    assert_eq!(refused["isError"], true);
}

/// R2.1: the full form keeps every member it was given.
#[tokio::test]
async fn the_full_form_carries_everything() {
    let server = Server::new("s", "1").unwrap();
    let spec = ToolSpec::new("full", "All of it")
        .title("Full")
        .input_schema(json!({"type": "object"}))
        .output_schema(json!({"type": "object"}))
        .read_only(true)
        .priority(3)
        .audience(Audience::User)
        .icon("data:image/png;base64,AA==", "image/png")
        .toolset("lab")
        .meta("com.example/k", json!(0.5))
        .member("defer_loading", json!(true));
    server.add(spec, nothing).unwrap();
    let entry = server.get("full").unwrap();
    let value: Value = serde_json::from_str(entry.contract().definition().text()).unwrap();
    assert_eq!(value["title"], "Full");
    assert_eq!(value["annotations"], json!({"readOnlyHint": true, "priority": 3, "audience": "user"}));
    assert_eq!(value["icons"][0]["mimeType"], "image/png");
    assert_eq!(value["_meta"]["com.example/k"], 0.5);
    assert_eq!(value["defer_loading"], true);
    assert_eq!(entry.toolset(), "lab");
}

/// R2.2: five different errors, and the registry is unchanged after any of them.
#[tokio::test]
async fn each_refusal_is_its_own_error_and_changes_nothing() {
    let server = Server::new("s", "1").unwrap();
    server.register("one", "x", json!({"type": "object"}), nothing).unwrap();
    let before = names(&server, &Filter::default());
    let register = |spec: ToolSpec| server.add(spec, nothing).unwrap_err();
    let object = || json!({"type": "object"});

    let duplicate = register(ToolSpec::new("one", "x").input_schema(object()));
    assert!(matches!(duplicate, RegisterError::Duplicate(_)), "{duplicate:?}");
    let name = register(ToolSpec::new("not a name", "x").input_schema(object()));
    assert!(matches!(name, RegisterError::InvalidName(_)), "{name:?}");
    let input = register(ToolSpec::new("two", "x").input_schema(json!({"type": "object", "required": 7})));
    assert!(matches!(input, RegisterError::InvalidInputSchema(_)), "{input:?}");
    let output = register(ToolSpec::new("two", "x").input_schema(object()).output_schema(json!({"type": 7})));
    assert!(matches!(output, RegisterError::InvalidOutputSchema(_)), "{output:?}");
    let refused = register(ToolSpec::new("two", "x").input_schema(
        json!({"type": "object", "properties": {"p": {"type": "string", "pattern": "(a)\\1"}}}),
    ));
    assert!(matches!(refused, RegisterError::RefusedSchema(_)), "{refused:?}");
    assert_eq!(names(&server, &Filter::default()), before);
    assert!(!server.has("two"));
}

/// R2.3: sorted by priority, then name, independent of the order of registration; filters.
#[tokio::test]
async fn the_list_is_ordered_and_filtered() {
    let server = Server::new("s", "1").unwrap();
    let add = |spec: ToolSpec| {
        server.add(spec.input_schema(json!({"type": "object"})), nothing).unwrap();
    };
    add(ToolSpec::new("zeta", "x").priority(1).read_only(true).toolset("lab"));
    add(ToolSpec::new("beta", "x"));
    add(ToolSpec::new("alpha", "x").audience(Audience::User));
    add(ToolSpec::new("first", "x").priority(-5).audience(Audience::Assistant));
    assert_eq!(names(&server, &Filter::default()), ["first", "zeta", "alpha", "beta"]);
    let by = |filter: Filter| names(&server, &filter);
    assert_eq!(by(Filter { audience: Some(Audience::User), ..Filter::default() }), ["zeta", "alpha", "beta"]);
    assert_eq!(by(Filter { read_only: Some(true), ..Filter::default() }), ["zeta"]);
    assert_eq!(by(Filter { toolset: Some("lab".into()), ..Filter::default() }), ["zeta"]);
    assert!(server.unregister("beta"));
    assert!(!server.unregister("beta"));
    assert!(!server.has("beta"));
    assert_eq!(server.call("beta", json!({})).await.unwrap_err().code, -32602);
}
