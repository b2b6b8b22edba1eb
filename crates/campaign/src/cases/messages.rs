//! Requests that are invalid as JSON, as a message or as HTTP.

use anyhow::Result;
use serde_json::json;

use crate::case::{Attack, Case, Setting};
use crate::client::Post;
use crate::upstream::{Offer, Upstream};

/// Bytes of a body for which the CPU limits hold.
const BODY_BYTES: usize = 1 << 20;
const SMALL_BODY_BYTES: usize = 1 << 14;

pub(super) fn cases() -> Vec<Case> {
    let body = |setting: &Setting| setting.size(BODY_BYTES, SMALL_BODY_BYTES);
    vec![
        Case::new("messages", "depth-bomb", move |setting| called(&"[".repeat(body(setting)))),
        Case::new("messages", "closed-depth-bomb", move |setting| {
            let half = body(setting) / 2;
            called(&("[".repeat(half) + &"]".repeat(half)))
        }),
        Case::new("messages", "duplicate-keys", move |setting| {
            let many: Vec<String> = (0..body(setting) / 16).map(|key| format!("\"key{key:08}\":1")).collect();
            called(&format!("{{{},\"key00000000\":1}}", many.join(",")))
        }),
        Case::new("messages", "huge-number", move |setting| {
            called(&format!("{{\"number\":{}}}", "9".repeat(body(setting))))
        }),
        Case::new("messages", "huge-exponents", move |setting| {
            let many = vec!["1e999999999"; body(setting) / 12].join(",");
            called(&format!("{{\"numbers\":[{many}]}}"))
        }),
        Case::new("messages", "huge-string", move |setting| {
            called(&format!("{{\"short\":\"{}\"}}", "x".repeat(body(setting))))
        }),
        Case::new("messages", "escaped-string", move |setting| {
            called(&format!("{{\"short\":\"{}\"}}", "\\u0061".repeat(body(setting) / 6)))
        }),
        Case::new("messages", "invalid-utf8", move |setting| {
            let mut post = Post::call_text("bad__check", "{\"short\":\"MARK\"}");
            let at = post.body.windows(4).position(|four| four == b"MARK").unwrap_or(0);
            post.body.splice(at..at + 4, std::iter::repeat_n(0xff, body(setting)));
            behind_server(post)
        }),
        Case::new("messages", "unknown-members", move |setting| {
            let many: Vec<String> = (0..body(setting) / 16).map(|key| format!("\"key{key:08}\":1")).collect();
            called(&format!("{{{}}}", many.join(",")))
        }),
        Case::new("messages", "many-headers", |_| {
            let mut post = Post::call_text("bad__check", "{}");
            (0..2_000).for_each(|number| post.headers.push_str(&format!("X-Header-{number}: {number}\r\n")));
            behind_server(post)
        }),
        Case::new("messages", "long-header", |_| {
            let post = Post::call_text("bad__check", "{}").header("X-Long", &"x".repeat(1 << 20));
            behind_server(post)
        }),
        Case::new("messages", "long-uri", move |setting| {
            let uri = format!("a://{}", "x".repeat(body(setting)));
            let read = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}});
            behind_server(Post::legacy(read.to_string()))
        }),
        Case::new("messages", "long-tool-name", move |setting| {
            let name = "x".repeat(body(setting));
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}});
            behind_server(Post::legacy(call.to_string()))
        }),
        Case::new("messages", "long-search", move |setting| {
            let query = "word ".repeat(body(setting) / 5);
            behind_server(Post::modern(
                "tools/call",
                &json!({"name": "search_tools", "arguments": {"query": query}}),
            ))
        }),
        Case::new("messages", "long-cursor", move |setting| {
            behind_server(Post::modern("tools/list", &json!({"cursor": "x".repeat(body(setting))})))
        }),
    ]
}

/// Attack: a call with these arguments.
fn called(arguments: &str) -> Result<Attack> {
    behind_server(Post::call_text("bad__check", arguments))
}

/// Attack: a request to a gateway with a tool `check` that takes a short string.
fn behind_server(post: Post) -> Result<Attack> {
    let schema = json!({"type": "object", "properties": {"short": {"type": "string", "maxLength": 10}},
        "additionalProperties": false});
    let bad = Upstream::hostile(&Offer::tool("check", &schema))?;
    Ok(Attack::request(post).with_server(bad.entry("bad"), bad))
}
