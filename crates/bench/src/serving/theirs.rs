//! A server on rmcp with the same tools, directly on hyper. Without sessions it runs in its fastest form: stateless,
//! with plain JSON answers.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use super::{TOOLS, echo_schema, listed};

#[derive(Clone)]
struct Echo {
    tools: Arc<Vec<Tool>>,
}

impl Echo {
    fn new() -> Result<Self> {
        let echo = json!({"name": "echo", "description": "Says it again",
            "inputSchema": echo_schema(), "outputSchema": echo_schema()});
        let mut tools: Vec<Tool> = vec![serde_json::from_value(echo)?];
        for number in 0..TOOLS {
            let (name, description, schema) = listed(number);
            let tool = json!({"name": name, "description": description, "inputSchema": schema});
            tools.push(serde_json::from_value(tool)?);
        }
        Ok(Self { tools: Arc::new(tools) })
    }
}

impl ServerHandler for Echo {
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
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::structured(Value::Object(request.arguments.unwrap_or_default())).into())
    }
}

pub(super) async fn serve(
    announce: impl FnOnce(SocketAddr) -> std::io::Result<()>,
    sessions: bool,
) -> Result<()> {
    let echo = Echo::new()?;
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = sessions;
    config.json_response = !sessions;
    let service = StreamableHttpService::new(
        move || Ok(echo.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    announce(listener.local_addr()?)?;
    loop {
        let (tcp, _) = listener.accept().await?;
        tcp.set_nodelay(true)?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            let _ =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(tcp), service).await;
        });
    }
}
