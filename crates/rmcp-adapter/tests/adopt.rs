//! R2.9: an `rmcp` server's tools under contract, without a line of it rewritten.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use toolcrib::Server;

/// Somebody's existing server, which checks nothing.
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
