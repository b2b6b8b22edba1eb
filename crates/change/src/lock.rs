//! `toolcrib.lock`: complete definitions and their digests, in an order and layout for readable diffs: tools sorted
//! by name, one member per line. Definitions are verbatim, so that witnesses can be validated and nothing is lost. An
//! approval is bound to the digest that was reviewed.

use std::fmt::Write as _;

use serde_json::Value;
use toolcrib_contract::json::{Document, Limits, Node, write_string};
use toolcrib_contract::{Definition, DefinitionError, Digest};

use crate::fingerprint::digest;

/// Version of the layout.
const FORMAT: u64 = 1;

/// Pinned tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedTool {
    /// Name of its server; empty if there is only one.
    pub server: String,
    /// The definition, verbatim.
    pub definition: Definition,
    /// Digest of the whole definition.
    pub digest: Digest,
}

/// Set of pinned tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    tools: Vec<LockedTool>,
}

/// Reason why a lock is refused.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The text is not JSON, or exceeds a limit.
    #[error("not a lock: {0}")]
    Read(#[from] toolcrib_contract::json::ReadError),
    /// The format number is unknown.
    #[error("lock format {found} is not {FORMAT}")]
    Format {
        /// Value of `format`, as JSON text.
        found: String,
    },
    /// An entry is not a definition.
    #[error("tool {at}: {error}")]
    Definition {
        /// Position of the entry, counted from one.
        at: usize,
        /// Error of reading the definition.
        error: DefinitionError,
    },
    /// A digest does not match its definition: the entry was edited by hand.
    #[error("tool {name:?}: the digest in the lock does not fit its definition")]
    Digest {
        /// Name of the tool.
        name: String,
    },
}

/// Reason why an approval is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApproveError {
    /// The server does not offer the tool.
    #[error("no tool {0:?} is offered")]
    NoTool(String),
    /// A removal was approved, and the server still offers the tool.
    #[error("{0:?} is still offered")]
    StillOffered(String),
    /// The tool is not in the lock.
    #[error("{0:?} is not in the lock")]
    NotPinned(String),
    /// The offered definition is not the one that was reviewed.
    #[error("{tool:?} is now {live}, not the reviewed {reviewed}")]
    Changed {
        /// Name of the tool.
        tool: String,
        /// Digest of the offered definition.
        live: Digest,
        /// Digest that was reviewed.
        reviewed: Digest,
    },
}

impl Lock {
    /// Creates a lock with the definitions of one server.
    pub fn new(server: &str, definitions: impl IntoIterator<Item = Definition>) -> Lock {
        let mut lock = Lock::default();
        lock.extend(server, definitions);
        lock
    }

    /// Adds the definitions of another server.
    pub fn extend(&mut self, server: &str, definitions: impl IntoIterator<Item = Definition>) {
        for definition in definitions {
            let digest = of_definition(&definition);
            self.tools.push(LockedTool { server: server.to_owned(), definition, digest });
        }
        self.tools.sort_by(|a, b| {
            a.server.cmp(&b.server).then_with(|| a.definition.name().cmp(b.definition.name()))
        });
    }

    /// All pinned tools, ordered by server and name.
    pub fn tools(&self) -> &[LockedTool] {
        &self.tools
    }

    /// Returns the definitions of one server.
    pub fn definitions(&self, server: &str) -> Vec<Definition> {
        self.tools.iter().filter(|tool| tool.server == server).map(|tool| tool.definition.clone()).collect()
    }

    /// Pins the offered definition, if its digest is the reviewed one.
    ///
    /// # Errors
    /// The tool is not offered, or its digest differs.
    pub fn approve(
        &mut self,
        server: &str,
        live: &[Definition],
        tool: &str,
        reviewed: Digest,
    ) -> Result<(), ApproveError> {
        let definition = live
            .iter()
            .find(|own| own.name() == tool)
            .ok_or_else(|| ApproveError::NoTool(tool.to_owned()))?;
        let offered = of_definition(definition);
        if offered != reviewed {
            return Err(ApproveError::Changed { tool: tool.to_owned(), live: offered, reviewed });
        }
        self.tools.retain(|own| own.server != server || own.definition.name() != tool);
        self.extend(server, [definition.clone()]);
        Ok(())
    }

    /// Removes a tool that is no longer offered.
    ///
    /// # Errors
    /// The tool is still offered, or was not pinned.
    pub fn approve_removal(
        &mut self,
        server: &str,
        live: &[Definition],
        tool: &str,
    ) -> Result<(), ApproveError> {
        if live.iter().any(|own| own.name() == tool) {
            return Err(ApproveError::StillOffered(tool.to_owned()));
        }
        let before = self.tools.len();
        self.tools.retain(|own| own.server != server || own.definition.name() != tool);
        if self.tools.len() == before { Err(ApproveError::NotPinned(tool.to_owned())) } else { Ok(()) }
    }

    /// Serializes the lock.
    pub fn to_text(&self) -> String {
        let mut text = format!("{{\n  \"format\": {FORMAT},\n  \"tools\": [");
        for (at, tool) in self.tools.iter().enumerate() {
            text.push_str(if at == 0 { "\n    {\n" } else { ",\n    {\n" });
            for (key, value) in [("server", tool.server.clone()), ("digest", tool.digest.to_string())] {
                let _ = write!(text, "      \"{key}\": ");
                write_string(&mut text, &value);
                text.push_str(",\n");
            }
            text.push_str("      \"channels\": {");
            for (at, (channel, own)) in channels(&tool.definition).iter().enumerate() {
                let comma = if at == 0 { "" } else { "," };
                let _ = write!(text, "{comma}\n        \"{channel}\": \"{own}\"");
            }
            text.push_str("\n      },\n      \"definition\": ");
            pretty(tool.definition.root(), 3, &mut text);
            text.push_str("\n    }");
        }
        text.push_str(if self.tools.is_empty() { "]\n}\n" } else { "\n  ]\n}\n" });
        text
    }

    /// Parses a lock and verifies every digest.
    ///
    /// # Errors
    /// A [`LockError`] that names the entry, if one is at fault.
    pub fn parse(text: &str) -> Result<Lock, LockError> {
        let document = Document::parse(text.as_bytes(), &Limits::file())?;
        let root = document.root();
        let found = root.get("format");
        if found.and_then(Node::as_u64) != Some(FORMAT) {
            let found = found.map_or_else(|| "nothing".to_owned(), |node| node.raw().to_owned());
            return Err(LockError::Format { found });
        }
        let mut lock = Lock::default();
        let Some(tools) = root.get("tools") else { return Ok(lock) };
        for (index, entry) in tools.elements().enumerate() {
            let at = index + 1;
            let node = entry.get("definition").unwrap_or(entry);
            let definition =
                Definition::from_node(node).map_err(|error| LockError::Definition { at, error })?;
            let digest = of_definition(&definition);
            let stated = entry.get("digest").and_then(Node::as_str);
            if stated.as_deref() != Some(digest.to_string().as_str()) {
                return Err(LockError::Digest { name: definition.name().to_owned() });
            }
            let server = entry.get("server").and_then(Node::as_str).unwrap_or_default().into_owned();
            lock.tools.push(LockedTool { server, definition, digest });
        }
        Ok(lock)
    }
}

/// Returns the digest that a lock pins and an approval names: over the canonical form, or over the text if there is
/// none.
pub fn of_definition(definition: &Definition) -> Digest {
    Digest::of(definition.root()).unwrap_or_else(|_| Digest::of_bytes(definition.text().as_bytes()))
}

/// Digests of input schema, output schema, annotations and prose, which show in a diff what kind of change it is.
fn channels(definition: &Definition) -> [(&'static str, Digest); 4] {
    let part = |key: &str| definition.get(key).map_or(Value::Null, toolcrib_contract::json::Node::to_value);
    let text = Value::from(vec![part("description"), part("title")]);
    [
        ("input", digest(&part("inputSchema"))),
        ("output", digest(&part("outputSchema"))),
        ("annotations", digest(&part("annotations"))),
        ("text", digest(&text)),
    ]
}

/// Writes JSON with one member per line; scalars are copied verbatim.
fn pretty(node: Node<'_>, level: usize, text: &mut String) {
    let indent = |level: usize| "  ".repeat(level);
    if node.is_object() && !node.is_empty() {
        text.push('{');
        for (at, (key, value)) in node.members().enumerate() {
            let _ = write!(text, "{}\n{}{}: ", if at == 0 { "" } else { "," }, indent(level + 1), key.raw());
            pretty(value, level + 1, text);
        }
        let _ = write!(text, "\n{}}}", indent(level));
    } else if node.is_array() && node.elements().any(|item| item.is_object() || item.is_array()) {
        text.push('[');
        for (at, value) in node.elements().enumerate() {
            let _ = write!(text, "{}\n{}", if at == 0 { "" } else { "," }, indent(level + 1));
            pretty(value, level + 1, text);
        }
        let _ = write!(text, "\n{}]", indent(level));
    } else {
        node.write_compact(text);
    }
}
