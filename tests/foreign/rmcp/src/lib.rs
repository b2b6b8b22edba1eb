//! An MCP client on the official Rust SDK. What it does and reports: ../README.md.

mod handler;
mod step;

use std::time::Duration;

use rmcp::model::ProtocolVersion;
use rmcp::service::RunningService;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::{Map, Value, json};
use tokio::process::Command;
use toolcrib_testkit::foreign::{Era, Server};

use crate::handler::Handler;

/// How long one step may take.
const STEP_TIME_MAX: Duration = Duration::from_secs(30);

pub(crate) type Client = RunningService<RoleClient, Handler>;

/// Walks through the plan and returns the report; a step that failed has its reason there.
pub async fn run(era: Era, server: &Server, plan: &Value) -> Value {
    let mut steps = Map::new();
    let answer = plan.pointer("/ask/answer").cloned().unwrap_or_else(|| json!({}));
    let answer = plan.get("queue").is_none().then_some(answer);
    let mut version = Value::Null;
    match within(connect(era, server, Handler::new(answer))).await {
        Err(why) => drop(steps.insert("connect".to_owned(), json!(why))),
        Ok(client) => {
            let negotiated = client.peer_info().map(|info| info.protocol_version.to_string());
            let modern = negotiated.as_deref() == Some(ProtocolVersion::V_2026_07_28.as_str());
            let right = modern == (era == Era::Modern);
            version = json!(negotiated);
            steps.insert(
                "connect".to_owned(),
                if right { json!("ok") } else { json!(format!("negotiated {version}")) },
            );
            let planned = plan.as_object().into_iter().flatten().filter(|_| right);
            for (step, options) in planned {
                let outcome = within(step::take(&client, step, options)).await;
                steps.insert(step.clone(), outcome.err().map_or_else(|| json!("ok"), Value::String));
            }
            if let Err(error) = tokio::time::timeout(STEP_TIME_MAX, client.cancel()).await {
                steps.insert("close".to_owned(), json!(error.to_string()));
            }
        }
    }
    json!({ "client": "rmcp", "era": era.name(), "protocolVersion": version, "steps": steps })
}

async fn connect(era: Era, server: &Server, handler: Handler) -> Result<Client, String> {
    let lifecycle = match era {
        Era::Legacy => ClientLifecycleMode::Initialize,
        Era::Modern => {
            ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
        }
    };
    let client = match server {
        Server::Http { url } => {
            handler
                .serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url.as_str()), lifecycle)
                .await
        }
        Server::Stdio { command } => {
            let [program, arguments @ ..] = command.as_slice() else { return Err("no command".to_owned()) };
            let mut command = Command::new(program);
            command.args(arguments).kill_on_drop(true);
            let transport = TokioChildProcess::new(command).map_err(|error| error.to_string())?;
            handler.serve_with_lifecycle(transport, lifecycle).await
        }
    };
    client.map_err(|error| error.to_string())
}

async fn within<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    tokio::time::timeout(STEP_TIME_MAX, work)
        .await
        .unwrap_or_else(|_| Err(format!("not within {STEP_TIME_MAX:?}")))
}
