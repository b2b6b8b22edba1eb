//! Small requests with large answers.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use crate::case::{Attack, Case, Phase, Setting, Target};
use crate::client::Post;
use crate::upstream::{Offer, Upstream};

/// Messages per batch.
const MESSAGES: usize = 100;
/// Connections whose answers are not read.
const UNREAD: usize = 20;
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn cases() -> Vec<Case> {
    vec![
        // 100 tools of 2.8 KB make a list of 279 KB.
        Case::new("batches", "lists", |setting| {
            let bad = described(100, 2_700)?;
            Ok(Attack::request(batch(LIST, setting)).with_server(bad.entry("bad"), bad))
        }),
        Case::new("batches", "lists-unread", |setting| {
            let bad = described(100, 2_700)?;
            let post = batch(LIST, setting);
            Ok(Attack::storm(move |target, phase| unread(target, phase, &post))
                .with_server(bad.entry("bad"), bad))
        }),
        Case::new("batches", "lists-of-16-megabytes", |setting| {
            let bad = described(setting.size(16, 2), setting.size(1_000_000, 100_000))?;
            Ok(Attack::request(batch(LIST, setting)).with_server(bad.entry("bad"), bad))
        }),
        Case::new("batches", "list-of-16-megabytes-read-once", |setting| {
            let bad = described(setting.size(16, 2), setting.size(1_000_000, 100_000))?;
            Ok(Attack::request(Post::modern("tools/list", &json!({}))).with_server(bad.entry("bad"), bad))
        }),
        Case::new("batches", "costly-calls", |setting| {
            let schema = super::explanations::eight_branches();
            let bad = Upstream::hostile(&Offer::tool("check", &schema))?;
            let call = format!(
                r#""method":"tools/call","params":{{"name":"bad__check","arguments":{}}}"#,
                super::explanations::nested(setting.size(9, 3))
            );
            Ok(Attack::request(batch(&call, setting)).with_server(bad.entry("bad"), bad))
        }),
        Case::new("batches", "calls-of-1-megabyte-answers", |setting| {
            let mut offer = Offer::tool("large", &json!({"type": "object"}));
            offer.result = format!("\"structuredContent\":{{\"text\":\"{}\"}}", "x".repeat(1 << 20));
            let bad = Upstream::hostile(&offer)?;
            let call = r#""method":"tools/call","params":{"name":"bad__large","arguments":{}}"#;
            Ok(Attack::request(batch(call, setting)).with_server(bad.entry("bad"), bad))
        }),
    ]
}

const LIST: &str = r#""method":"tools/list""#;

/// Returns a batch, in the revision that has batches, of equal messages with different ids.
fn batch(message: &str, setting: &Setting) -> Post {
    let one = |id: usize| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{message}}}");
    let all: Vec<String> = (0..setting.size(MESSAGES, 10)).map(one).collect();
    let headers = "MCP-Protocol-Version: 2025-03-26\r\n".to_owned();
    Post { headers, body: format!("[{}]", all.join(",")).into_bytes() }
}

/// Starts a server with `tools` tools, each with `prose` bytes of description.
fn described(tools: usize, prose: usize) -> Result<Upstream> {
    let prose = "long words ".repeat(prose / 11);
    let tool = |number: usize| json!({"name": format!("t{number}"), "description": prose, "inputSchema": {"type": "object"}});
    Upstream::hostile(&Offer { tools: (0..tools).map(tool).collect(), ..Offer::default() })
}

fn unread(target: &Target<'_>, phase: &Phase, post: &Post) -> Result<u64> {
    let mut wires = Vec::new();
    for _ in 0..UNREAD {
        let mut wire = target.wire(PATIENCE)?;
        wire.send(post)?;
        wires.push(wire);
    }
    phase.pause(Duration::from_secs(60));
    Ok(wires.len() as u64)
}
