//! Values that violate a schema in a way that is costly to explain.

use anyhow::Result;
use serde_json::{Value, json};

use crate::case::{Attack, Case};
use crate::client::Post;
use crate::upstream::{Offer, Upstream};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("explanations", "notion-blocks", |setting| {
            // 13.7 KB of blocks; the innermost ones are wrong.
            refused(&notion(), &blocks(setting.size(3, 1)))
        }),
        Case::new("explanations", "notion-blocks-in-output", |setting| {
            output(&notion(), &blocks(setting.size(3, 1)))
        }),
        Case::new("explanations", "eight-equal-branches", |setting| {
            refused(&eight_branches(), &nested(setting.size(9, 3)))
        }),
        Case::new("explanations", "eight-equal-branches-in-output", |setting| {
            output(&eight_branches(), &nested(setting.size(9, 3)))
        }),
    ]
}

/// Attack: calls a tool that has this input schema with these arguments.
pub(super) fn refused(schema: &Value, arguments: &str) -> Result<Attack> {
    let bad = Upstream::hostile(&Offer::tool("check", schema))?;
    let post = Post::call_text("bad__check", arguments);
    Ok(Attack::request(post).with_server(bad.entry("bad"), bad))
}

/// Attack: calls a tool that has this output schema and whose server answers with this structured content.
pub(super) fn output(schema: &Value, content: &str) -> Result<Attack> {
    let tool = json!({"name": "check", "inputSchema": {"type": "object"}, "outputSchema": schema,
        "annotations": {"readOnlyHint": true}});
    let offer =
        Offer { tools: vec![tool], result: format!("\"structuredContent\":{content}"), ..Offer::default() };
    let bad = Upstream::hostile(&offer)?;
    let post = Post::call_text("bad__check", "{}");
    Ok(Attack::request(post).with_server(bad.entry("bad"), bad))
}

/// Schema of ten kinds of block, each with optional children: 1.9 KB.
fn notion() -> Value {
    let kinds = [
        "paragraph",
        "heading",
        "bulleted_list_item",
        "numbered_list_item",
        "to_do",
        "toggle",
        "quote",
        "callout",
        "column",
        "synced_block",
    ];
    let variant = |kind: &&str| {
        json!({"type": "object", "properties": {"type": {"const": kind}, "text": {"type": "string", "maxLength": 2000},
            "children": {"type": "array", "items": {"$ref": "#/$defs/block"}}}, "required": ["type"]})
    };
    json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/block"}}},
        "required": ["children"],
        "$defs": {"block": {"anyOf": kinds.iter().map(variant).collect::<Vec<_>>()}}})
}

/// Four blocks with four children each, `depth` levels deep; the innermost ones have a number instead of each text.
fn blocks(depth: usize) -> String {
    format!("{{\"children\":[{}]}}", vec![block(depth); 4].join(","))
}

fn block(depth: usize) -> String {
    match depth {
        0 => r#"{"type":"paragraph","text":7,"id":12345678}"#.to_owned(),
        _ => format!("{{\"type\":\"toggle\",\"children\":[{}]}}", vec![block(depth - 1); 4].join(",")),
    }
}

/// Schema with eight equal recursive branches: 875 bytes.
pub(super) fn eight_branches() -> Value {
    let branch = json!({"type": "object", "title": "A branch", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"]});
    json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"anyOf": vec![branch; 8]}}})
}

/// Returns `{"a":{"a":…777…}}`.
pub(super) fn nested(depth: usize) -> String {
    "{\"a\":".repeat(depth) + "777" + &"}".repeat(depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attacks_have_the_sizes_of_their_description() {
        let near = |what: &str, bytes: usize, wanted: usize| {
            assert!(bytes.abs_diff(wanted) * 5 <= wanted, "{what}: {bytes} bytes, not {wanted}");
        };
        near("schema of blocks", notion().to_string().len(), 1_900);
        near("blocks", blocks(3).len(), 13_700);
        near("eight branches", eight_branches().to_string().len(), 875);
        near("nested", nested(9).len(), 57);
    }
}
