//! Callers of a tool besides the model: programs that the model writes (R10.1).
//!
//! Guarantees: if there are toolsets, only read-only tools of programmatic toolsets carry `allowed_callers`, and only
//! for clients whose vendor has such callers; tools that write, are unannotated or return binary never do, whatever
//! they claim. Internally the caller is the neutral [`CODE_EXECUTION`]; a table has each vendor's names for it.

use std::collections::BTreeMap;

use toolcrib_contract::json::{Document, Limits, Node, ObjectWriter};
use toolcrib_protocol::write;

use crate::entry::Entry;

/// Member of a tool's definition, and key in its `_meta` after the vendor's prefix.
const MEMBER: &str = "allowed_callers";

/// Neutral name of the caller: a program that the model wrote. Each vendor has its own names for it.
pub const CODE_EXECUTION: &str = "code_execution";

/// Key of `_meta` with which a tool declares that it returns binary content.
pub const RETURNS_BINARY: &str = "toolcrib/returnsBinary";

/// Vendor whose names for callers are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Vendor {
    Anthropic,
    OpenAi,
}

impl Vendor {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }
}

/// Each vendor's names for the callers of a tool that may be called from code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerTable(BTreeMap<Box<str>, Vec<Box<str>>>);

impl Default for CallerTable {
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|name| (*name).into()).collect();
        Self(BTreeMap::from([
            ("anthropic".into(), names(&["direct", "code_execution_20260120"])),
            ("openai".into(), names(&["direct", "programmatic"])),
        ]))
    }
}

impl CallerTable {
    /// Replaces one vendor's names.
    pub fn set(&mut self, vendor: &str, names: Vec<Box<str>>) {
        self.0.insert(vendor.into(), names);
    }

    /// Returns a vendor's names as a JSON array; `None` if it has none.
    #[must_use]
    pub fn render(&self, vendor: Vendor) -> Option<String> {
        let names = self.0.get(vendor.name()).filter(|names| !names.is_empty())?;
        let quoted: Vec<String> = names.iter().map(|name| write::quoted(name)).collect();
        Some(format!("[{}]", quoted.join(",")))
    }
}

/// Returns true if the tool may be called from code, provided that one of its toolsets is programmatic.
#[must_use]
pub fn is_callable_from_code(entry: &Entry) -> bool {
    let contract = entry.contract();
    let says_read_only = contract.annotations().hints.read_only == Some(true);
    says_read_only && entry.judged().effect.read_only && !returns_binary(entry)
}

fn returns_binary(entry: &Entry) -> bool {
    let definition = entry.contract().definition();
    let said = definition.get("_meta").and_then(|meta| meta.get(RETURNS_BINARY)).and_then(Node::as_bool);
    said.unwrap_or_else(|| definition.output_schema().is_some_and(holds_encoded))
}

/// Returns true if a schema has `contentEncoding` or `contentMediaType` anywhere.
fn holds_encoded(node: Node<'_>) -> bool {
    let here = ["contentEncoding", "contentMediaType"].into_iter().any(|key| node.get(key).is_some());
    here || node.members().any(|(_, value)| holds_encoded(value)) || node.elements().any(holds_encoded)
}

/// Returns a tool's definition as raw JSON with these callers in place of its own claims; `None` if nothing changes.
#[must_use]
pub fn with_callers(raw: &str, callers: Option<(Vendor, &str)>) -> Option<String> {
    // Shortcut: most definitions have no such member. An escape could hide its name, so those are parsed.
    if callers.is_none() && !raw.contains(MEMBER) && !raw.contains("\\u") {
        return None;
    }
    let document = Document::parse(raw.as_bytes(), &Limits::definition()).ok()?;
    let root = document.root();
    let claims = |name: &Node<'_>| name.as_str().is_some_and(|name| name.ends_with("/allowed_callers"));
    let old_meta = root.get("_meta");
    let has_own = root.get(MEMBER).is_some()
        || old_meta.into_iter().flat_map(Node::members).any(|(name, _)| claims(&name));
    if callers.is_none() && !has_own {
        return None;
    }
    let mut object = ObjectWriter::new();
    for (name, value) in root.members() {
        if !name.is_text(MEMBER) && !name.is_text("_meta") {
            object.copy(name, value);
        }
    }
    let mut meta = ObjectWriter::new();
    for (name, value) in old_meta.into_iter().flat_map(Node::members).filter(|(name, _)| !claims(name)) {
        meta.copy(name, value);
    }
    if let Some((vendor, callers)) = callers {
        object.raw(MEMBER, callers);
        meta.raw(&format!("{}/{MEMBER}", vendor.name()), callers);
    }
    let meta = meta.finish();
    if meta != "{}" || (callers.is_none() && old_meta.is_some_and(Node::is_empty)) {
        object.raw("_meta", &meta);
    }
    Some(object.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R10.1: callers are rendered per vendor from a table, into the tool and its `_meta`.
    #[test]
    fn callers_stand_in_the_tool_and_in_meta() {
        let mut table = CallerTable::default();
        assert_eq!(table.render(Vendor::OpenAi).as_deref(), Some(r#"["direct","programmatic"]"#));
        table.set("anthropic", vec!["code_execution_20260521".into()]);
        let callers = table.render(Vendor::Anthropic);
        let raw = r#"{"name":"a","_meta":{"k":0.60},"x":1}"#;
        assert_eq!(
            with_callers(raw, callers.as_deref().map(|names| (Vendor::Anthropic, names))).unwrap(),
            r#"{"name":"a","x":1,"allowed_callers":["code_execution_20260521"],"_meta":{"k":0.60,"anthropic/allowed_callers":["code_execution_20260521"]}}"#
        );
        table.set("anthropic", Vec::new());
        assert_eq!(table.render(Vendor::Anthropic), None);
    }

    /// R10.1: the tool's own claim is removed if it is not allowed.
    #[test]
    fn a_claim_that_may_not_stand_is_taken_out() {
        let raw = r#"{"name":"a","allowed_callers":["direct"]}"#;
        assert_eq!(with_callers(raw, None).unwrap(), r#"{"name":"a"}"#);
        let raw = r#"{"name":"a","_meta":{"openai/allowed_callers":["programmatic"],"k":1}}"#;
        assert_eq!(with_callers(raw, None).unwrap(), r#"{"name":"a","_meta":{"k":1}}"#);
        let escaped = r#"{"name":"a","allowed\u005fcallers":["direct"]}"#;
        assert_eq!(with_callers(escaped, None).unwrap(), r#"{"name":"a"}"#);
        assert_eq!(with_callers(r#"{"name":"a"}"#, None), None);
    }
}
