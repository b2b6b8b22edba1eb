//! A modern MCP server that answers from prepared bytes: it uses little CPU, so that a race measures the proxy in front
//! of it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

use super::recorded::{self, Recorded};
use crate::serving::echo_schema;

/// Approximate bytes of the structured content of a large answer.
const LARGE_BYTES: usize = 64 * 1024;

/// Result of `initialize`, for proxies that use a legacy revision towards their server.
const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"canned","version":"1"}}"#;

struct Answers {
    discover: String,
    list: String,
    echo: String,
    large: String,
    /// Name member of a recorded tool as written in a call, and the tool's result.
    recorded: Vec<(String, String)>,
}

fn record_schema() -> Value {
    json!({"type": "object", "properties": {
        "id": {"type": "integer", "minimum": 0}, "name": {"type": "string", "maxLength": 200},
        "score": {"type": "number"}, "tags": {"type": "array", "items": {"type": "string"}},
        "state": {"type": "string", "enum": ["open", "closed"]}
    }, "required": ["id", "name", "state"], "additionalProperties": false})
}

impl Answers {
    fn new(recorded: &[Recorded]) -> Self {
        let meta = json!({"io.modelcontextprotocol/serverInfo": {"name": "canned", "version": "1"}});
        let echoed = json!({"text": "hello", "count": 3, "tags": ["a", "b"], "mode": "plain"});
        let record = |id: usize| {
            json!({"id": id, "name": format!("record number {id} of the archive"), "score": 0.25 * id as f64,
                "tags": ["alpha", "beta", "gamma"], "state": "open"})
        };
        let mut records = Vec::new();
        let mut bytes = 0;
        while bytes < LARGE_BYTES {
            let next = record(records.len());
            bytes += next.to_string().len() + 1;
            records.push(next);
        }
        let large = json!({"records": records});
        let result = |structured: &Value, text: &str| {
            json!({"resultType": "complete", "content": [{"type": "text", "text": text}],
                "structuredContent": structured, "_meta": meta})
            .to_string()
        };
        let mut tools = json!([
            {"name": "echo", "description": "Says it again", "inputSchema": echo_schema(), "outputSchema": echo_schema(),
                "annotations": {"readOnlyHint": true}},
            {"name": "large", "description": "Many records", "inputSchema": {"type": "object"},
                "outputSchema": {"type": "object", "properties": {"records": {"type": "array", "items": record_schema()}},
                    "required": ["records"]}, "annotations": {"readOnlyHint": true}},
        ]);
        if let Some(tools) = tools.as_array_mut() {
            tools.extend(recorded.iter().map(|answer| answer.definition.clone()));
        }
        let whole = |answer: &Recorded| {
            let mut result = answer.result.clone();
            if let Some(result) = result.as_object_mut() {
                result.insert("resultType".to_owned(), "complete".into());
            }
            (format!("\"name\":\"{}\"", answer.name()), result.to_string())
        };
        Self {
            recorded: recorded.iter().map(whole).collect(),
            discover: json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private", "_meta": meta})
            .to_string(),
            list: json!({"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private", "_meta": meta})
                .to_string(),
            echo: result(&echoed, &echoed.to_string()),
            large: result(&large, "records"),
        }
    }

    fn answer(&self, body: &str) -> String {
        let id =
            body.split("\"id\":").nth(1).and_then(|rest| rest.split([',', '}']).next()).unwrap_or("null");
        let has = |text: &str| body.contains(text);
        let result: &str = if has("\"tools/call\"") {
            let recorded = self.recorded.iter().find(|(name, _)| has(name));
            match recorded {
                Some((_, result)) => result,
                None if has("\"name\":\"large\"") => &self.large,
                None => &self.echo,
            }
        } else if has("\"tools/list\"") {
            &self.list
        } else if has("\"server/discover\"") {
            &self.discover
        } else if has("\"initialize\"") {
            INITIALIZED
        } else {
            return format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32601,\"message\":\"no\"}}}}"
            );
        };
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
    }
}

pub(crate) async fn serve(
    answers: Option<&str>,
    announce: impl FnOnce(SocketAddr) -> std::io::Result<()>,
) -> Result<()> {
    let recorded = answers.map(recorded::read).transpose()?.unwrap_or_default();
    let answers = Arc::new(Answers::new(&recorded));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    announce(listener.local_addr()?)?;
    loop {
        let (tcp, _) = listener.accept().await?;
        tcp.set_nodelay(true)?;
        let answers = answers.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let answers = answers.clone();
            async move {
                let body = request
                    .into_body()
                    .collect()
                    .await
                    .map(http_body_util::Collected::to_bytes)
                    .unwrap_or_default();
                let body = std::str::from_utf8(&body).unwrap_or_default();
                if body.contains("\"notifications/") {
                    let mut taken = Response::new(Full::new(Bytes::new()));
                    *taken.status_mut() = hyper::StatusCode::ACCEPTED;
                    return Ok::<_, Infallible>(taken);
                }
                let mut response = Response::new(Full::new(Bytes::from(answers.answer(body))));
                let json = hyper::header::HeaderValue::from_static("application/json");
                response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
                Ok::<_, Infallible>(response)
            }
        });
        tokio::spawn(async move {
            let _ =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(tcp), service).await;
        });
    }
}
