//! R3, R10.1: toolsets as legacy and modern clients meet them, over HTTP and stdio.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::needless_pass_by_value
)]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use support::*;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use toolcrib::{
    Authenticator, Challenge, Context, HttpOptions, Mode, Names, Principal, Server, ServerBuilder, ToolError,
    ToolSpec, Toolset,
};

const META: [&str; 6] = [
    "call_tool",
    "describe_toolset",
    "disable_toolset",
    "enable_toolset",
    "list_available_toolsets",
    "search_tools",
];

fn builder() -> ServerBuilder {
    Server::builder("shed", "1")
        .toolset(Toolset::new("git", "Repositories and commits").programmatic())
        .toolset(Toolset::new("admin", "Things that cannot be undone"))
        .toolset(
            Toolset::new("reading", "Everything that only reads").tools(&["*_read", "*_log"]).read_only(true),
        )
}

fn fill(server: Server) -> Server {
    let add = |spec: ToolSpec| {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": false});
        server
            .add(spec.input_schema(schema), |arguments: Value, _: Context| async move {
                Ok::<_, ToolError>(format!("done {arguments}"))
            })
            .unwrap();
    };
    add(ToolSpec::new("ping", "Says that it is there").read_only(true));
    add(ToolSpec::new("git_log", "Shows the history of commits").toolset("git").read_only(true));
    add(ToolSpec::new("git_push", "Sends commits to the remote").toolset("git").destructive(false));
    add(ToolSpec::new("drop_all", "Deletes every record").toolset("admin"));
    add(ToolSpec::new("audit_read", "Reads the audit trail").toolset("admin").read_only(true));
    server
}

/// A server that loads `git` at start.
fn server() -> Server {
    fill(builder().options(|options| options.toolsets.start = Some(Names::parse("git"))).build().unwrap())
}

async fn post(to: SocketAddr, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut tcp = TcpStream::connect(to).await.unwrap();
    let text = request_text(to, "POST", headers, body).replacen("/mcp HTTP", &format!("{path} HTTP"), 1);
    tcp.write_all(text.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    tcp.read_to_end(&mut bytes).await.unwrap();
    parse(&String::from_utf8_lossy(&bytes))
}

/// Opens a legacy session for a client of this name.
async fn session(to: SocketAddr, path: &str, client: &str) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}});
    let answer = post(to, path, &[], &body.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.header("mcp-session-id").unwrap()
}

fn names(list: &Value) -> Vec<String> {
    let mut names: Vec<String> = list["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    names.retain(|name| !META.contains(&name.as_str()));
    names
}

async fn listed(to: SocketAddr, session: &str) -> Vec<String> {
    names(&legacy(to, session, "tools/list", json!({})).await.result())
}

async fn called(to: SocketAddr, session: &str, name: &str, arguments: Value) -> Value {
    legacy(to, session, "tools/call", json!({"name": name, "arguments": arguments})).await.result()
}

async fn modern_list(to: SocketAddr, path: &str, more: &[(&str, &str)]) -> Answer {
    let mut headers = modern_headers("tools/list", None);
    headers.extend_from_slice(more);
    post(to, path, &headers, &modern_body(1, "tools/list", json!({}))).await
}

fn said(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// R3.1: the six are there, always loaded, each with annotations and an output schema.
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
            assert!(text.contains("5 tools") && text.contains("admin (2: Things"), "{text}");
        }
    }
    found.sort();
    assert_eq!(found, META);
    let plain = Server::new("plain", "1").unwrap();
    assert!(plain.list(&toolcrib::Filter::default()).is_empty());
}

/// R3.1: toolsets and the tools of one, in exactly the promised shape.
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

/// R3.1, R3.4, R3.5, R3.6: a dynamic legacy client loads a toolset, is told once, and nobody else sees it.
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
    // What the other is told is a change that is its own.
    called(to, &bob, "enable_toolset", json!({"toolset_name": "reading"})).await;
    let text = other_news.until("list_changed").await;
    assert_eq!(text.matches("list_changed").count(), 1, "{text}");
}

/// R3.1, R3.3: a client that cannot re-list is told what to do instead, and call_tool does it.
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
    // The inner tool's contract decides, and an inner tool that is not there is an unknown one.
    let bad = called(to, &id, "call_tool", json!({"name": "drop_all", "arguments": {"n": "x"}})).await;
    assert_eq!(bad["isError"], true);
    assert!(said(&bad).contains("/n"), "{bad}");
    for name in ["nothing", "call_tool"] {
        let unknown =
            legacy(to, &id, "tools/call", json!({"name": "call_tool", "arguments": {"name": name}})).await;
        assert_eq!(unknown.code(), -32602);
    }
}

/// R3.3: a client that is seen to list again after a change is dynamic, whatever it is called.
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

/// R3.4: a modern client's list never changes because of a call, and the call says what would change it.
#[tokio::test]
async fn a_modern_list_is_the_same_whatever_was_called() {
    let running = serve(&server()).await;
    let to = running.address;
    let first = modern_list(to, "/mcp", &[]).await;
    assert_eq!(first.result()["cacheScope"], "private");
    for (name, arguments) in [
        ("enable_toolset", json!({"toolset_name": "admin"})),
        ("disable_toolset", json!({"toolset_name": "git"})),
        ("search_tools", json!({"query": "delete"})),
        ("call_tool", json!({"name": "drop_all", "arguments": {}})),
        ("list_available_toolsets", json!({})),
    ] {
        let result = modern(to, "tools/call", json!({"name": name, "arguments": arguments})).await.result();
        if name == "enable_toolset" {
            assert_eq!(result["isError"], true);
            assert!(
                said(&result).contains("?toolsets=admin") && said(&result).contains("X-MCP-Toolsets"),
                "{result}"
            );
        }
        assert_eq!(modern_list(to, "/mcp", &[]).await.body, first.body, "after {name}");
    }
}

struct Bearer;

impl Authenticator for Bearer {
    fn principal(&self, headers: &http::HeaderMap) -> Result<Principal, Challenge> {
        let token = headers.get("authorization").and_then(|value| value.to_str().ok());
        token.map(|token| Principal::subject(token)).ok_or(Challenge { www_authenticate: "Bearer".into() })
    }
}

/// R3.4: where the operator allows it, enabling changes the principal's stored profile, and nobody else's.
#[tokio::test]
async fn a_profile_belongs_to_its_principal() {
    let server = fill(
        builder()
            .options(|options| {
                options.toolsets.start = Some(Names::parse("git"));
                options.toolsets.profiles_change = true;
                options.toolsets.mode = Some(Mode::Dynamic);
                options
                    .toolsets
                    .principals
                    .push((toolcrib::engine::toolset::glob::Glob::new("intern*"), Names::parse("git")));
            })
            .build()
            .unwrap(),
    );
    let options = HttpOptions { authenticator: Arc::new(Bearer), ..HttpOptions::default() };
    let running = serve_with(&server, options).await;
    let to = running.address;
    let enable = |who: &'static str| async move {
        let mut headers = modern_headers("tools/call", Some("enable_toolset"));
        headers.push(("Authorization", who));
        let params = json!({"name": "enable_toolset", "arguments": {"toolset_name": "admin"}});
        post(to, "/mcp", &headers, &modern_body(1, "tools/call", params)).await.result()
    };
    let list = |who: &'static str| async move {
        names(&modern_list(to, "/mcp", &[("Authorization", who)]).await.result())
    };
    assert_eq!(enable("ann").await["isError"], Value::Null);
    assert!(list("ann").await.contains(&"drop_all".to_owned()));
    assert!(!list("bob").await.contains(&"drop_all".to_owned()));
    // A limit of the operator's is never widened: to the intern, admin does not exist.
    let refused = enable("intern-7").await;
    assert!(said(&refused).contains("There is no toolset"), "{refused}");
}

/// R3.4: the address and the headers choose, narrow each other, and never widen.
#[tokio::test]
async fn a_view_is_chosen_by_address_or_header() {
    let server = fill(
        builder()
            .options(|options| options.toolsets.allowed = Some(Names::parse("git,reading")))
            .build()
            .unwrap(),
    );
    let running = serve(&server).await;
    let to = running.address;
    for (path, headers, expected) in [
        ("/mcp", vec![], vec!["audit_read", "git_log", "git_push", "ping"]),
        ("/mcp?toolsets=git", vec![], vec!["git_log", "git_push", "ping"]),
        ("/mcp/x/git", vec![], vec!["git_log", "git_push", "ping"]),
        ("/mcp/readonly", vec![], vec!["audit_read", "git_log", "ping"]),
        ("/mcp", vec![("X-MCP-Toolsets", "reading")], vec!["audit_read", "git_log", "ping"]),
        ("/mcp/x/git", vec![("X-MCP-Readonly", "true")], vec!["git_log", "ping"]),
        ("/mcp?toolsets=all", vec![("X-MCP-Toolsets", "git")], vec!["git_log", "git_push", "ping"]),
    ] {
        let list = modern_list(to, path, &headers).await.result();
        assert_eq!(names(&list), expected, "{path} {headers:?}");
        let text = list.to_string();
        assert_eq!(
            text.contains("enable_toolset"),
            !path.contains("readonly") && !headers.iter().any(|(name, _)| name.contains("Readonly"))
        );
    }
    for (path, headers) in [
        ("/mcp?toolsets=git,nothing", vec![]),
        ("/mcp/x/admin", vec![]),
        ("/mcp", vec![("X-MCP-Toolsets", "nothing")]),
    ] {
        let refused = modern_list(to, path, &headers).await;
        assert_eq!(refused.status, 400, "{path}");
        let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("git, reading") && !message.contains("admin,"), "{message}");
    }
    let nowhere = modern_list(to, "/mcp/y", &[]).await;
    assert_eq!(nowhere.status, 404);
    // A legacy session stays where it was opened.
    let id = session(to, "/mcp/x/git/readonly", "gemini-cli").await;
    assert_eq!(listed(to, &id).await, ["git_log", "ping"]);
    let reach = legacy(to, &id, "tools/call", json!({"name": "audit_read"})).await;
    assert_eq!(reach.code(), -32602);
}

/// R3.5: same view, same bytes, whatever the order of connection; other views are others.
#[tokio::test]
async fn views_are_shared_bytes() {
    let running = serve(&server()).await;
    let to = running.address;
    let git = modern_list(to, "/mcp?toolsets=git,admin", &[]).await;
    let other = modern_list(to, "/mcp", &[("X-MCP-Toolsets", "admin,git")]).await;
    assert_eq!(git.body, other.body);
    assert_ne!(git.body, modern_list(to, "/mcp?toolsets=git", &[]).await.body);
}

/// R3.2: the flag wins over the file; what is unknown, malformed or missing stops the start.
#[tokio::test]
async fn a_bad_selection_stops_the_start() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("toolsets.json");
    std::fs::write(&file, r#"{"defaultToolsets":["admin"],"clientOverrides":{"raw":["all"]}}"#).unwrap();
    let path = file.to_str().unwrap().to_owned();
    let variable = |name: &str| (name == "TOOLCRIB_TOOLSET_CONFIG").then(|| path.clone());
    let flags = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let by_file = fill(builder().selection(vec![], variable).unwrap().build().unwrap());
    let running = serve(&by_file).await;
    let to = running.address;
    assert_eq!(listed(to, &session(to, "/mcp", "x").await).await, ["audit_read", "drop_all", "ping"]);
    assert_eq!(listed(to, &session(to, "/mcp", "raw").await).await.len(), 5);
    let by_flag = fill(builder().selection(flags("--toolsets git"), variable).unwrap().build().unwrap());
    let running = serve(&by_flag).await;
    let to = running.address;
    assert_eq!(listed(to, &session(to, "/mcp", "raw").await).await, ["git_log", "git_push", "ping"]);
    let unknown = fill(builder().selection(flags("--toolsets=git,gti"), variable).unwrap().build().unwrap());
    let refused = unknown.bind_http("127.0.0.1:0", HttpOptions::default()).await.unwrap_err().to_string();
    assert!(refused.contains("gti") && refused.contains("admin, core, discovery, git, reading"), "{refused}");
    std::fs::write(&file, "{\n  \"defaultToolsets\": [1]}").unwrap();
    let malformed = builder().selection(vec![], variable).unwrap_err().to_string();
    assert!(malformed.contains("line 2, column"), "{malformed}");
    let missing = builder().selection(vec![], |_| Some("auto".into())).unwrap_err().to_string();
    assert!(missing.starts_with("auto: "), "{missing}");
    assert!(builder().selection(vec![], |_| Some("sometimes".into())).is_err());
}

/// R10.1: read-only tools of programmatic toolsets carry callers, for anthropic clients and nobody else.
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

/// R3.1: the search finds what is not listed, with signature, toolset and effect.
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

/// `SEARCH_RESULTS_MAX`: a search gives no more than it may, and asking for more is a mistake.
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

/// R3.1, R3.3: over stdio, a legacy client loads and a modern one is refused, on the same process.
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
