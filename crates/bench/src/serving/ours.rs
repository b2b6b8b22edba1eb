//! The author's server, as an author writes it.

use std::net::SocketAddr;

use anyhow::Result;
use serde_json::Value;
use toolcrib::{Context, HttpOptions, Server, ToolError, ToolSpec};

use super::{TOOLS, echo_schema, listed};

pub(super) async fn serve(announce: impl FnOnce(SocketAddr) -> std::io::Result<()>) -> Result<()> {
    http(&server(TOOLS)?, announce).await
}

pub(super) async fn serve_many(announce: impl FnOnce(SocketAddr) -> std::io::Result<()>) -> Result<()> {
    http(&server(9_999)?, announce).await
}

pub(super) async fn serve_stdio() -> Result<()> {
    Ok(server(TOOLS)?.serve_stdio().await?)
}

fn server(tools: usize) -> Result<Server> {
    let server = Server::new("bench", "1.0.0")?;
    let echo =
        ToolSpec::new("echo", "Says it again").input_schema(echo_schema()).output_schema(echo_schema());
    server.add(echo, |arguments: Value, _: Context| async move { Ok::<_, ToolError>(arguments) })?;
    for number in 0..tools {
        let (name, description, schema) = listed(number);
        server.register(&name, &description, schema, |_, _: Context| async { Ok::<_, ToolError>("") })?;
    }
    Ok(server)
}

async fn http(server: &Server, announce: impl FnOnce(SocketAddr) -> std::io::Result<()>) -> Result<()> {
    let bound = server.bind_http("127.0.0.1:0", HttpOptions::default()).await?;
    announce(bound.address()?)?;
    Ok(bound.serve(std::future::pending()).await?)
}
