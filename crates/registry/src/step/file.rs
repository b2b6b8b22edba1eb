//! Step between a ToolHive file and an upstream file.

use std::collections::HashSet;

use toolcrib_contract::json::{Node, ObjectWriter, Pointer};

use super::{entry, kind, object, payload, read, restored, to_carry};
use crate::carry::slot::{self, replaced};
use crate::issue::{Fault, Issue, Report};
use crate::spread::in_order;
use crate::toolhive::Kind;
use crate::{EPOCH, TOOLHIVE_SCHEMA, UPSTREAM_SCHEMA};

const TOOLHIVE: &str = "toolhive";
const UPSTREAM: &str = "upstream";
/// Version of an upstream file that is made from a format without one.
pub(crate) const FILE_VERSION: &str = "1.0.0";

/// Fails with `issue` in a strict run, notes it in a lenient one.
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

/// Converts a ToolHive file to an upstream file.
pub(crate) fn into_upstream(root: Node<'_>, lenient: bool, report: &mut Report) -> Result<String, Issue> {
    let carried = slot::FILE.carried(root, UPSTREAM);
    let mut entries = Vec::new();
    for kind_ in [Kind::Image, Kind::Remote] {
        let Some(members) = root.get(kind_.member()) else { continue };
        if members.is_object() {
            entries.extend(members.members().map(|(key, value)| (kind_, key, value)));
        } else {
            or_note(kind(Pointer::root().join(kind_.member()), "an object", members), lenient, report)?;
        }
    }
    let made = in_order(&entries, root.raw().len(), |(kind_, key, value)| {
        let mut own = Report::default();
        let key = key.as_str().unwrap_or_default();
        (entry::into_server(&key, *kind_, *value, false, &mut own), own)
    });
    let mut servers = Vec::with_capacity(made.len());
    for ((kind_, key, _), (made, own)) in entries.iter().zip(made) {
        let place = Pointer::root().join(kind_.member()).join(key.as_str().unwrap_or_default());
        match made {
            Ok(server) => servers.push(server),
            Err(issue) => or_note(at(&place, issue), lenient, report)?,
        }
        report.absorb(&place, own);
    }
    servers.extend(
        carried.and_then(|own| own.get("whole")).into_iter().flat_map(Node::elements).map(Node::to_compact),
    );
    let servers = reordered(servers, carried);
    // The file without its entries is small, so the remaining steps work on that.
    let plain = read(&bare_toolhive(root), |bare| slot::FILE.without(bare, UPSTREAM))?;
    let skeleton = read(&plain, upstream_skeleton)?;
    let skeleton = restored(skeleton, carried, report)?;
    let has_remotes = root.get(Kind::Remote.member()).is_some_and(|remotes| !remotes.is_empty());
    let back = read(&skeleton, |skeleton| toolhive_skeleton(skeleton, has_remotes))?;
    let carry = payload([("patch", read(&plain, |plain| to_carry(&back, plain))??)]);
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

/// Returns an upstream file with `null` in place of its servers.
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

/// Returns a ToolHive file with `null` in place of its entries.
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

/// Returns an upstream file with its servers replaced by `null`.
pub(crate) fn bare_upstream(root: Node<'_>) -> String {
    replaced(root, &["data", "servers"], Some("null"), 0).unwrap_or_default()
}

/// Fills the servers and the carried payload into a skeleton.
pub(crate) fn filled(
    skeleton: &str,
    servers: &[String],
    carry: Option<(&str, String)>,
) -> Result<String, Issue> {
    let list = format!("[{}]", servers.join(","));
    let fill =
        |skeleton: Node<'_>| replaced(skeleton, &["data", "servers"], Some(&list), 0).unwrap_or_default();
    match carry {
        None => read(skeleton, fill),
        Some((key, carry)) => read(&read(skeleton, |node| slot::FILE.with(node, key, &carry))?, fill),
    }
}

/// Converts an upstream file to a ToolHive file.
pub(crate) fn from_upstream(root: Node<'_>, lenient: bool, report: &mut Report) -> Result<String, Issue> {
    let carried = slot::FILE.carried(root, TOOLHIVE);
    let place = Pointer::root().join("data").join("servers");
    let list = match object(root, "data")?.get("servers") {
        Some(list) if list.is_array() => Some(list),
        // Treating it as an empty list would turn it into one on the way back.
        Some(other) => or_note(kind(place.clone(), "an array", other), lenient, report).map(|()| None)?,
        None => {
            let missing = Issue::new(Pointer::root().join("data"), Fault::Missing { member: "servers" });
            or_note(missing, lenient, report).map(|()| None)?
        }
    };
    let servers: Vec<Node<'_>> = list.into_iter().flat_map(Node::elements).collect();
    let made = in_order(&servers, root.raw().len(), |server| {
        let mut own = Report::default();
        (entry::from(*server, false, |_, _| false, &mut own), own)
    });
    let mut split = Split::default();
    for (index, (server, (made, mut own))) in servers.iter().zip(made).enumerate() {
        let place = place.join(index.to_string());
        // Two servers that want the same key get different ones in file order.
        let made = match made {
            Ok(entry) if split.is_taken(entry.kind, &entry.key) => {
                own = Report::default();
                entry::from(*server, false, |kind, key| split.is_taken(kind, key), &mut own)
            }
            made => made,
        };
        match made {
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
    let plain = read(&bare_upstream(root), |bare| slot::FILE.without(bare, TOOLHIVE))?;
    let skeleton = read(&plain, |plain| toolhive_skeleton(plain, !split.remotes.is_empty()))?;
    let skeleton = restored(skeleton, carried, report)?;
    let back = read(&skeleton, upstream_skeleton)?;
    let patch = read(&plain, |plain| to_carry(&back, plain))??;
    let carry = payload([("patch", patch), ("order", split.order()), ("whole", split.whole())]);
    let skeleton = match carry {
        None => skeleton,
        Some(carry) => read(&skeleton, |node| slot::FILE.with(node, UPSTREAM, &carry))?,
    };
    read(&skeleton, |skeleton| {
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
    })
}

fn entries(list: &[(String, String)]) -> String {
    let mut out = ObjectWriter::new();
    for (key, text) in list {
        out.raw(key, text);
    }
    out.finish()
}

/// Collects servers into ToolHive's two maps.
#[derive(Default)]
struct Split {
    images: Vec<(String, String)>,
    remotes: Vec<(String, String)>,
    wholes: Vec<String>,
    taken: HashSet<(bool, String)>,
    /// For each server, the number of the list that it went to, and its index there.
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

    /// Returns the position of each server in the concatenation of the three lists; `None` if no order changed.
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
