//! A server on `toolcrib`, as an author would write it.

use std::net::SocketAddr;

use anyhow::Result;
use serde_json::{Value, json};
use toolcrib::{Context, HttpOptions, Server, ToolError, ToolSpec};

use super::{TOOLS, echo_schema, listed};

pub(super) async fn serve(announce: impl FnOnce(SocketAddr) -> std::io::Result<()>) -> Result<()> {
    http(&server(TOOLS, listed)?, announce).await
}

pub(super) async fn serve_many(announce: impl FnOnce(SocketAddr) -> std::io::Result<()>) -> Result<()> {
    http(&server(9_999, short)?, announce).await
}

pub(super) async fn serve_stdio() -> Result<()> {
    Ok(server(TOOLS, listed)?.serve_stdio().await?)
}

/// Returns a definition of under 400 bytes, so that 10,000 of them stay within `UPSTREAM_LIST_BYTES_MAX`
/// and `UPSTREAM_LIST_NODES_MAX`.
fn short(number: usize) -> (String, String, Value) {
    let schema = json!({"type": "object", "properties": {
        "query": {"type": "string", "description": "Words that a record must contain"}
    }, "required": ["query"], "additionalProperties": false});
    (format!("tool_{number:03}"), format!("Reads the records of department {number}, newest first"), schema)
}

fn server(tools: usize, tool: fn(usize) -> (String, String, Value)) -> Result<Server> {
    let server = Server::new("bench", "1.0.0")?;
    let echo =
        ToolSpec::new("echo", "Says it again").input_schema(echo_schema()).output_schema(echo_schema());
    server.add(echo, |arguments: Value, _: Context| async move { Ok::<_, ToolError>(arguments) })?;
    for number in 0..tools {
        let (name, description, schema) = tool(number);
        server.register(&name, &description, schema, |_, _: Context| async { Ok::<_, ToolError>("") })?;
    }
    Ok(server)
}

async fn http(server: &Server, announce: impl FnOnce(SocketAddr) -> std::io::Result<()>) -> Result<()> {
    let bound = server.bind_http("127.0.0.1:0", HttpOptions::default()).await?;
    announce(bound.address()?)?;
    Ok(bound.serve(std::future::pending()).await?)
}
