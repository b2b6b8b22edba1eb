//! Controls without an attack: show how much the machine's own noise affects the figures.

use std::time::Duration;

use serde_json::json;

use crate::case::{Attack, Case};
use crate::client::Post;
use crate::upstream::{Offer, Upstream};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("control", "nothing", |_| {
            Ok(Attack::storm(|_, phase| {
                phase.pause(Duration::from_secs(60));
                Ok(0)
            }))
        }),
        // Calls of 1 MiB that are accepted and forwarded.
        Case::new("control", "ordinary-large-calls", |setting| {
            let other = Upstream::hostile(&Offer::tool("echo", &json!({"type": "object"})))?;
            let arguments = json!({"text": "x".repeat(setting.size(1 << 20, 1 << 14))});
            Ok(Attack::request(Post::call_text("other__echo", &arguments.to_string()))
                .with_server(other.entry("other"), other))
        }),
        // Ordinary callers at the rate of the attackers.
        Case::new("control", "ordinary-callers", |_| {
            let other = Upstream::hostile(&Offer::tool("echo", &json!({"type": "object"})))?;
            let post = Post::modern("tools/call", &json!({"name": "other__echo", "arguments": {}}));
            Ok(Attack::request(post).with_server(other.entry("other"), other))
        }),
    ]
}
