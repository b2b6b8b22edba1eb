//! R2.9: an `rmcp` server's tools under contract, without a line of it rewritten.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use toolcrib::Server;
use toolcrib_rmcp_adapter::AdoptError;
use toolcrib_rmcp_adapter::limits::{ADOPT_MS_MAX, LIST_PAGES_MAX};

/// Existing server, which validates nothing.
#[derive(Clone, Default)]
struct Existing {
    calls: Arc<AtomicUsize>,
}

fn tool(definition: Value) -> Tool {
    serde_json::from_value(definition).unwrap()
}

impl ServerHandler for Existing {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::default();
        config.capabilities = ServerCapabilities::builder().enable_tools().build();
        config
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let number = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        Ok(ListToolsResult::with_all_items(vec![
            tool(
                json!({"name": "double", "description": "Doubles", "inputSchema": number, "outputSchema": number}),
            ),
            tool(
                json!({"name": "lies", "description": "Breaks its promise", "inputSchema": {"type": "object"},
                "outputSchema": number}),
            ),
            tool(json!({"name": "bad name!", "description": "x", "inputSchema": {"type": "object"}})),
        ]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        match &*request.name {
            "double" => {
                let n = arguments["n"].as_i64().unwrap_or_default();
                Ok(CallToolResult::structured(json!({"n": 2 * n})).into())
            }
            "lies" => Ok(CallToolResult::structured(json!({"n": "many"})).into()),
            _ => Ok(CallToolResult::success(vec![ContentBlock::text("?")]).into()),
        }
    }
}

/// R2.9: bad arguments never reach the handler, bad answers never leave it.
#[tokio::test]
async fn an_existing_rmcp_server_is_put_under_contract() {
    let existing = Existing::default();
    let server = Server::new("adopted", "1").unwrap();
    let adopted = toolcrib_rmcp_adapter::adopt(server.engine().registry(), existing.clone()).await.unwrap();
    assert_eq!(adopted.registered, ["double", "lies"]);
    assert_eq!(adopted.refused.len(), 1, "one bad tool is left out alone: {:?}", adopted.refused);

    let doubled = server.call("double", json!({"n": 21})).await.unwrap();
    assert_eq!(doubled["structuredContent"], json!({"n": 42}));
    assert_eq!(existing.calls.load(Ordering::SeqCst), 1);

    let refused = server.call("double", json!({"n": "many"})).await.unwrap();
    assert_eq!(refused["isError"], true);
    assert_eq!(existing.calls.load(Ordering::SeqCst), 1, "the handler never saw it");

    let caught = server.call("lies", json!({})).await.unwrap();
    assert_eq!(caught["isError"], true);
    assert!(
        caught["content"][0]["text"].as_str().unwrap().starts_with("Output validation failed:"),
        "{caught}"
    );
    assert!(caught.get("structuredContent").is_none());
}

/// Server whose list never ends: every page has one tool and a cursor. With `answers: false` it hangs instead.
struct Endless {
    answers: bool,
}

impl ServerHandler for Endless {
    fn get_info(&self) -> ServerConfig {
        Existing::default().get_info()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if !self.answers {
            std::future::pending::<()>().await;
        }
        let page: usize = request.and_then(|request| request.cursor?.parse().ok()).unwrap_or_default();
        let definition =
            json!({"name": format!("tool_{page}"), "description": "x", "inputSchema": {"type": "object"}});
        let mut list = ListToolsResult::with_all_items(vec![tool(definition)]);
        list.next_cursor = Some((page + 1).to_string());
        Ok(list)
    }
}

/// R2.9: at most `LIST_PAGES_MAX` pages of an endless list are read.
#[tokio::test]
async fn no_more_than_list_pages_max_pages_are_read() {
    let server = Server::new("adopted", "1").unwrap();
    let endless = Endless { answers: true };
    let adopted = toolcrib_rmcp_adapter::adopt(server.engine().registry(), endless).await.unwrap();
    assert_eq!(adopted.registered.len(), LIST_PAGES_MAX);
    assert_eq!(adopted.registered.last().unwrap(), &format!("tool_{}", LIST_PAGES_MAX - 1));
}

/// R2.9: a server that does not list its tools within `ADOPT_MS_MAX` is not adopted.
#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_is_given_up_after_adopt_ms_max() {
    let server = Server::new("adopted", "1").unwrap();
    let start = tokio::time::Instant::now();
    let hanging = Endless { answers: false };
    let refused = toolcrib_rmcp_adapter::adopt(server.engine().registry(), hanging).await;
    assert!(matches!(refused, Err(AdoptError::TooSlow)), "{refused:?}");
    let waited = start.elapsed();
    let limit = Duration::from_millis(ADOPT_MS_MAX);
    assert!(waited >= limit && waited < limit + Duration::from_millis(10), "{waited:?}");
}
