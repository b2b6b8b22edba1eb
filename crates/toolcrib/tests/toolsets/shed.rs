//! Test server with a few toolsets, and helpers for requests to it.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use toolcrib::engine::{BoxFuture, Invocation, Tool};
use toolcrib::{
    Authenticator, Challenge, Context, Names, Principal, Server, ServerBuilder, ToolError, ToolSpec, Toolset,
};

use crate::support::*;

pub(crate) const META: [&str; 6] = [
    "call_tool",
    "describe_toolset",
    "disable_toolset",
    "enable_toolset",
    "list_available_toolsets",
    "search_tools",
];

pub(crate) fn builder() -> ServerBuilder {
    Server::builder("shed", "1")
        .toolset(Toolset::new("git", "Repositories and commits").programmatic())
        .toolset(Toolset::new("admin", "Things that cannot be undone"))
        .toolset(
            Toolset::new("reading", "Everything that only reads").tools(&["*_read", "*_log"]).read_only(true),
        )
}

pub(crate) fn fill(server: Server) -> Server {
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

/// Returns a server that loads `git` at the start.
pub(crate) fn server() -> Server {
    fill(builder().options(|options| options.toolsets.start = Some(Names::parse("git"))).build().unwrap())
}

pub(crate) async fn post(to: SocketAddr, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut tcp = TcpStream::connect(to).await.unwrap();
    let text = request_text(to, "POST", headers, body).replacen("/mcp HTTP", &format!("{path} HTTP"), 1);
    tcp.write_all(text.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    tcp.read_to_end(&mut bytes).await.unwrap();
    parse(&String::from_utf8_lossy(&bytes))
}

/// Opens a legacy session for a client of this name.
pub(crate) async fn session(to: SocketAddr, path: &str, client: &str) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}});
    let answer = post(to, path, &[], &body.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.header("mcp-session-id").unwrap()
}

pub(crate) fn names(list: &Value) -> Vec<String> {
    let mut names: Vec<String> = list["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    names.retain(|name| !META.contains(&name.as_str()));
    names
}

pub(crate) async fn listed(to: SocketAddr, session: &str) -> Vec<String> {
    names(&legacy(to, session, "tools/list", json!({})).await.result())
}

pub(crate) async fn called(to: SocketAddr, session: &str, name: &str, arguments: Value) -> Value {
    let answer = legacy(to, session, "tools/call", json!({"name": name, "arguments": arguments})).await;
    // A session without its own stream gets notifications on the stream of the call.
    match answer.events().pop() {
        Some(mut last) => last["result"].take(),
        None => answer.result(),
    }
}

pub(crate) async fn modern_list(to: SocketAddr, path: &str, more: &[(&str, &str)]) -> Answer {
    let mut headers = modern_headers("tools/list", None);
    headers.extend_from_slice(more);
    post(to, path, &headers, &modern_body(1, "tools/list", json!({}))).await
}

pub(crate) fn said(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// Tool that does nothing.
#[derive(Debug)]
pub(crate) struct Nothing;

impl Tool for Nothing {
    fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<toolcrib::engine::Answer, ToolError>> {
        Box::pin(async { Ok(toolcrib::ToolResult::text("x").into()) })
    }
}

pub(crate) struct Bearer;

impl Authenticator for Bearer {
    fn principal(&self, head: &toolcrib::RequestHead) -> Result<Principal, Challenge> {
        let token = head.get("authorization");
        token.map(Principal::subject).ok_or(Challenge { www_authenticate: "Bearer".into() })
    }
}

/// Returns a server with profiles whose callers have credentials, without a configured mode.
pub(crate) fn with_profiles() -> Server {
    let options = |options: &mut toolcrib::engine::Options| {
        options.toolsets.start = Some(Names::parse("git"));
        options.toolsets.profiles_change = true;
    };
    fill(builder().options(options).build().unwrap())
}
