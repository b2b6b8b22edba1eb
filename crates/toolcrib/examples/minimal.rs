//! The least a server needs.

use toolcrib::{Context, Server, ToolError, serde_json::json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema = json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]});
    let server = Server::new("adder", "1.0.0")?;
    server.register("add", "Adds two numbers", schema, |numbers, _: Context| async move {
        Ok::<_, ToolError>(
            (numbers["a"].as_f64().unwrap_or(0.0) + numbers["b"].as_f64().unwrap_or(0.0)).to_string(),
        )
    })?;
    Ok(server.serve_http("127.0.0.1:8001").await?)
}
