//! URIs that are costly to match against a server's templates.

use anyhow::Result;
use serde_json::json;

use crate::case::{Attack, Case};
use crate::client::Post;
use crate::upstream::{Offer, Upstream};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("templates", "six-variables", |_| {
            read("a://{a}a{b}a{c}a{d}a{e}a{f}ax", &format!("a://{}", "a".repeat(96)))
        }),
        Case::new("templates", "six-rest-variables", |_| {
            read("a://{+a}a{+b}a{+c}a{+d}a{+e}a{+f}ax", &format!("a://{}", "a".repeat(96)))
        }),
        Case::new("templates", "nine-variables", |_| {
            read("a://{a}a{b}a{c}a{d}a{e}a{f}a{g}a{h}a{i}ax", &format!("a://{}", "a".repeat(96)))
        }),
        Case::new("templates", "long-profile", |setting| {
            read("a://{id}-profile", &format!("a://{}", "-profile".repeat(setting.size(60_000, 600))))
        }),
    ]
}

/// Attack: reads this URI behind a server with this template.
fn read(template: &str, uri: &str) -> Result<Attack> {
    let bad = Upstream::hostile(&Offer::template(template))?;
    let mut post = Post::modern("resources/read", &json!({"uri": uri}));
    if uri.len() > 8_000 {
        // Too long for a header, so it is sent in the revision without that header.
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}});
        post = Post::legacy(body.to_string());
    }
    Ok(Attack::request(post).with_server(bad.entry("bad"), bad))
}
