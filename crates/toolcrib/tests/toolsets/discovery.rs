//! The six discovery tools, called by clients of both eras.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use toolcrib::{Context, Server, ToolError, ToolSpec};

use crate::shed::*;
use crate::support::*;

/// R3.1: the six tools are always loaded, each with annotations and an output schema.
#[tokio::test]
async fn the_six_discovery_tools_are_listed_with_contracts() {
    let running = serve(&server()).await;
    let list = modern(running.address, "tools/list", json!({})).await.result();
    let mut found = Vec::new();
    for tool in list["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        if !META.contains(&name) {
            continue;
        }
        found.push(name.to_owned());
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
        let hints = &tool["annotations"];
        let expected = match name {
            "enable_toolset" | "disable_toolset" => (false, false, true),
            "call_tool" => (false, true, false),
            _ => (true, false, true),
        };
        let is = |hint: &str| hints[hint].as_bool().unwrap();
        assert_eq!((is("readOnlyHint"), is("destructiveHint"), is("idempotentHint")), expected, "{tool}");
        if name == "search_tools" {
            let text = tool["description"].as_str().unwrap();
            assert!(text.contains("admin (Things that cannot be undone); core; git (Repo"), "{text}");
        }
    }
    found.sort();
    assert_eq!(found, META);
    let plain = Server::new("plain", "1").unwrap();
    assert!(plain.list(&toolcrib::Filter::default()).is_empty());
}

/// R3.1: the list of toolsets and the tools of one have exactly the specified shape.
#[tokio::test]
async fn toolsets_are_listed_and_described() {
    let running = serve(&server()).await;
    let to = running.address;
    let id = session(to, "/mcp", "raw").await;
    let all = called(to, &id, "list_available_toolsets", json!({})).await["structuredContent"].take();
    assert_eq!(all["total_tools"], 11);
    let of = |name: &str| {
        all["toolsets"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap().clone()
    };
    assert_eq!(
        of("git"),
        json!({"name": "git", "description": "Repositories and commits", "tool_count": 2, "loaded": true, "always_loaded": false})
    );
    assert_eq!(of("reading")["tool_count"], 2);
    assert_eq!(
        (of("core")["always_loaded"].take(), of("admin")["loaded"].take()),
        (json!(true), json!(false))
    );
    let one =
        called(to, &id, "describe_toolset", json!({"toolset_name": "admin"})).await["structuredContent"]
            .take();
    assert_eq!((&one["name"], &one["loaded"]), (&json!("admin"), &json!(false)));
    assert_eq!(
        one["tools"][0],
        json!({"name": "audit_read", "description": "Reads the audit trail", "annotations": {"readOnlyHint": true}})
    );
    for tool in ["describe_toolset", "enable_toolset", "disable_toolset"] {
        let unknown = called(to, &id, tool, json!({"toolset_name": "nothing"})).await;
        assert_eq!(unknown["isError"], true, "{unknown}");
        assert!(said(&unknown).contains("list_available_toolsets"), "{unknown}");
    }
}

/// R3.1, R3.4, R3.5, R3.6: a dynamic legacy client loads a toolset and is notified once; no other client sees it.
#[tokio::test]
async fn a_dynamic_client_loads_a_toolset_for_itself_alone() {
    let running = serve(&server()).await;
    let to = running.address;
    let (ann, bob) = (session(to, "/mcp", "gemini-cli").await, session(to, "/mcp", "gemini-cli").await);
    let mut news = open(to, "GET", &[("Mcp-Session-Id", &ann)], "").await;
    let mut other_news = open(to, "GET", &[("Mcp-Session-Id", &bob)], "").await;
    let before = listed(to, &ann).await;
    assert_eq!(before, ["git_log", "git_push", "ping"]);
    let hidden = legacy(to, &ann, "tools/call", json!({"name": "drop_all"})).await;
    let unknown = legacy(to, &ann, "tools/call", json!({"name": "drop_alx"})).await;
    assert_eq!(hidden.body.replace("drop_all", "*"), unknown.body.replace("drop_alx", "*"));
    let enabled = called(to, &ann, "enable_toolset", json!({"toolset_name": "admin"})).await;
    assert_eq!(
        enabled["structuredContent"],
        json!({"name": "admin", "loaded": true, "changed": true, "tool_count": 2})
    );
    news.until("notifications/tools/list_changed").await;
    assert_eq!(listed(to, &ann).await, ["audit_read", "drop_all", "git_log", "git_push", "ping"]);
    assert_eq!(listed(to, &bob).await, before);
    let again = called(to, &ann, "enable_toolset", json!({"toolset_name": "admin"})).await;
    assert!(again.get("isError").is_none() && said(&again).contains("2 tools"), "{again}");
    assert_eq!(called(to, &ann, "drop_all", json!({})).await["isError"], Value::Null);
    assert_eq!(called(to, &ann, "disable_toolset", json!({"toolset_name": "core"})).await["isError"], true);
    called(to, &ann, "disable_toolset", json!({"toolset_name": "admin"})).await;
    let text = news.until_count("list_changed", 2).await;
    assert_eq!(text.matches("list_changed").count(), 2, "{text}");
    assert_eq!(listed(to, &ann).await, before);
    // The other client is notified only of its own change.
    called(to, &bob, "enable_toolset", json!({"toolset_name": "reading"})).await;
    let text = other_news.until("list_changed").await;
    assert_eq!(text.matches("list_changed").count(), 1, "{text}");
}

/// R3.5: a new tool is announced only to clients that see its toolset; both lists stay correct.
#[tokio::test]
async fn a_change_is_told_to_those_who_see_it() {
    let server = server();
    let running = serve(&server).await;
    let to = running.address;
    let (ann, bob) = (session(to, "/mcp", "gemini-cli").await, session(to, "/mcp", "gemini-cli").await);
    called(to, &ann, "enable_toolset", json!({"toolset_name": "admin"})).await;
    let mut news = open(to, "GET", &[("Mcp-Session-Id", &ann)], "").await;
    let mut other_news = open(to, "GET", &[("Mcp-Session-Id", &bob)], "").await;
    let before = legacy(to, &bob, "tools/list", json!({})).await.body;
    let add = |name: &str, toolset: &str| {
        let spec = ToolSpec::new(name, "New").toolset(toolset).input_schema(json!({"type": "object"}));
        server.add(spec, |_: Value, _: Context| async { Ok::<_, ToolError>("x") }).unwrap();
    };
    (0..5).for_each(|number| add(&format!("purge_{number}"), "admin"));
    let heard = news.until("list_changed").await;
    assert_eq!(heard.matches("list_changed").count(), 1, "five changes are one notification: {heard}");
    assert_eq!(listed(to, &ann).await.len(), 10);
    assert_eq!(legacy(to, &bob, "tools/list", json!({})).await.body, before);
    // Bob's next notification is about his own toolset.
    add("git_tag", "git");
    let heard = other_news.until("list_changed").await;
    assert_eq!(heard.matches("list_changed").count(), 1, "{heard}");
    assert!(listed(to, &bob).await.contains(&"git_tag".to_owned()));
}

/// R3.4, R3.6: in a read-only view `call_tool` is read-only itself and reaches only read-only tools.
#[tokio::test]
async fn call_tool_of_a_read_only_view_reaches_readers_alone() {
    let running = serve(&server()).await;
    let to = running.address;
    let id = session(to, "/mcp/readonly", "codex").await;
    let list = legacy(to, &id, "tools/list", json!({})).await.result();
    let tools = list["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true), "{list}");
    let through = called(to, &id, "call_tool", json!({"name": "audit_read"})).await;
    assert_eq!(said(&through), "done {}");
    let params = json!({"name": "call_tool", "arguments": {"name": "drop_all"}});
    assert_eq!(legacy(to, &id, "tools/call", params).await.code(), -32602);
}

/// R3.1, R3.3: a client that cannot re-list is told the alternatives, and `call_tool` works for it.
#[tokio::test]
async fn a_static_client_is_told_and_reaches_the_tool_all_the_same() {
    let running = serve(&server()).await;
    let to = running.address;
    let id = session(to, "/mcp", "codex-mcp-client").await;
    let refused = called(to, &id, "enable_toolset", json!({"toolset_name": "admin"})).await;
    assert_eq!(refused["isError"], true);
    let text = said(&refused);
    assert!(text.contains("--toolsets admin") && text.contains("call_tool"), "{text}");
    assert!(text.contains("codex"), "the reason can be read: {text}");
    let through = called(to, &id, "call_tool", json!({"name": "drop_all", "arguments": {"n": 1}})).await;
    assert_eq!(said(&through), "done {\"n\":1}");
    assert_eq!(through["structuredContent"], json!({"text": "done {\"n\":1}"}));
    // The inner tool's contract decides, and an inner tool that does not exist is an unknown tool.
    let bad = called(to, &id, "call_tool", json!({"name": "drop_all", "arguments": {"n": "x"}})).await;
    assert_eq!(bad["isError"], true);
    assert!(said(&bad).contains("/n"), "{bad}");
    for name in ["nothing", "call_tool"] {
        let unknown =
            legacy(to, &id, "tools/call", json!({"name": "call_tool", "arguments": {"name": name}})).await;
        assert_eq!(unknown.code(), -32602);
    }
}

/// R3.1: a client without a stream of its own gets the notification on the stream of the call.
#[tokio::test]
async fn list_changed_comes_with_the_call_where_there_is_no_other_stream() {
    let running = serve(&server()).await;
    let to = running.address;
    let id = session(to, "/mcp", "gemini-cli").await;
    let params = json!({"name": "enable_toolset", "arguments": {"toolset_name": "admin"}});
    let headers = [("Mcp-Session-Id", id.as_str()), ("MCP-Protocol-Version", LEGACY)];
    let answer = post(to, "/mcp", &headers, &legacy_body(3, "tools/call", params)).await;
    let heard = answer.events();
    let changes = heard.iter().filter(|it| it["method"] == "notifications/tools/list_changed").count();
    assert_eq!(changes, 1, "{answer:?}");
    assert_eq!(heard.last().unwrap()["result"]["structuredContent"]["changed"], true);
}

/// R3.1: the search finds tools that are not listed, with signature, toolset and effect.
#[tokio::test]
async fn search_finds_what_is_not_listed() {
    let running = serve(&server()).await;
    let result = modern(
        running.address,
        "tools/call",
        json!({"name": "search_tools", "arguments": {"query": "deleting records", "limit": 3}}),
    )
    .await
    .result();
    let found = &result["structuredContent"];
    assert_eq!(found["total_tools"], 5);
    assert_eq!(
        found["tools"][0],
        json!({"name": "drop_all", "signature": "drop_all(n?: integer)", "description": "Deletes every record",
            "toolset": "admin", "effect": "destructive", "loaded": false})
    );
}

/// `SEARCH_RESULTS_MAX`: a search returns no more than that, and a larger `limit` is a bad argument.
#[tokio::test]
async fn a_search_for_more_than_search_results_max_is_refused() {
    let running = serve(&server()).await;
    let search = |limit: usize| {
        let arguments = json!({"query": "commits", "limit": limit});
        modern(running.address, "tools/call", json!({"name": "search_tools", "arguments": arguments}))
    };
    let most = toolcrib::engine::limits::SEARCH_RESULTS_MAX;
    assert_eq!(search(most).await.result()["isError"], Value::Null);
    assert_eq!(search(most + 1).await.result()["isError"], true);
}

/// R3.1, R3.3: over stdio to one process, a legacy client loads a toolset and a modern one is refused.
#[tokio::test]
async fn both_eras_meet_toolsets_over_stdio() {
    let server = server();
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (read, mut write) = tokio::io::split(ours);
    let (input, output) = tokio::io::split(theirs);
    let engine = server.engine().clone();
    tokio::spawn(
        async move { toolcrib_server::stdio::serve_on(engine, BufReader::new(input), output).await },
    );
    let mut lines = BufReader::new(read).lines();
    let mut ask = async |body: String| -> Vec<Value> {
        write.write_all(format!("{body}\n").as_bytes()).await.unwrap();
        let mut heard = Vec::new();
        loop {
            let line = lines.next_line().await.unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            let done = message.get("id").is_some();
            heard.push(message);
            if done {
                return heard;
            }
        }
    };
    let refused = ask(modern_body(
        1,
        "tools/call",
        json!({"name": "enable_toolset", "arguments": {"toolset_name": "admin"}}),
    ))
    .await;
    assert_eq!(refused[0]["result"]["isError"], true);
    let hello = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "opencode", "version": "1"}});
    let welcome = ask(legacy_body(2, "initialize", hello)).await;
    assert!(welcome[0]["result"]["instructions"].as_str().unwrap().contains("admin"), "{welcome:?}");
    let enabled = ask(legacy_body(
        3,
        "tools/call",
        json!({"name": "enable_toolset", "arguments": {"toolset_name": "admin"}}),
    ))
    .await;
    assert_eq!(enabled.last().unwrap()["result"]["structuredContent"]["changed"], true);
    tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    let list = ask(legacy_body(4, "tools/list", json!({}))).await;
    assert_eq!(list[0]["method"], "notifications/tools/list_changed");
    assert!(names(&list[1]["result"]).contains(&"drop_all".to_owned()));
    let same = ask(modern_body(5, "tools/list", json!({}))).await;
    assert_eq!(names(&same[0]["result"]), ["git_log", "git_push", "ping"]);
}
