//! Reads tool definitions from a file: `{"tools":[…]}` (also as the result of a JSON-RPC response), an array, a single
//! definition, a lock, or a catalogue file in any format.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use toolcrib_change::Lock;
use toolcrib_contract::Definition;
use toolcrib_contract::json::{Document, Limits, Node, Pointer};
use toolcrib_registry::convert::json_text;
use toolcrib_registry::{Format, listed};

use crate::convert::{failure, read, stem};
use crate::exit::{Exit, Failure};

/// Reads every definition in the file at `path`.
pub(crate) fn definitions(path: &Path) -> Result<Vec<Definition>, Failure> {
    let bytes = read(path)?;
    if let Some(lock) = std::str::from_utf8(&bytes).ok().and_then(|text| Lock::parse(text).ok()) {
        return Ok(lock.tools().iter().map(|tool| tool.definition.clone()).collect());
    }
    let text = json_text(&bytes).map_err(|error| failure(path, error))?;
    let document = Document::parse(text.as_bytes(), &Limits::file())
        .with_context(|| path.display().to_string())
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    let root = document.root();
    if let Some(Format::Toolhive | Format::Upstream | Format::Server) = Format::detect(root) {
        let (servers, _) = listed(&bytes, stem(path).as_deref()).map_err(|error| failure(path, error))?;
        return Ok(servers.into_iter().flat_map(|server| server.tools).collect());
    }
    let (list, place) = match (root.get("tools"), root.get("result").and_then(|result| result.get("tools"))) {
        _ if root.is_array() => (root, Pointer::root()),
        (Some(tools), _) => (tools, Pointer::root().join("tools")),
        (None, Some(tools)) => (tools, Pointer::root().join("result").join("tools")),
        (None, None) => return Ok(vec![definition(root, &Pointer::root(), path)?]),
    };
    if !list.is_array() {
        let error = anyhow!("{}: {place} is no array", path.display());
        return Err(Failure::new(Exit::Usage, error));
    }
    list.elements().enumerate().map(|(i, node)| definition(node, &place.join(i.to_string()), path)).collect()
}

fn definition(node: Node<'_>, place: &Pointer, path: &Path) -> Result<Definition, Failure> {
    Definition::from_node(node).with_context(|| format!("{}: {place}", path.display())).map_err(|error| {
        Failure::new(Exit::Usage, error).hint("expected {\"tools\":[…]}, an array, one definition, or a lock")
    })
}
