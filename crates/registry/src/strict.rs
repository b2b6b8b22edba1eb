//! Checks a document against the rules of its format, entry by entry, so that each fault has its location.
//!
//! The schemas under `schemas/` are this project's wording of each format's rules; a test compares their verdicts with
//! the published schemas. Rules that no schema expresses (a version that is a range, an icon without https) are in
//! `rules`.

mod rules;

use std::sync::LazyLock;

use toolcrib_contract::json::{Limits, Node, OwnedDocument, Pointer};
use toolcrib_contract::{Definition, Schema, SchemaOptions, Violations};

use crate::PUBLISHER_KEY;
use crate::extension::{self, DEFINITIONS};
use crate::format::Format;
use crate::issue::{Fault, Issue, Report};
use crate::known::Known;
use crate::spread::in_order;
use crate::toolhive::Kind;

/// Compiled schema, and its text to explain violations.
struct Rules {
    text: OwnedDocument,
    schema: Schema,
}

impl Rules {
    fn compiled(text: &str) -> Option<Self> {
        let text = OwnedDocument::parse(text, &Limits::definition()).ok()?;
        let schema = Schema::compile(text.root(), &SchemaOptions::default().asserting_formats(true)).ok()?;
        Some(Self { text, schema })
    }

    fn check(&self, node: Node<'_>) -> Result<(), Violations> {
        self.schema.check(self.text.root(), node)
    }
}

macro_rules! schemas {
    ($($name:ident = $file:literal;)*) => {
        $(static $name: LazyLock<Option<Rules>> = LazyLock::new(|| Rules::compiled(include_str!(concat!("../schemas/", $file))));)*
        #[cfg(test)]
        fn every_schema() -> Vec<(&'static str, bool)> {
            vec![$(($file, $name.is_some())),*]
        }
    };
}

schemas! {
    SERVER = "server.json";
    EXTENSION = "extension.json";
    UPSTREAM = "upstream.json";
    TOOLHIVE = "toolhive.json";
    IMAGE = "toolhive-image.json";
    REMOTE = "toolhive-remote.json";
    TOOLS = "tools.json";
}

/// Returns every fault of a document in `format`.
#[must_use]
pub fn check(format: Format, root: Node<'_>) -> Report {
    let (mut report, known) = (Report::default(), Known::default());
    match format {
        Format::Server => server(root, &Pointer::root(), &known, &mut report),
        Format::Upstream => upstream(root, &known, &mut report),
        Format::Toolhive => toolhive(root, &known, &mut report),
        Format::Tools => tools(root, &known, &mut report),
    }
    report
}

fn against(rules: &LazyLock<Option<Rules>>, node: Node<'_>, place: &Pointer, report: &mut Report) {
    let Some(rules) = rules.as_ref() else { return };
    let Err(violations) = rules.check(node) else { return };
    for violation in violations.as_slice() {
        let pointer =
            Pointer::from_escaped(format!("{}{}", place.as_str(), violation.instance_path.as_str()));
        let line = violation.one_line();
        let rule = line.strip_prefix(&format!("{}: ", violation.instance_path)).unwrap_or(&line).to_owned();
        report.push(Issue::new(pointer, Fault::Schema { rule }));
    }
}

fn server(node: Node<'_>, place: &Pointer, known: &Known, report: &mut Report) {
    against(&SERVER, node, place, report);
    rules::server(node, place, report);
    let publisher = place.join("_meta").join(PUBLISHER_KEY);
    if let Some(provided) = node.get("_meta").and_then(|meta| meta.get(PUBLISHER_KEY)) {
        against(&EXTENSION, provided, &publisher, report);
    }
    match extension::block(node) {
        Ok(Some((key, block))) => {
            let own = Pointer::from_escaped(format!("{}{}", place.as_str(), extension::place(&key).as_str()));
            definitions(block.get(DEFINITIONS), &own.join(DEFINITIONS), known, report);
        }
        Ok(None) => {}
        Err(fault) => report.note(place.join("_meta"), fault),
    }
}

fn upstream(root: Node<'_>, known: &Known, report: &mut Report) {
    against(&UPSTREAM, root, &Pointer::root(), report);
    let mut seen = std::collections::HashSet::new();
    let place = Pointer::root().join("data").join("servers");
    let servers = root.get("data").and_then(|data| data.get("servers"));
    let servers: Vec<(usize, Node<'_>)> = servers.into_iter().flat_map(Node::elements).enumerate().collect();
    let found = in_order(&servers, root.raw().len(), |(index, own)| {
        let mut found = Report::default();
        server(*own, &place.join(index.to_string()), known, &mut found);
        found
    });
    for ((index, own), found) in servers.into_iter().zip(found) {
        let place = place.join(index.to_string());
        report.absorb(&Pointer::root(), found);
        let text = |key: &str| own.get(key).and_then(Node::as_str).unwrap_or_default().into_owned();
        let (name, version) = (text("name"), text("version"));
        if !seen.insert((name.clone(), version.clone())) {
            report.note(place, Fault::DuplicateServer { name, version });
        }
    }
}

fn toolhive(root: Node<'_>, known: &Known, report: &mut Report) {
    if root.get("image").is_some() || (root.get("url").is_some() && root.get("servers").is_none()) {
        entry(Kind::of(root), root, &Pointer::root(), known, report);
        return;
    }
    against(&TOOLHIVE, root, &Pointer::root(), report);
    let groups = root.get("groups").into_iter().flat_map(Node::elements).enumerate();
    let groups = groups.map(|(index, group)| (group, Pointer::root().join("groups").join(index.to_string())));
    let mut entries = Vec::new();
    for (holder, place) in std::iter::once((root, Pointer::root())).chain(groups) {
        for kind in [Kind::Image, Kind::Remote] {
            let place = place.join(kind.member());
            let members = holder.get(kind.member()).into_iter().flat_map(Node::members);
            entries.extend(members.map(|(key, value)| (kind, place.clone(), key, value)));
        }
    }
    let found = in_order(&entries, root.raw().len(), |(kind, place, key, value)| {
        let mut found = Report::default();
        let key = key.as_str().unwrap_or_default();
        let place = place.join(&key);
        if rules::is_toolhive_key(&key) {
            entry(*kind, *value, &place, known, &mut found);
        } else {
            let rule = "a key has 3 or more of a-z, 0-9 and -, and neither begins nor ends with -".to_owned();
            found.note(place, Fault::Schema { rule });
        }
        found
    });
    for found in found {
        report.absorb(&Pointer::root(), found);
    }
}

fn entry(kind: Kind, node: Node<'_>, place: &Pointer, known: &Known, report: &mut Report) {
    match kind {
        Kind::Image => against(&IMAGE, node, place, report),
        Kind::Remote => against(&REMOTE, node, place, report),
    }
    definitions(node.get(DEFINITIONS), &place.join(DEFINITIONS), known, report);
}

fn tools(root: Node<'_>, known: &Known, report: &mut Report) {
    if root.is_array() {
        definitions(Some(root), &Pointer::root(), known, report);
    } else if root.get("tools").is_none() && root.get("name").is_some() {
        definition(root, &Pointer::root(), known, report);
    } else {
        let (root, place) = match root.get("result") {
            Some(result) if root.get("tools").is_none() => (result, Pointer::root().join("result")),
            _ => (root, Pointer::root()),
        };
        against(&TOOLS, root, &place, report);
        definitions(root.get("tools"), &place.join("tools"), known, report);
    }
}

/// Notes invalid definitions, repeated names, and invalid schemas.
fn definitions(list: Option<Node<'_>>, place: &Pointer, known: &Known, report: &mut Report) {
    let mut seen = std::collections::HashSet::new();
    for (index, node) in list.into_iter().flat_map(Node::elements).enumerate() {
        let place = place.join(index.to_string());
        if let Some(name) = definition(node, &place, known, report)
            && !seen.insert(name.clone())
        {
            report.note(place, Fault::DuplicateTool { name });
        }
    }
}

fn definition(node: Node<'_>, place: &Pointer, known: &Known, report: &mut Report) -> Option<String> {
    let definition = match Definition::from_node(node) {
        Ok(definition) => definition,
        Err(error) => {
            report.note(place.clone(), Fault::Definition(error));
            return None;
        }
    };
    known.note(&definition, place, report);
    Some(definition.name().to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_schema_of_ours_compiles() {
        assert!(super::every_schema().iter().all(|(_, compiled)| *compiled), "{:?}", super::every_schema());
    }
}
