//! Step between a ToolHive entry and a server.json.

use toolcrib_contract::json::Node;

use super::{payload, plainly, quoted, read, restored, to_carry};
use crate::carry::slot;
use crate::issue::{Issue, Report};
use crate::toolhive::from_server::{from_server, kind_of};
use crate::toolhive::to_server::to_server;
use crate::toolhive::{Kind, full_name, key_of};

/// Keys of the payload for the entry in server.json, and of the payload for server.json in the entry.
const TOOLHIVE: &str = "toolhive";
const SERVER: &str = "server";

/// Shape of an entry that is not part of a file.
pub(crate) const ALONE: &str = "entry";

/// Converts the entry under `key` to server.json. `alone` is true if it is not part of a file.
pub(crate) fn into_server(
    key: &str,
    kind: Kind,
    entry: Node<'_>,
    alone: bool,
    report: &mut Report,
) -> Result<String, Issue> {
    if !entry.is_object() {
        return to_server(key, kind, entry, report);
    }
    let carried = slot::ENTRY.carried(entry, SERVER);
    plainly(slot::ENTRY, entry, SERVER, |plain| {
        let derived = to_server(&full_name(key), kind, plain, report)?;
        let server = restored(derived, carried, report)?;
        let made_up = carried.and_then(|carried| carried.get("key")).is_some_and(|made| made.is_text(key));
        let text = read(&server, |node| -> Result<_, Issue> {
            let name = node.get("name").and_then(Node::as_str).unwrap_or_default();
            let usual = key_of(&name) == key || made_up;
            let with_name = alone || full_name(key) != name;
            let (_, back) = from_server(node, with_name, &mut Report::default())?;
            let carry = payload([
                ("shape", alone.then(|| quoted(ALONE))),
                ("key", (!usual && !alone).then(|| quoted(key))),
                ("patch", to_carry(&back, plain)?),
            ]);
            Ok(carry.map(|carry| slot::SERVER.with(node, TOOLHIVE, &carry)))
        })??;
        Ok(text.unwrap_or(server))
    })?
}

/// Returns true if this server was read from an entry outside a file.
pub(crate) fn stood_alone(server: Node<'_>) -> bool {
    slot::SERVER
        .carried(server, TOOLHIVE)
        .and_then(|own| own.get("shape"))
        .is_some_and(|shape| shape.is_text(ALONE))
}

/// Entry with its map and key in the file.
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) key: String,
    pub(crate) text: String,
}

/// Converts `server` to an entry. `is_taken` returns true for keys in use.
pub(crate) fn from(
    server: Node<'_>,
    alone: bool,
    is_taken: impl Fn(Kind, &str) -> bool,
    report: &mut Report,
) -> Result<Entry, Issue> {
    let carried = slot::SERVER.carried(server, TOOLHIVE);
    let name = server.get("name").and_then(Node::as_str).unwrap_or_default();
    let own_key = carried.and_then(|carried| carried.get("key")).and_then(Node::as_str);
    plainly(slot::SERVER, server, TOOLHIVE, |plain| {
        let kind = kind_of(plain)?;
        let usual = own_key.as_deref().unwrap_or_else(|| key_of(&name));
        let key = free_key(usual, &name, plain, |key| is_taken(kind, key));
        let with_name = alone || full_name(&key) != name;
        let (_, derived) = from_server(plain, with_name, report)?;
        let entry = restored(derived, carried, report)?;
        let back = read(&entry, |entry| to_server(&full_name(&key), kind, entry, &mut Report::default()))??;
        let made_up = key != usual || (own_key.is_none() && key != key_of(&name));
        let carry =
            payload([("key", (made_up && !alone).then(|| quoted(&key))), ("patch", to_carry(&back, plain)?)]);
        let text = match carry {
            Some(carry) => read(&entry, |entry| slot::ENTRY.with(entry, SERVER, &carry))?,
            None => entry,
        };
        Ok(Entry { kind, key, text })
    })?
}

/// Returns a free key: the usual one, else the full name, else that with the version, else a numbered one.
fn free_key(usual: &str, name: &str, server: Node<'_>, is_taken: impl Fn(&str) -> bool) -> String {
    let slug = |text: &str| -> String {
        let dashed =
            text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
        dashed.collect::<String>().trim_matches('-').to_owned()
    };
    if !is_taken(usual) {
        return usual.to_owned();
    }
    let version = server.get("version").and_then(Node::as_str).unwrap_or_default();
    let versioned = slug(&format!("{name}-{version}"));
    let numbered = (2..).map(|number: u64| format!("{versioned}-{number}"));
    let mut candidates = [slug(name), versioned.clone()].into_iter().chain(numbered);
    candidates.find(|key| !is_taken(key)).unwrap_or(versioned)
}
