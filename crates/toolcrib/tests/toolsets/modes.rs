//! Client modes: the evidence for them, and their effects.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib::{HttpOptions, Names, Server, ToolError};

use crate::shed::*;
use crate::support::*;

/// R3.3: a client that re-lists after a change is dynamic, whatever its name is.
#[tokio::test]
async fn listing_again_after_a_change_is_evidence() {
    let server = server();
    let running = serve(&server).await;
    let to = running.address;
    let id = session(to, "/mcp", "somebody").await;
    let mut news = open(to, "GET", &[("Mcp-Session-Id", &id)], "").await;
    let enable = || called(to, &id, "enable_toolset", json!({"toolset_name": "admin"}));
    assert_eq!(enable().await["isError"], true);
    server
        .register("pong", "Answers", json!({"type": "object"}), |_, _| async { Ok::<_, ToolError>("x") })
        .unwrap();
    news.until("list_changed").await;
    assert_eq!(enable().await["isError"], true);
    listed(to, &id).await;
    assert_eq!(enable().await["isError"], Value::Null);
}

/// R3.3, R3.4, R3.5: an open listen stream for list changes is evidence that a modern client re-lists; a change is
/// sent once, and only on the streams of callers whose list changed.
#[tokio::test]
async fn an_open_listen_stream_is_evidence() {
    let options = HttpOptions { authenticator: Arc::new(Bearer), ..HttpOptions::default() };
    let running = serve_with(&with_profiles(), options).await;
    let to = running.address;
    let enable = |who: &'static str, set: &'static str| async move {
        let mut headers = modern_headers("tools/call", Some("enable_toolset"));
        headers.push(("Authorization", who));
        let params = json!({"name": "enable_toolset", "arguments": {"toolset_name": set}});
        post(to, "/mcp", &headers, &modern_body(1, "tools/call", params)).await.result()
    };
    let listen = |who: &'static str, wants_tools: bool| async move {
        let mut headers = modern_headers("subscriptions/listen", None);
        headers.push(("Authorization", who));
        let filter = json!({"notifications": {"toolsListChanged": wants_tools}});
        let mut stream = open(to, "POST", &headers, &modern_body(7, "subscriptions/listen", filter)).await;
        stream.until("acknowledged").await;
        stream
    };
    let refused = enable("ann", "admin").await;
    assert_eq!(refused["isError"], true, "nothing shows that it re-lists");
    let other_wish = listen("ann", false).await;
    assert_eq!(
        enable("ann", "admin").await["isError"],
        true,
        "a stream that does not want list changes shows nothing"
    );
    let (mut ann, mut bob) = (listen("ann", true).await, listen("bob", true).await);
    let done = enable("ann", "admin").await;
    assert_eq!(done["structuredContent"]["changed"], true, "{done}");
    let heard = ann.until("notifications/tools/list_changed").await;
    assert!(heard.contains(r#""io.modelcontextprotocol/subscriptionId":7"#), "{heard}");
    let list = modern_list(to, "/mcp", &[("Authorization", "ann")]).await.result();
    assert!(names(&list).contains(&"drop_all".to_owned()));
    assert_eq!((&list["cacheScope"], &list["ttlMs"]), (&json!("private"), &json!(0)));
    // Bob's stream is silent until his own list changes.
    assert_eq!(enable("bob", "reading").await["structuredContent"]["changed"], true);
    let heard = bob.until("list_changed").await;
    assert_eq!(heard.matches("list_changed").count(), 1, "{heard}");
    assert_eq!(ann.text.matches("list_changed").count(), 1);
    drop((ann, other_wish));
    // Closing the stream removes the evidence.
    let gone = async {
        while enable("ann", "reading").await["isError"] != true {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            let mut headers = modern_headers("tools/call", Some("disable_toolset"));
            headers.push(("Authorization", "ann"));
            let params = json!({"name": "disable_toolset", "arguments": {"toolset_name": "reading"}});
            post(to, "/mcp", &headers, &modern_body(1, "tools/call", params)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), gone).await.expect("the evidence goes");
}

/// R3.3: a client that declares that it follows list changes is dynamic.
#[tokio::test]
async fn a_declared_capability_is_evidence() {
    let running = serve(&server()).await;
    let to = running.address;
    for (capabilities, refused) in [
        (json!({}), true),
        (json!({"roots": {"listChanged": true}}), true),
        (json!({"tools": {"listChanged": false}}), true),
        (json!({"tools": {"listChanged": true}}), false),
        (json!({"experimental": {"tools": {"listChanged": true}}}), false),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": LEGACY, "capabilities": capabilities, "clientInfo": {"name": "x", "version": "1"}}});
        let id = post(to, "/mcp", &[], &body.to_string()).await.header("mcp-session-id").unwrap();
        let result = called(to, &id, "enable_toolset", json!({"toolset_name": "admin"})).await;
        assert_eq!(result["isError"] == true, refused, "{capabilities}: {result}");
        if !refused {
            assert_eq!(result["structuredContent"]["changed"], true);
        }
    }
}

/// R3.3: the user agent counts if the name matches nothing, and the operator's setting before both.
#[tokio::test]
async fn the_user_agent_and_the_operators_word_decide_too() {
    let mode = |server: Server, name: &'static str, agent: &'static str| async move {
        let running = serve(&server).await;
        let to = running.address;
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}});
        let opened = post(to, "/mcp", &[("User-Agent", agent)], &body.to_string()).await;
        let id = opened.header("mcp-session-id").unwrap();
        let list = legacy(to, &id, "tools/list", json!({})).await.body;
        let enabled = called(to, &id, "enable_toolset", json!({"toolset_name": "admin"})).await;
        (enabled["isError"] != true, list.contains("allowed_callers"))
    };
    let (dynamic, fixed, anthropic) = ((true, false), (false, false), (true, true));
    assert_eq!(mode(server(), "x", "python-httpx/1").await, fixed);
    assert_eq!(mode(server(), "x", "Anthropic/1.0").await, anthropic);
    assert_eq!(mode(server(), "x", "GitHubCopilotChat/1").await, dynamic);
    assert_eq!(mode(server(), "x", "vscode/1.100").await, dynamic);
    assert_eq!(mode(server(), "codex", "Anthropic/1.0").await, fixed, "the name comes first");
    for (word, expected) in
        [("static", fixed), ("dynamic", dynamic), ("anthropic", anthropic), ("auto", anthropic)]
    {
        let variable = |name: &str| (name == "TOOLCRIB_CLIENT_MODE").then(|| word.to_owned());
        let select =
            |options: &mut toolcrib::engine::Options| options.toolsets.start = Some(Names::parse("git"));
        let server = fill(builder().options(select).selection(vec![], variable).unwrap().build().unwrap());
        assert_eq!(mode(server, "claude-code", "").await, expected, "{word}");
    }
}

/// R3.3: the mode, its reason, and the visibility of a tool can be read.
#[test]
fn explain_says_why() {
    let server = server();
    let codex = server.explain("drop_all", "codex").unwrap().to_string();
    for line in [
        "tool      drop_all (destructive)",
        "mode      static: the client calls itself \"codex\" (table: codex*)",
        "toolset   admin: within reach, not loaded",
        "chosen    by the operator: git",
        "listed    no",
        "callable  through call_tool: no toolset of it is loaded",
    ] {
        assert!(codex.contains(line), "{codex}");
    }
    let claude = server.explain("git_log", "claude-code").unwrap();
    assert!(claude.is_listed() && claude.obstacle.is_none());
    assert_eq!(claude.allowed_callers.as_deref(), Some(r#"["direct","code_execution_20260120"]"#));
    assert_eq!(claude.as_json()["mode"], "anthropic");
    assert!(server.explain("nothing", "x").is_none());
}

/// R10.1: read-only tools of programmatic toolsets carry `allowed_callers`, only for anthropic clients.
#[tokio::test]
async fn only_readers_of_programmatic_toolsets_carry_callers() {
    let running = serve(&server()).await;
    let to = running.address;
    let callers = |list: Value| -> Vec<(String, Value, Value)> {
        let tools = list["tools"].as_array().unwrap().clone();
        let carrying = tools.into_iter().filter(|tool| tool.to_string().contains("allowed_callers"));
        carrying
            .map(|tool| {
                let name = tool["name"].as_str().unwrap().to_owned();
                (name, tool["allowed_callers"].clone(), tool["_meta"]["anthropic/allowed_callers"].clone())
            })
            .collect()
    };
    let expected = json!(["direct", "code_execution_20260120"]);
    let claude = session(to, "/mcp", "claude-code").await;
    let list = legacy(to, &claude, "tools/list", json!({})).await.result();
    assert_eq!(callers(list), [("git_log".to_owned(), expected.clone(), expected.clone())]);
    let codex = session(to, "/mcp", "codex").await;
    assert!(callers(legacy(to, &codex, "tools/list", json!({})).await.result()).is_empty());
    let info =
        json!({"_meta": {"io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "2"}}});
    assert_eq!(callers(modern(to, "tools/list", info).await.result()).len(), 1);
    assert!(callers(modern(to, "tools/list", json!({})).await.result()).is_empty());
}

/// R10.1: a tool that writes, is unannotated or returns binary never carries `allowed_callers`, whatever it claims;
/// the operator configures the names.
#[tokio::test]
async fn claims_of_callers_count_for_nothing() {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("callers.toml");
    std::fs::write(&file, "[allowed_callers]\nanthropic = [\"code_execution_20260521\"]\n").unwrap();
    let server = Server::builder("shed", "1")
        .toolset(toolcrib::Toolset::new("code", "").tools(&["*"]).programmatic())
        .config_file(&file)
        .unwrap()
        .build()
        .unwrap();
    let claim = json!(["code_execution_20250825"]);
    let encoded =
        json!({"type": "object", "properties": {"image": {"type": "string", "contentEncoding": "base64"}}});
    for (name, more) in [
        ("reader", json!({"annotations": {"readOnlyHint": true}})),
        ("claiming_reader", json!({"annotations": {"readOnlyHint": true}, "allowed_callers": claim})),
        ("writer", json!({"annotations": {"readOnlyHint": false}, "allowed_callers": claim})),
        ("silent", json!({"_meta": {"anthropic/allowed_callers": claim, "kept": 1}})),
        ("painter", json!({"annotations": {"readOnlyHint": true}, "outputSchema": encoded})),
        ("player", json!({"annotations": {"readOnlyHint": true}, "_meta": {"toolcrib/returnsBinary": true}})),
    ] {
        let mut definition = json!({"name": name, "inputSchema": {"type": "object"}});
        definition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let definition = toolcrib::Definition::from_value(&definition).unwrap();
        server.add_definition(definition, Arc::new(Nothing)).unwrap();
    }
    let running = serve(&server).await;
    let to = running.address;
    let carrying = |client: &'static str| async move {
        let id = session(to, "/mcp", client).await;
        let list = legacy(to, &id, "tools/list", json!({})).await.result();
        let tools = list["tools"].as_array().unwrap().clone();
        assert!(tools.iter().any(|tool| tool["_meta"] == json!({"kept": 1})), "the rest is kept: {list}");
        let carrying = tools.into_iter().filter(|tool| tool.to_string().contains("allowed_callers"));
        carrying
            .map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool["allowed_callers"].clone()))
            .collect::<Vec<_>>()
    };
    let names = json!(["code_execution_20260521"]);
    assert_eq!(
        carrying("claude-code").await,
        [("claiming_reader".to_owned(), names.clone()), ("reader".to_owned(), names)]
    );
    assert_eq!(carrying("codex").await, []);
}
