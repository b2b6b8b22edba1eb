//! A server as the catalogue stores it: its server.json and its tools.

use std::fmt::Write as _;

use toolcrib_contract::json::{Node, Pointer};
use toolcrib_contract::{Definition, Digest};
use toolcrib_store::catalogue::{NewServer, NewTool, Status};

use crate::convert::{ConvertError, Options, convert};
use crate::extension::{self, DEFINITIONS};
use crate::format::Format;
use crate::issue::{Fault, Issue, Report};
use crate::known::Known;
use crate::limits::INDEX_TEXT_BYTES_MAX;
use crate::version;

/// Server and its tools, read from server.json.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Full name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Display title.
    pub title: Option<String>,
    /// Description, empty if there is none.
    pub description: String,
    /// `true` if its status is deprecated.
    pub deprecated: bool,
    /// Tools: full definitions, or names only.
    pub tools: Vec<Definition>,
    /// server.json as given, without white space between tokens.
    pub text: String,
}

impl Listed {
    /// Reads a server. An invalid definition is noted and left out.
    ///
    /// # Errors
    /// If it is not an object with a name and a version.
    pub fn read(server: Node<'_>, report: &mut Report) -> Result<Self, Issue> {
        Self::judged(server, None, report)
    }

    /// Reads a server like [`Self::read`], and with `known` also notes tools with an invalid schema, which it keeps.
    pub(crate) fn judged(
        server: Node<'_>,
        known: Option<&Known>,
        report: &mut Report,
    ) -> Result<Self, Issue> {
        if !server.is_object() {
            return Err(Issue::new(
                Pointer::root(),
                Fault::Kind { expected: "an object", found: server.kind().name() },
            ));
        }
        let text = |key: &str| server.get(key).and_then(Node::as_str).filter(|text| !text.is_empty());
        let needed = |member: &'static str| {
            text(member).ok_or_else(|| Issue::new(Pointer::root(), Fault::Missing { member }))
        };
        let (name, version) = (needed("name")?, needed("version")?);
        let block = match extension::block(server) {
            Ok(found) => found,
            Err(fault) => {
                report.note(Pointer::root().join("_meta"), fault);
                None
            }
        };
        let status = block.as_ref().and_then(|(_, block)| block.get("status")).and_then(Node::as_str);
        let tools =
            block.map_or_else(Vec::new, |(key, block)| tools(block, &extension::place(&key), known, report));
        Ok(Self {
            name: name.into_owned(),
            version: version.into_owned(),
            title: text("title").map(std::borrow::Cow::into_owned),
            description: text("description").unwrap_or_default().into_owned(),
            deprecated: status.is_some_and(|status| status.eq_ignore_ascii_case("deprecated")),
            tools,
            text: server.to_compact(),
        })
    }

    /// Returns the rows to store.
    #[must_use]
    pub fn into_new(self) -> NewServer {
        let digest = Digest::of_bytes(self.text.as_bytes()).to_string();
        NewServer {
            status: if self.deprecated { Status::Deprecated } else { Status::Active },
            tools: self.tools.iter().map(new_tool).collect(),
            replaces: version::replaces,
            name: self.name,
            version: self.version,
            title: self.title,
            description: self.description,
            document: self.text,
            digest,
        }
    }
}

/// Returns every server of a file in any format. Unreadable parts are noted.
///
/// # Errors
/// If the file cannot be converted.
pub fn listed(bytes: &[u8], name: Option<&str>) -> Result<(Vec<Listed>, Report), ConvertError> {
    let options = Options { lenient: true, name: name.map(str::to_owned), ..Options::default() };
    let converted = convert(bytes, Format::Upstream, &options)?;
    let mut report = converted.report;
    let mut servers = Vec::new();
    crate::step::read(&converted.text, |root| {
        let list = root.get("data").and_then(|data| data.get("servers"));
        for (index, server) in list.into_iter().flat_map(Node::elements).enumerate() {
            let place = Pointer::root().join("data").join("servers").join(index.to_string());
            let mut own = Report::default();
            match Listed::read(server, &mut own) {
                Ok(server) => servers.push(server),
                Err(issue) => own.note(issue.pointer, Fault::LeftOut { reason: issue.fault.to_string() }),
            }
            report.absorb(&place, own);
        }
    })?;
    Ok((servers, report))
}

/// Returns the definitions of a block, or its names if it has no definitions.
fn tools(block: Node<'_>, place: &Pointer, known: Option<&Known>, report: &mut Report) -> Vec<Definition> {
    let mut found: Vec<Definition> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let definitions = block.get(DEFINITIONS).filter(|list| list.is_array() && !list.is_empty());
    let (list, member) = match definitions {
        Some(list) => (Some(list), DEFINITIONS),
        None => (block.get("tools").filter(|list| list.is_array()), "tools"),
    };
    for (index, node) in list.into_iter().flat_map(Node::elements).enumerate() {
        let read = match node.as_str() {
            Some(_) => Definition::parse(format!(r#"{{"name":{}}}"#, node.raw())),
            None => Definition::from_node(node),
        };
        match read {
            Ok(definition) if seen.insert(definition.name().to_owned()) => {
                if let Some(known) = known {
                    known.note(&definition, &place.join(member).join(index.to_string()), report);
                }
                found.push(definition);
            }
            Ok(definition) => {
                let name = definition.name().to_owned();
                report.note(place.join(member).join(index.to_string()), Fault::DuplicateTool { name });
            }
            Err(error) => report.note(place.join(member).join(index.to_string()), Fault::Definition(error)),
        }
    }
    found
}

fn new_tool(definition: &Definition) -> NewTool {
    let effect = definition.annotations().effect();
    NewTool {
        name: definition.name().to_owned(),
        definition: definition.text().to_owned(),
        digest: Digest::of(definition.root()).ok().map(|digest| digest.to_string()),
        read_only: effect.read_only,
        destructive: effect.destructive,
        has_output: definition.output_schema().is_some(),
        words: words(definition.name()),
        description: description(definition),
        parameters: parameters(definition),
    }
}

fn description(definition: &Definition) -> String {
    let parts: Vec<_> = [definition.title(), definition.description()].into_iter().flatten().collect();
    cut(&parts.join(" ")).to_owned()
}

/// Cuts a text to [`INDEX_TEXT_BYTES_MAX`] bytes at a character boundary.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(INDEX_TEXT_BYTES_MAX)).unwrap_or_default()
}

/// Splits a name into words: `getHTTPStatus_now` becomes `get http status now`.
fn words(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    let mut last = ' ';
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        if !letter.is_alphanumeric() {
            out.push(' ');
        } else {
            let starts = letter.is_uppercase()
                && (last.is_lowercase()
                    || last.is_numeric()
                    || letters.peek().is_some_and(|next| next.is_lowercase()));
            if starts && !last.is_whitespace() {
                out.push(' ');
            }
            out.extend(letter.to_lowercase());
        }
        last = letter;
    }
    out
}

fn parameters(definition: &Definition) -> String {
    let mut out = String::new();
    let properties = definition.input_schema().and_then(|schema| schema.get("properties"));
    for (key, schema) in properties.into_iter().flat_map(Node::members) {
        if out.len() > INDEX_TEXT_BYTES_MAX {
            break;
        }
        let _ = write!(out, "{} ", words(&key.as_str().unwrap_or_default()));
        if let Some(description) = schema.get("description").and_then(Node::as_str) {
            let _ = write!(out, "{} ", cut(&description));
        }
    }
    cut(&out).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(value: &serde_json::Value) -> NewTool {
        new_tool(&Definition::parse(value.to_string()).unwrap())
    }

    /// R6.7: search finds the first `INDEX_TEXT_BYTES_MAX` bytes of a tool's description, and of its parameters.
    #[test]
    fn prose_over_index_text_bytes_max_is_not_indexed() {
        let described = |bytes: usize| {
            let description = "x".repeat(bytes - 2) + "é";
            tool(
                &serde_json::json!({"name": "t", "description": description, "inputSchema": {"type": "object"}}),
            )
        };
        assert!(described(INDEX_TEXT_BYTES_MAX).description.ends_with('é'));
        let cut = described(INDEX_TEXT_BYTES_MAX + 1).description;
        assert_eq!(cut.len(), INDEX_TEXT_BYTES_MAX - 1, "no half of a character");
        let long = "word ".repeat(INDEX_TEXT_BYTES_MAX / 5);
        let properties: serde_json::Map<_, _> =
            (0..3).map(|at| (format!("p{at}"), serde_json::json!({"description": long}))).collect();
        let wordy = tool(&serde_json::json!({"name": "t", "title": long, "description": long,
            "inputSchema": {"type": "object", "properties": properties}}));
        assert_eq!(
            (wordy.description.len(), wordy.parameters.len()),
            (INDEX_TEXT_BYTES_MAX, INDEX_TEXT_BYTES_MAX)
        );
    }

    #[test]
    fn names_are_made_of_words() {
        assert_eq!(words("getHTTPStatus_now"), "get http status now");
        assert_eq!(words("list-issues.v2"), "list issues v2");
        assert_eq!(words("x"), "x");
    }
}
