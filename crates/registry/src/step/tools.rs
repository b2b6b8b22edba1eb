//! Step between a server.json and a bare `tools/list` result.

use toolcrib_contract::json::{Node, ObjectWriter, Pointer};

use super::{kind, payload, quoted, read, restored, to_carry};
use crate::SERVER_SCHEMA;
use crate::carry::slot;
use crate::extension::{self, DEFINITIONS};
use crate::issue::{Fault, Issue, Report};
use crate::toolhive::to_server::meta;

const SERVER: &str = "server";
const TOOLS: &str = "tools";
/// Server name for a list of unknown origin, and the namespace for a name without one.
const NAMELESS: &str = "local/tools";
const NAMESPACE: &str = "local/";

/// Shape of the original list: `{"tools":[…]}`, an array, or one definition.
enum Shape {
    Result,
    Array,
    One,
}

impl Shape {
    fn name(&self) -> Option<&'static str> {
        match self {
            Self::Result => None,
            Self::Array => Some("array"),
            Self::One => Some("one"),
        }
    }
}

/// Converts the list to `{"tools":[…]}`.
fn normal(root: Node<'_>) -> Result<(Shape, String), Issue> {
    if root.is_array() {
        return Ok((Shape::Array, format!(r#"{{"tools":{}}}"#, root.to_compact())));
    }
    let result = root.get("result").filter(|result| root.get(TOOLS).is_none() && result.get(TOOLS).is_some());
    let root = result.unwrap_or(root);
    match root.get(TOOLS) {
        Some(list) if list.is_array() => Ok((Shape::Result, root.to_compact())),
        Some(other) => Err(kind(Pointer::root().join(TOOLS), "an array", other)),
        None if root.get("name").is_some() => {
            Ok((Shape::One, format!(r#"{{"tools":[{}]}}"#, root.to_compact())))
        }
        None => Err(Issue::new(Pointer::root(), Fault::Missing { member: TOOLS })),
    }
}

/// Converts a list of tools to server.json. `name` is used if the list carries no server.
pub(crate) fn into_server(root: Node<'_>, name: Option<&str>, report: &mut Report) -> Result<String, Issue> {
    let (shape, list) = normal(root)?;
    let (server, plain) = read(&list, |list| -> Result<_, Issue> {
        let carried = slot::TOOLS.carried(list, SERVER);
        let plain = slot::TOOLS.without(list, SERVER);
        let subject = carried.and_then(|own| own.get("subject")).and_then(Node::as_str);
        let name = name.filter(|_| carried.is_none()).map_or_else(|| NAMELESS.to_owned(), full_name);
        let derived = read(&plain, |plain| derived_server(plain, &name, subject.as_deref()))?;
        Ok((restored(derived, carried, report)?, plain))
    })??;
    let text = read(&server, |node| -> Result<_, Issue> {
        let patch = read(&plain, |plain| to_carry(&derived_tools(node, &mut Report::default()), plain))??;
        let alone = slot::TOOLS.carried(root, SERVER).is_none();
        let carry = payload([
            ("alone", alone.then(|| "true".to_owned())),
            ("shape", shape.name().map(quoted)),
            ("patch", patch),
        ]);
        Ok(carry.map(|carry| slot::SERVER.with(node, TOOLS, &carry)))
    })??;
    Ok(text.unwrap_or(server))
}

/// Maps a location below the generated block to the original list.
pub(crate) fn home(root: Node<'_>, below: &Pointer) -> Pointer {
    let tokens: Vec<String> = below.tokens().skip(1).collect();
    let wrapped = root.get(TOOLS).is_none() && root.get("result").is_some_and(|own| own.get(TOOLS).is_some());
    let (start, skip) = match (root.is_array(), root.get(TOOLS).is_some(), wrapped) {
        (true, ..) => (Pointer::root(), 0),
        (_, true, _) => (Pointer::root().join(TOOLS), 0),
        (_, _, true) => (Pointer::root().join("result").join(TOOLS), 0),
        _ => (Pointer::root(), 1),
    };
    tokens.into_iter().skip(skip).fold(start, |place, token| place.join(token))
}

/// Returns a name that is valid in server.json: one slash, other characters replaced.
fn full_name(name: &str) -> String {
    if name.contains('/') {
        return name.to_owned();
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    format!("{NAMESPACE}{}", name.chars().map(plain).collect::<String>())
}

fn derived_server(list: Node<'_>, name: &str, subject: Option<&str>) -> String {
    let tools = list.get(TOOLS);
    let names: Vec<String> = tools
        .into_iter()
        .flat_map(Node::elements)
        .filter_map(|tool| Some(tool.get("name")?.raw().to_owned()))
        .filter(|name| name.starts_with('"'))
        .collect();
    let mut block = ObjectWriter::new();
    block.string("status", "active");
    block.raw(DEFINITIONS, &tools.map_or_else(|| "[]".to_owned(), Node::to_compact));
    block.raw(TOOLS, &format!("[{}]", names.join(",")));
    let mut out = ObjectWriter::new();
    out.string("$schema", SERVER_SCHEMA).string("name", name);
    out.string("description", "Tools without a server").string("version", "1.0.0");
    out.raw("_meta", &meta(subject.unwrap_or(name), &block.finish()));
    out.finish()
}

/// Returns the definitions of a server, or else its names.
fn derived_tools(server: Node<'_>, report: &mut Report) -> String {
    let block = match extension::block(server) {
        Ok(found) => found.map(|(_, block)| block),
        Err(fault) => {
            report.note(Pointer::root().join("_meta"), fault);
            None
        }
    };
    let list = |key: &str| block.and_then(|block| block.get(key)).filter(|list| list.is_array());
    let definitions = list(DEFINITIONS).map(Node::to_compact).unwrap_or_else(|| {
        let names = list(TOOLS).into_iter().flat_map(Node::elements).filter(|name| name.as_str().is_some());
        let tools: Vec<String> = names.map(|name| format!(r#"{{"name":{}}}"#, name.raw())).collect();
        format!("[{}]", tools.join(","))
    });
    format!(r#"{{"tools":{definitions}}}"#)
}

/// Converts a server to a `tools/list` result.
pub(crate) fn from_server(server: Node<'_>, report: &mut Report) -> Result<String, Issue> {
    let carried = slot::SERVER.carried(server, TOOLS);
    let plain = slot::SERVER.without(server, TOOLS);
    let list = read(&plain, |plain| derived_tools(plain, report))?;
    let list = restored(list, carried, report)?;
    let subject =
        extension::block(server).ok().flatten().map(|(key, _)| key).or_else(|| extension::subject(server));
    let carry = read(&list, |node| {
        let back = derived_server(node, NAMELESS, subject.as_deref());
        let patch = read(&plain, |plain| to_carry(&back, plain))??;
        Ok::<_, Issue>(payload([("subject", subject.as_deref().map(quoted)), ("patch", patch)]))
    })??;
    if is_made_up(&plain, &list, carried)? {
        let shape = carried.and_then(|own| own.get("shape")).and_then(Node::as_str);
        return read(&list, |list| {
            let tools = list.get(TOOLS);
            match shape.as_deref() {
                Some("one") => tools.and_then(|tools| tools.element(0)).unwrap_or(list).to_compact(),
                Some(_) => tools.unwrap_or(list).to_compact(),
                None => list.to_compact(),
            }
        });
    }
    match carry {
        None => Ok(list),
        Some(carry) => read(&list, |list| slot::TOOLS.with(list, SERVER, &carry)),
    }
}

/// Returns true if the server was generated for a list and adds nothing to it, so that the original list is restored.
fn is_made_up(plain: &str, list: &str, carried: Option<Node<'_>>) -> Result<bool, Issue> {
    if carried.and_then(|own| own.get("alone")).is_none() {
        return Ok(false);
    }
    read(plain, |plain| {
        let name = plain.get("name").and_then(Node::as_str).unwrap_or_default();
        let derived = read(list, |list| derived_server(list, &name, None))?;
        Ok(to_carry(&derived, plain)?.is_none())
    })?
}
