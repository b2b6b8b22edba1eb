//! Adapter for servers built on `rmcp`: puts their tools under contract without rewriting them (R2.9):
//!
//! ```ignore
//! let server = toolcrib::Server::new("mine", "1.0.0")?;
//! toolcrib_rmcp_adapter::adopt(server.engine().registry(), MyRmcpHandler::new()).await?;
//! server.serve_http("127.0.0.1:8001").await?;
//! ```
//!
//! Guarantees: the handler runs unchanged behind an in-process pipe; its definitions are registered as it lists them;
//! its arguments and answers pass as raw JSON and are validated. A tool whose definition is refused is left out
//! alone, with its reason. Progress, log messages and cancellation pass through; so do elicitation, sampling and
//! roots while exactly one call is in flight (the SDK does not tell which call asks). A modern client cannot be asked
//! in the middle of such a call: the handler gets an error and can answer without.

mod connection;
pub mod limits;

use std::sync::Arc;
use std::time::Duration;

use rmcp::{ServerHandler, ServiceExt};
use toolcrib_contract::json::{Document, Limits};
use toolcrib_contract::{Definition, DefinitionError};
use toolcrib_engine::{Answer, BoxFuture, Invocation, RegisterError, Registry, Tool, ToolError};
use toolcrib_protocol::{RpcError, write};

use connection::Connection;
use limits::{ADOPT_MS_MAX, LIST_PAGES_MAX, MESSAGE_BYTES_MAX, PIPE_BYTES_MAX};

/// Names of a handler's registered tools, and the refused tools with their reasons.
#[derive(Debug, Default)]
pub struct Adopted {
    pub registered: Vec<String>,
    pub refused: Vec<(String, AdoptError)>,
}

/// Reason why a handler or one of its tools was not adopted.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    #[error("the server did not initialize and list its tools in time")]
    TooSlow,
    #[error("the server went away")]
    Gone,
    #[error("the server refused: {0:?}")]
    Refused(RpcError),
    #[error("the server's list of tools is not one")]
    NotAList,
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    #[error(transparent)]
    Register(#[from] RegisterError),
}

/// Registers every tool of an `rmcp` handler in `registry`, under contract.
pub async fn adopt<H: ServerHandler>(registry: &Registry, handler: H) -> Result<Adopted, AdoptError> {
    let (ours, theirs) = pipe();
    tokio::spawn(async move {
        match handler.serve(tokio::io::split(theirs)).await {
            Ok(running) => {
                let _ = running.waiting().await;
            }
            Err(error) => tracing::warn!(target: "toolcrib", "an adopted server did not start: {error}"),
        }
    });
    let connection = Connection::open(ours);
    let listing = tokio::time::timeout(Duration::from_millis(ADOPT_MS_MAX), list(&connection));
    let pages = listing.await.map_err(|_| AdoptError::TooSlow)??;
    let mut adopted = Adopted::default();
    for page in pages {
        let document = Document::parse(page.as_bytes(), &limits()).map_err(|_| AdoptError::NotAList)?;
        let tools =
            document.root().get("tools").filter(|tools| tools.is_array()).ok_or(AdoptError::NotAList)?;
        for node in tools.elements() {
            let name = node
                .get("name")
                .and_then(toolcrib_contract::json::Node::as_str)
                .unwrap_or_default()
                .into_owned();
            let tool = Arc::new(AdoptedTool { connection: connection.clone() });
            let registered = Definition::from_node(node)
                .map_err(AdoptError::from)
                .and_then(|definition| Ok(registry.register(definition, None, tool)?));
            match registered {
                Ok(()) => adopted.registered.push(name),
                Err(error) => adopted.refused.push((name, error)),
            }
        }
    }
    Ok(adopted)
}

/// Creates the pipe between the adapter and the server.
fn pipe() -> (tokio::io::DuplexStream, tokio::io::DuplexStream) {
    tokio::io::duplex(PIPE_BYTES_MAX)
}

/// Returns the pages of the server's tool list as raw JSON, at most [`LIST_PAGES_MAX`].
async fn list(connection: &Arc<Connection>) -> Result<Vec<Box<str>>, AdoptError> {
    let initialize = r#"{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}},"clientInfo":{"name":"toolcrib","version":"1"}}"#;
    connection.request("initialize", |_| initialize.to_owned(), None).await?;
    connection.notify("notifications/initialized").await;
    let mut pages = Vec::new();
    let mut cursor: Option<String> = None;
    while pages.len() < LIST_PAGES_MAX {
        let params = match &cursor {
            None => "{}".to_owned(),
            Some(cursor) => format!("{{\"cursor\":{}}}", write::quoted(cursor)),
        };
        let page = connection.request("tools/list", |_| params, None).await?;
        let document = Document::parse(page.as_bytes(), &limits()).map_err(|_| AdoptError::NotAList)?;
        cursor = document
            .root()
            .get("nextCursor")
            .and_then(toolcrib_contract::json::Node::as_str)
            .map(std::borrow::Cow::into_owned);
        drop(document);
        pages.push(page);
        if cursor.is_none() {
            return Ok(pages);
        }
    }
    let limit = format!("LIST_PAGES_MAX: only {LIST_PAGES_MAX} pages are read");
    tracing::warn!(target: "toolcrib", "tools of an adopted server are left out: {limit}");
    Ok(pages)
}

pub(crate) fn limits() -> Limits {
    Limits::message().with_bytes_max(MESSAGE_BYTES_MAX)
}

/// Tool of the adopted server.
struct AdoptedTool {
    connection: Arc<Connection>,
}

impl Tool for AdoptedTool {
    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move {
            let params = |token: u64| {
                format!(
                    "{{\"name\":{},\"arguments\":{},\"_meta\":{{\"progressToken\":{token}}}}}",
                    write::quoted(invocation.name),
                    invocation.arguments.raw()
                )
            };
            match self.connection.request("tools/call", params, Some(invocation.context)).await {
                Ok(result) => Ok(Answer::Raw(result)),
                Err(AdoptError::Refused(error)) => Err(ToolError::Protocol(Box::new(error))),
                Err(error) => Err(error.into()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    /// R2.9: `PIPE_BYTES_MAX` bytes wait for a server that does not read; then the writer waits.
    #[tokio::test(start_paused = true)]
    async fn the_pipe_holds_pipe_bytes_max() {
        let (mut ours, _theirs) = pipe();
        let second = Duration::from_secs(1);
        let fill = vec![b'x'; PIPE_BYTES_MAX];
        tokio::time::timeout(second, ours.write_all(&fill)).await.unwrap().unwrap();
        assert!(tokio::time::timeout(second, ours.write_all(b"x")).await.is_err());
    }
}
