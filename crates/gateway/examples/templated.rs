//! MCP server over stdio (2025-11-25) for tests that offers the resource templates in its arguments.
//!
//! `templated many COUNT` offers COUNT templates that begin with no literal and match almost every URI. Reading a URI
//! returns it as text; every argument is completed as `done`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout, reason = "a server for tests")]

use std::io::BufRead;

use serde_json::{Value, json};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let templates: Vec<String> = match words.as_slice() {
        [many, count] if many == "many" => {
            (0..count.parse().unwrap()).map(|number: usize| format!("{{+a{number}}}x{{b}}a{{c}}a!")).collect()
        }
        templates => templates.to_vec(),
    };
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap_or_default()) else { continue };
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else { continue };
        let answer = match answer(method, &message["params"], &templates) {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": method}}),
        };
        println!("{answer}");
    }
}

fn answer(method: &str, params: &Value, templates: &[String]) -> Option<Value> {
    Some(match method {
        "initialize" => json!({"protocolVersion": "2025-11-25",
            "capabilities": {"resources": {"subscribe": true}, "completions": {}},
            "serverInfo": {"name": "templated", "version": "1"}}),
        "ping" | "resources/subscribe" => json!({}),
        "resources/list" => json!({"resources": []}),
        "resources/templates/list" => {
            let listed = templates.iter().map(|template| json!({"uriTemplate": template, "name": "t"}));
            json!({"resourceTemplates": listed.collect::<Vec<_>>()})
        }
        "resources/read" => json!({"contents": [{"uri": params["uri"], "text": params["uri"]}]}),
        "completion/complete" => json!({"completion": {"values": ["done"]}}),
        _ => return None,
    })
}
