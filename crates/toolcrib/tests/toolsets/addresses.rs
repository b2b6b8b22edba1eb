//! Views chosen by URL, header and credential, and the limits that none of them can widen.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib::{HttpOptions, Mode, Names, Server};

use crate::shed::*;
use crate::support::*;

/// R3.4: a modern client's list never changes because of a call, and the answer says what would change it.
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

/// R3.4: if the operator allows it, enabling changes the principal's own stored profile and no other.
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
    // An operator's limit is never widened: for the intern, `admin` does not exist.
    let refused = enable("intern-7").await;
    assert!(said(&refused).contains("There is no toolset"), "{refused}");
}

/// R3.4: toolsets chosen by URL can be unloaded and loaded again by a legacy client, never widened; a modern client
/// is told to choose by URL.
#[tokio::test]
async fn an_address_bounds_what_calls_can_do() {
    let running = serve(&with_profiles()).await;
    let to = running.address;
    let id = session(to, "/mcp?toolsets=git,reading", "gemini-cli").await;
    let set = |name: &str| json!({"toolset_name": name});
    assert_eq!(listed(to, &id).await, ["audit_read", "git_log", "git_push", "ping"]);
    assert_eq!(called(to, &id, "disable_toolset", set("git")).await["structuredContent"]["changed"], true);
    assert_eq!(listed(to, &id).await, ["audit_read", "git_log", "ping"]);
    assert_eq!(called(to, &id, "enable_toolset", set("git")).await["structuredContent"]["changed"], true);
    assert_eq!(listed(to, &id).await.len(), 4);
    assert!(said(&called(to, &id, "enable_toolset", set("admin")).await).contains("There is no toolset"));
    // A later request of the session can narrow, for itself only.
    let headers = [("Mcp-Session-Id", id.as_str()), ("X-MCP-Readonly", "true"), ("X-MCP-Toolsets", "all")];
    let narrowed = post(to, "/mcp", &headers, &legacy_body(9, "tools/list", json!({}))).await.result();
    assert_eq!(names(&narrowed), ["audit_read", "git_log", "ping"]);
    let mut headers = modern_headers("tools/call", Some("disable_toolset"));
    headers.push(("X-MCP-Toolsets", "git"));
    let params = json!({"name": "disable_toolset", "arguments": {"toolset_name": "git"}});
    let refused = post(to, "/mcp", &headers, &modern_body(1, "tools/call", params)).await.result();
    assert!(refused["isError"] == true && said(&refused).contains("chose already"), "{refused}");
}

/// R3.4: a server that declares no toolset shows every caller every tool, and still lets a request select fewer.
#[tokio::test]
async fn a_server_without_toolsets_lets_a_request_narrow() {
    let plain = fill(Server::new("plain", "1").unwrap());
    let running = serve(&plain).await;
    let to = running.address;
    let whole = modern_list(to, "/mcp", &[]).await.result();
    assert_eq!((whole["tools"].as_array().unwrap().len(), &whole["cacheScope"]), (5, &json!("public")));
    let readers = modern_list(to, "/mcp/readonly", &[]).await.result();
    assert_eq!(
        (names(&readers), &readers["cacheScope"]),
        (vec!["audit_read".into(), "git_log".into(), "ping".into()], &json!("private"))
    );
    let git = modern_list(to, "/mcp", &[("X-MCP-Toolsets", "git")]).await.result();
    assert_eq!(names(&git), ["git_log", "git_push", "ping"]);
    assert_eq!(modern_list(to, "/mcp?toolsets=nothing", &[]).await.status, 400);
}

/// R3.4: a toolset that a credential may not reach is not named to it either.
#[tokio::test]
async fn a_refused_choice_names_only_what_the_credential_allows() {
    let limit = |options: &mut toolcrib::engine::Options| {
        let glob = toolcrib::engine::toolset::glob::Glob::new("intern*");
        options.toolsets.principals.push((glob, Names::parse("git")));
    };
    let options = HttpOptions { authenticator: Arc::new(Bearer), ..HttpOptions::default() };
    let running = serve_with(&fill(builder().options(limit).build().unwrap()), options).await;
    let to = running.address;
    let refused = modern_list(to, "/mcp?toolsets=admin", &[("Authorization", "intern-7")]).await;
    assert_eq!(refused.status, 400);
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with("known: core, discovery, git"), "{message}");
    assert_eq!(modern_list(to, "/mcp?toolsets=admin", &[("Authorization", "ann")]).await.status, 200);
}

/// R3.4: URL and headers select, narrow each other, and never widen.
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
    // A legacy session keeps the selection of the URL that opened it.
    let id = session(to, "/mcp/x/git/readonly", "gemini-cli").await;
    assert_eq!(listed(to, &id).await, ["git_log", "ping"]);
    let reach = legacy(to, &id, "tools/call", json!({"name": "audit_read"})).await;
    assert_eq!(reach.code(), -32602);
}

/// R3.5: equal views are equal bytes, independent of the order of connection; different views differ.
#[tokio::test]
async fn views_are_shared_bytes() {
    let running = serve(&server()).await;
    let to = running.address;
    let git = modern_list(to, "/mcp?toolsets=git,admin", &[]).await;
    let other = modern_list(to, "/mcp", &[("X-MCP-Toolsets", "admin,git")]).await;
    assert_eq!(git.body, other.body);
    assert_ne!(git.body, modern_list(to, "/mcp?toolsets=git", &[]).await.body);
}
