//! Keeps `tools` equal to the names of `tool_definitions` (R6.4): if both exist, definitions win.
//!
//! An empty list of definitions is no mismatch: it means that nobody has captured them.

use std::collections::HashSet;

use toolcrib_contract::json::{Node, Pointer};

use crate::block::blocks;
use crate::edit::{Edit, Edits, edited};
use crate::extension::DEFINITIONS;
use crate::format::Format;
use crate::issue::{Fault, Report};

const TOOLS: &str = "tools";

/// Mismatch between a list of names and its definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Location of the list, or where it should be.
    pub pointer: Pointer,
    /// Names that are defined but not listed.
    pub missing: Vec<String>,
    /// Names that are listed but not defined.
    pub extra: Vec<String>,
    names: Vec<String>,
}

/// Returns every mismatch of a document.
#[must_use]
pub fn mismatches(format: Format, root: Node<'_>) -> Vec<Mismatch> {
    blocks(format, root).into_iter().filter_map(|(place, block)| mismatch(&place, block)).collect()
}

fn mismatch(place: &Pointer, block: Node<'_>) -> Option<Mismatch> {
    let defined =
        names(block.get(DEFINITIONS)?, |tool| tool.get("name")?.as_str().map(std::borrow::Cow::into_owned));
    if defined.is_empty() {
        return None;
    }
    let listed = block
        .get(TOOLS)
        .map_or_else(Vec::new, |list| names(list, |name| name.as_str().map(std::borrow::Cow::into_owned)));
    if sorted(&listed) == sorted(&defined) {
        return None;
    }
    let without = |these: &[String], those: &[String]| -> Vec<String> {
        let those: HashSet<&String> = those.iter().collect();
        these.iter().filter(|name| !those.contains(name)).cloned().collect()
    };
    let (missing, extra) = (without(&defined, &listed), without(&listed, &defined));
    Some(Mismatch { pointer: place.join(TOOLS), missing, extra, names: defined })
}

fn sorted(names: &[String]) -> Vec<&String> {
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort();
    sorted
}

fn names(list: Node<'_>, name: impl Fn(Node<'_>) -> Option<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let all = list.elements().filter_map(name);
    all.filter(|name| seen.insert(name.clone())).collect()
}

/// Returns a report of the mismatches.
#[must_use]
pub fn lint(format: Format, root: Node<'_>) -> Report {
    let mut report = Report::default();
    for found in mismatches(format, root) {
        let fault = Fault::OutOfSync { missing: found.missing.len(), extra: found.extra.len() };
        report.note(found.pointer, fault);
    }
    report
}

/// Returns the document with every list of names repaired, and the mismatches that were repaired.
#[must_use]
pub fn repaired(format: Format, root: Node<'_>) -> (String, Vec<Mismatch>) {
    let found = mismatches(format, root);
    let edits: Edits = found
        .iter()
        .map(|mismatch| {
            let list = serde_json::Value::from(mismatch.names.clone()).to_string();
            (mismatch.pointer.clone(), Edit::Set(list))
        })
        .collect();
    (edited(root, &edits), found)
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    fn parsed<T>(text: &str, then: impl FnOnce(Node<'_>) -> T) -> T {
        then(Document::parse(text.as_bytes(), &Limits::file()).unwrap().root())
    }

    const FILE: &str = r#"{"servers":{"abc":{"image":"i","tools":["x","old"],"tool_definitions":[{"name":"x"},{"name":"y"}]},"names":{"tools":["only"]},"empty":{"tools":["kept"],"tool_definitions":[]}},"groups":[{"servers":{"def":{"tool_definitions":[{"name":"z"}],"n":1.0}}}]}"#;

    /// R6.4: a mismatch is reported with both sides; names only, and empty definitions, are no mismatch.
    #[test]
    fn a_mismatch_is_reported_by_place() {
        let found = parsed(FILE, |root| mismatches(Format::Toolhive, root));
        let shown: Vec<_> =
            found.iter().map(|m| (m.pointer.as_str(), m.missing.clone(), m.extra.clone())).collect();
        assert_eq!(
            shown,
            [
                ("/servers/abc/tools", vec!["y".to_owned()], vec!["old".to_owned()]),
                ("/groups/0/servers/def/tools", vec!["z".to_owned()], vec![]),
            ]
        );
    }

    /// R6.4: the repair sets the names to those of the definitions, touches nothing else, and is complete after one
    /// run.
    #[test]
    fn a_repair_changes_the_names_alone() {
        let (text, found) = parsed(FILE, |root| repaired(Format::Toolhive, root));
        assert_eq!(found.len(), 2);
        let expected =
            FILE.replace(r#"["x","old"]"#, r#"["x","y"]"#).replace(r#""n":1.0"#, r#""n":1.0,"tools":["z"]"#);
        assert_eq!(text, expected);
        assert!(parsed(&text, |root| mismatches(Format::Toolhive, root)).is_empty());
    }
}
