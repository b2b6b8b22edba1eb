//! A ToolHive file ⇄ an upstream file.

use std::collections::HashSet;

use toolcrib_contract::json::{Node, ObjectWriter, Pointer};

use super::{entry, kind, object, payload, read, restored, to_carry};
use crate::carry::slot::{self, replaced};
use crate::issue::{Fault, Issue, Report};
use crate::toolhive::Kind;
use crate::{EPOCH, TOOLHIVE_SCHEMA, UPSTREAM_SCHEMA};

const TOOLHIVE: &str = "toolhive";
const UPSTREAM: &str = "upstream";
/// The version of a file whose format has none.
pub(crate) const FILE_VERSION: &str = "1.0.0";

/// What a strict run stops at, a lenient one notes.
pub(crate) fn or_note(issue: Issue, lenient: bool, report: &mut Report) -> Result<(), Issue> {
    if !lenient {
        return Err(issue);
    }
    let reason = issue.fault.to_string();
    report.note(issue.pointer, Fault::LeftOut { reason });
    Ok(())
}

fn at(place: &Pointer, issue: Issue) -> Issue {
    Issue::new(Pointer::from_escaped(format!("{}{}", place.as_str(), issue.pointer.as_str())), issue.fault)
}

/// The upstream file for a ToolHive file.
pub(crate) fn into_upstream(root: Node<'_>, lenient: bool, report: &mut Report) -> Result<String, Issue> {
    let carried = slot::FILE.carried(root, UPSTREAM);
    let plain = slot::FILE.without(root, UPSTREAM);
    let mut servers = Vec::new();
    for kind_ in [Kind::Image, Kind::Remote] {
        let Some(entries) = root.get(kind_.member()) else { continue };
        let place = Pointer::root().join(kind_.member());
        if !entries.is_object() {
            or_note(kind(place, "an object", entries), lenient, report)?;
            continue;
        }
        for (key, value) in entries.members() {
            let key = key.as_str().unwrap_or_default();
            let place = place.join(&key);
            let mut own = Report::default();
            match entry::into_server(&key, kind_, value, false, &mut own) {
                Ok(server) => servers.push(server),
                Err(issue) => or_note(at(&place, issue), lenient, report)?,
            }
            report.absorb(&place, own);
        }
    }
    servers.extend(
        carried.and_then(|own| own.get("whole")).into_iter().flat_map(Node::elements).map(Node::to_compact),
    );
    let servers = reordered(servers, carried);
    let skeleton = read(&plain, upstream_skeleton)?;
    let skeleton = restored(skeleton, carried, report)?;
    let has_remotes = root.get(Kind::Remote.member()).is_some_and(|remotes| !remotes.is_empty());
    let back = read(&skeleton, |skeleton| toolhive_skeleton(skeleton, has_remotes))?;
    let own = read(&plain, bare_toolhive)?;
    let carry = payload([("patch", read(&own, |own| to_carry(&back, own))??)]);
    filled(&skeleton, &servers, carry.map(|carry| (TOOLHIVE, carry)))
}

fn reordered(servers: Vec<String>, carried: Option<Node<'_>>) -> Vec<String> {
    let Some(order) = carried.and_then(|own| own.get("order")).filter(|order| order.len() == servers.len())
    else {
        return servers;
    };
    let mut left: Vec<Option<String>> = servers.into_iter().map(Some).collect();
    let mut out = Vec::with_capacity(left.len());
    for index in order.elements().filter_map(Node::as_u64).filter_map(|index| usize::try_from(index).ok()) {
        out.extend(left.get_mut(index).and_then(Option::take));
    }
    out.extend(left.into_iter().flatten());
    out
}

/// The upstream file with `null` where its servers stand.
fn upstream_skeleton(toolhive: Node<'_>) -> String {
    let text =
        |key: &str, default: &str| toolhive.get(key).map_or_else(|| super::quoted(default), Node::to_compact);
    let mut meta = ObjectWriter::new();
    meta.raw("last_updated", &text("last_updated", EPOCH));
    let mut out = ObjectWriter::new();
    out.string("$schema", UPSTREAM_SCHEMA).raw("version", &text("version", FILE_VERSION));
    out.raw("meta", &meta.finish()).raw("data", r#"{"servers":null}"#);
    out.finish()
}

/// The ToolHive file with `null` where its entries stand.
fn toolhive_skeleton(upstream: Node<'_>, has_remotes: bool) -> String {
    let text = |value: Option<Node<'_>>, default: &str| {
        value.map_or_else(|| super::quoted(default), Node::to_compact)
    };
    let mut out = ObjectWriter::new();
    out.string("$schema", TOOLHIVE_SCHEMA).raw("version", &text(upstream.get("version"), FILE_VERSION));
    out.raw("last_updated", &text(upstream.get("meta").and_then(|meta| meta.get("last_updated")), EPOCH));
    out.raw(Kind::Image.member(), "null");
    if has_remotes {
        out.raw(Kind::Remote.member(), "null");
    }
    out.finish()
}

fn bare_toolhive(root: Node<'_>) -> String {
    let mut out = ObjectWriter::new();
    for (key, value) in root.members() {
        let entries = key.is_text(Kind::Image.member()) || key.is_text(Kind::Remote.member());
        if entries && value.is_object() {
            out.raw(&key.as_str().unwrap_or_default(), "null");
        } else {
            out.copy(key, value);
        }
    }
    out.finish()
}

/// An upstream file with `null` where its servers stand.
pub(crate) fn bare_upstream(root: Node<'_>) -> String {
    replaced(root, &["data", "servers"], Some("null"), 0).unwrap_or_default()
}

/// The skeleton with its servers, and what it carries.
pub(crate) fn filled(
    skeleton: &str,
    servers: &[String],
    carry: Option<(&str, String)>,
) -> Result<String, Issue> {
    let list = format!("[{}]", servers.join(","));
    let text = read(skeleton, |skeleton| {
        replaced(skeleton, &["data", "servers"], Some(&list), 0).unwrap_or_default()
    })?;
    match carry {
        None => Ok(text),
        Some((key, carry)) => read(&text, |node| slot::FILE.with(node, key, &carry)),
    }
}

/// The ToolHive file for an upstream file.
pub(crate) fn from_upstream(root: Node<'_>, lenient: bool, report: &mut Report) -> Result<String, Issue> {
    let carried = slot::FILE.carried(root, TOOLHIVE);
    let plain = slot::FILE.without(root, TOOLHIVE);
    let list = object(root, "data")?.get("servers");
    let place = Pointer::root().join("data").join("servers");
    let mut split = Split::default();
    for (index, server) in list.into_iter().flat_map(Node::elements).enumerate() {
        let place = place.join(index.to_string());
        let mut own = Report::default();
        match entry::from(server, false, |kind, key| split.is_taken(kind, key), &mut own) {
            Ok(entry) => split.add(entry),
            Err(issue) if lenient && server.is_object() => {
                let name = server.get("name").and_then(Node::as_str).unwrap_or_default().into_owned();
                own.note(Pointer::root(), Fault::CarriedWhole { name, reason: issue.fault.to_string() });
                split.add_whole(server.to_compact());
            }
            Err(issue) => or_note(at(&place, issue), lenient, report)?,
        }
        report.absorb(&place, own);
    }
    let skeleton = read(&plain, |plain| toolhive_skeleton(plain, !split.remotes.is_empty()))?;
    let skeleton = restored(skeleton, carried, report)?;
    let back = read(&skeleton, upstream_skeleton)?;
    let bare = read(&plain, bare_upstream)?;
    let patch = read(&bare, |bare| to_carry(&back, bare))??;
    let carry = payload([("patch", patch), ("order", split.order()), ("whole", split.whole())]);
    let text = read(&skeleton, |skeleton| {
        let mut out = ObjectWriter::new();
        for (key, value) in skeleton.members() {
            if key.is_text(Kind::Image.member()) && value.is_null() {
                out.raw(Kind::Image.member(), &entries(&split.images));
            } else if key.is_text(Kind::Remote.member()) && value.is_null() {
                out.raw(Kind::Remote.member(), &entries(&split.remotes));
            } else {
                out.copy(key, value);
            }
        }
        out.finish()
    })?;
    match carry {
        None => Ok(text),
        Some(carry) => read(&text, |node| slot::FILE.with(node, UPSTREAM, &carry)),
    }
}

fn entries(list: &[(String, String)]) -> String {
    let mut out = ObjectWriter::new();
    for (key, text) in list {
        out.raw(key, text);
    }
    out.finish()
}

/// Servers on their way into two maps.
#[derive(Default)]
struct Split {
    images: Vec<(String, String)>,
    remotes: Vec<(String, String)>,
    wholes: Vec<String>,
    taken: HashSet<(bool, String)>,
    /// For each server, which of the three lists it went to, and where.
    went: Vec<(u8, usize)>,
}

impl Split {
    fn is_taken(&self, kind: Kind, key: &str) -> bool {
        self.taken.contains(&(kind == Kind::Image, key.to_owned()))
    }

    fn add(&mut self, entry: entry::Entry) {
        self.taken.insert((entry.kind == Kind::Image, entry.key.clone()));
        let (number, list) = match entry.kind {
            Kind::Image => (0, &mut self.images),
            Kind::Remote => (1, &mut self.remotes),
        };
        self.went.push((number, list.len()));
        list.push((entry.key, entry.text));
    }

    fn add_whole(&mut self, text: String) {
        self.went.push((2, self.wholes.len()));
        self.wholes.push(text);
    }

    fn whole(&self) -> Option<String> {
        (!self.wholes.is_empty()).then(|| format!("[{}]", self.wholes.join(",")))
    }

    /// Where each server will stand when the three lists are read one after the other; `None` if in its own place.
    fn order(&self) -> Option<String> {
        let before = [0, self.images.len(), self.images.len() + self.remotes.len()];
        let places: Vec<usize> = self
            .went
            .iter()
            .map(|(list, place)| before.get(usize::from(*list)).copied().unwrap_or(0) + place)
            .collect();
        if places.iter().enumerate().all(|(wanted, place)| wanted == *place) {
            return None;
        }
        Some(format!("[{}]", places.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")))
    }
}
