//! Slots: the places in a document where patches are carried, which the format's own schema leaves free.
//!
//! A slot is an object with one member per direction that it restores, and `made`, the number of containers that were
//! created to hold it. Where a value that is no object stood in the way, `displaced` is that value. Removing the slot
//! with these containers restores the document.

use toolcrib_contract::json::{Node, ObjectWriter, write_string};

use crate::PUBLISHER_KEY;

/// Toolcrib's own key.
pub(crate) const OWN_KEY: &str = "dev.toolcrib";
const MADE: &str = "made";
const DISPLACED: &str = "displaced";

/// Path of a slot in one kind of document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot(&'static [&'static str]);

/// In server.json: beside `io.github.stacklok`, among the namespaces of publishers.
pub(crate) const SERVER: Slot = Slot(&["_meta", PUBLISHER_KEY, OWN_KEY]);
/// In a ToolHive entry: `custom_metadata` is free.
pub(crate) const ENTRY: Slot = Slot(&["custom_metadata", OWN_KEY]);
/// In a `tools/list` result: `_meta` is free.
pub(crate) const TOOLS: Slot = Slot(&["_meta", OWN_KEY]);
/// At the root of a file: both schemas allow unknown members.
pub(crate) const FILE: Slot = Slot(&["x-toolcrib"]);

impl Slot {
    /// Returns the slot's object.
    pub(crate) fn find<'d>(self, document: Node<'d>) -> Option<Node<'d>> {
        self.0.iter().try_fold(document, |node, key| node.get(key)).filter(|slot| slot.is_object())
    }

    /// Returns the payload carried under `key`.
    pub(crate) fn carried<'d>(self, document: Node<'d>, key: &str) -> Option<Node<'d>> {
        self.find(document)?.get(key)
    }

    /// Returns the document without the payload under `key`.
    pub(crate) fn without(self, document: Node<'_>, key: &str) -> String {
        let Some(slot) = self.find(document).filter(|slot| slot.get(key).is_some()) else {
            return document.to_compact();
        };
        let made = slot.get(MADE).and_then(Node::as_u64).unwrap_or(0);
        let mut rest = ObjectWriter::new();
        let mut others = false;
        for (name, value) in slot.members().filter(|(name, _)| !name.is_text(key)) {
            others |= !name.is_text(MADE) && !name.is_text(DISPLACED);
            rest.copy(name, value);
        }
        let rest = others.then(|| rest.finish());
        // The innermost `made` containers are removed with the slot if they have no other members.
        let removable = usize::try_from(made).unwrap_or(0).min(self.0.len().saturating_sub(1));
        let firm = self.0.len().saturating_sub(1 + removable);
        if let (Some(displaced), None, Some(path)) = (slot.get(DISPLACED), &rest, self.0.get(..=firm))
            && self.is_alone(document, firm)
        {
            return replaced(document, path, Some(&displaced.to_compact()), 0).unwrap_or_default();
        }
        replaced(document, self.0, rest.as_deref(), removable).unwrap_or_else(|| "{}".to_owned())
    }

    /// Returns the document with `payload` carried under `key`.
    pub(crate) fn with(self, document: Node<'_>, key: &str, payload: &str) -> String {
        if let Some(slot) = self.find(document) {
            let mut out = ObjectWriter::new();
            for (name, value) in slot.members().filter(|(name, _)| !name.is_text(key)) {
                out.copy(name, value);
            }
            out.raw(key, payload);
            return replaced(document, self.0, Some(&out.finish()), 0).unwrap_or_default();
        }
        let (mut firm, mut displaced, mut node) = (0, None, document);
        for key in self.0 {
            match node.get(key) {
                Some(container) if container.is_object() => (firm, node) = (firm + 1, container),
                other => {
                    displaced = other;
                    break;
                }
            }
        }
        let made = self.0.len().saturating_sub(1).saturating_sub(firm);
        let mut out = ObjectWriter::new();
        out.raw(MADE, &made.to_string());
        if let Some(displaced) = displaced {
            out.raw(DISPLACED, &displaced.to_compact());
        }
        out.raw(key, payload);
        replaced(document, self.0, Some(&out.finish()), 0).unwrap_or_default()
    }

    /// Returns true if the containers of the path after the first `firm` hold nothing but the slot.
    fn is_alone(self, document: Node<'_>, firm: usize) -> bool {
        let mut node = Some(document);
        self.0.iter().enumerate().all(|(depth, key)| {
            let is_alone = depth <= firm || node.is_some_and(|container| container.len() == 1);
            node = node.and_then(|container| container.get(key));
            is_alone
        })
    }
}

/// Replaces, adds or removes the value at `path`. Returns `None` if a removable container is left empty.
pub(crate) fn replaced(
    node: Node<'_>,
    path: &[&str],
    value: Option<&str>,
    removable: usize,
) -> Option<String> {
    let mut out = String::with_capacity(node.raw().len() + value.map_or(0, str::len) + SLOT_BYTES);
    write_replaced(node, path, value, removable, &mut out).then_some(out)
}

/// Extra capacity for the keys of created containers.
const SLOT_BYTES: usize = 128;

/// Writes into one buffer, so that a container is not copied once per container around it. Returns false, with nothing
/// written, if nothing is left.
fn write_replaced(
    node: Node<'_>,
    path: &[&str],
    value: Option<&str>,
    removable: usize,
    out: &mut String,
) -> bool {
    let Some((first, rest)) = path.split_first() else {
        out.push_str(value.unwrap_or_default());
        return value.is_some();
    };
    let start = out.len();
    out.push('{');
    let (mut found, mut empty) = (false, true);
    for (key, member) in node.members() {
        let before = out.len();
        if !empty {
            out.push(',');
        }
        if key.is_text(first) {
            found = true;
            write_string(out, first);
            out.push(':');
            // A container is removable by its distance from the slot.
            if write_replaced(member, rest, value, removable, out) {
                empty = false;
            } else {
                out.truncate(before);
            }
        } else {
            out.push_str(key.raw());
            out.push(':');
            member.write_compact(out);
            empty = false;
        }
    }
    if !found && let Some(value) = value {
        if !empty {
            out.push(',');
        }
        write_string(out, first);
        out.push(':');
        for key in rest {
            out.push('{');
            write_string(out, key);
            out.push(':');
        }
        out.push_str(value);
        out.extend(rest.iter().map(|_| '}'));
        empty = false;
    }
    out.push('}');
    let stays = !empty || path.len() > removable;
    if !stays {
        out.truncate(start);
    }
    stays
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    fn edited(text: &str, edit: impl FnOnce(Node<'_>) -> String) -> String {
        edit(Document::parse(text.as_bytes(), &Limits::file()).unwrap().root())
    }

    /// R6.3: removing a slot restores the document, whichever containers it had.
    #[test]
    fn a_slot_leaves_no_trace() {
        let publisher = format!(r#"{{"name":"x","_meta":{{"{PUBLISHER_KEY}":{{}}}}}}"#);
        for text in [
            r#"{"name":"x"}"#,
            r#"{"_meta":{},"name":"x"}"#,
            r#"{"_meta":{"a":1}}"#,
            &publisher,
            "{}",
            r#"{"_meta":0,"name":"x"}"#,
            r#"{"_meta":[1],"custom_metadata":null}"#,
            r#"{"x-toolcrib":"mine"}"#,
            r#"{"_meta":{"dev.toolcrib":1.50,"a":2}}"#,
        ] {
            for slot in [SERVER, ENTRY, TOOLS, FILE] {
                let once = edited(text, |node| slot.with(node, "a", r#"{"drop":{}}"#));
                let twice = edited(&once, |node| slot.with(node, "b", "{}"));
                assert_eq!(edited(&twice, |node| slot.without(node, "b")), once);
                assert_eq!(edited(&once, |node| slot.without(node, "a")), text);
                assert!(edited(&twice, |node| slot.carried(node, "b").unwrap().to_compact()) == "{}");
            }
        }
    }
}
