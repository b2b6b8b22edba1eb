//! Minimal server: one typed tool over HTTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::{Context, Server};

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: f64,
    b: f64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: f64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::new("adder", "1.0.0")?;
    server.register_typed("add", "Adds two numbers", |numbers: Numbers, _: Context| async move {
        Ok(Sum { sum: numbers.a + numbers.b })
    })?;
    Ok(server.serve_http("127.0.0.1:8001").await?)
}
