//! Conversion of content blocks: a block unknown to an older revision becomes a text block that names it.

use std::borrow::Cow;

use toolcrib_contract::json::{Node, ObjectWriter};

use crate::revision::Revision;

/// Converts one block for the revision; borrowed if nothing changes.
#[must_use]
pub fn block<'a>(node: Node<'a>, revision: Revision) -> Cow<'a, str> {
    let text = |name: &str| node.get(name).and_then(toolcrib_contract::json::Node::as_str);
    match text("type").as_deref() {
        Some("audio") if !revision.has_audio() => {
            let media = text("mimeType").unwrap_or(Cow::Borrowed("unknown type"));
            Cow::Owned(text_block(&format!("[audio, {media}]")))
        }
        Some("resource_link") if !revision.has_resource_links() => {
            let uri = text("uri").unwrap_or_default();
            let named = match text("name") {
                Some(name) => format!("[resource {name}: {uri}]"),
                None => format!("[resource: {uri}]"),
            };
            Cow::Owned(text_block(&named))
        }
        _ => Cow::Borrowed(node.raw()),
    }
}

/// `true` if no block of the array has to change for the revision.
#[must_use]
pub fn all_known(blocks: Node<'_>, revision: Revision) -> bool {
    (revision.has_audio() && revision.has_resource_links())
        || blocks.elements().all(|node| matches!(block(node, revision), Cow::Borrowed(_)))
}

/// Converts an array of blocks for the revision; borrowed if nothing changes.
#[must_use]
pub fn blocks<'a>(array: Node<'a>, revision: Revision) -> Cow<'a, str> {
    if all_known(array, revision) {
        return Cow::Borrowed(array.raw());
    }
    let parts: Vec<Cow<'_, str>> = array.elements().map(|node| block(node, revision)).collect();
    Cow::Owned(format!("[{}]", parts.join(",")))
}

/// Returns a text block.
#[must_use]
pub fn text_block(text: &str) -> String {
    let mut object = ObjectWriter::new();
    object.string("type", "text").string("text", text);
    object.finish()
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    #[test]
    fn old_revisions_get_the_name_of_what_they_cannot_show() {
        let text = r#"[{"type":"audio","data":"eA==","mimeType":"audio/wav"},{"type":"resource_link","uri":"a://b","name":"n"},{"type":"text","text":"t","x":1}]"#;
        let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
        assert_eq!(blocks(document.root(), Revision::V2025_11_25), text);
        let old = blocks(document.root(), Revision::V2024_11_05);
        assert_eq!(
            old,
            r#"[{"type":"text","text":"[audio, audio/wav]"},{"type":"text","text":"[resource n: a://b]"},{"type":"text","text":"t","x":1}]"#
        );
        assert!(blocks(document.root(), Revision::V2025_03_26).contains("\"audio\""));
    }
}
