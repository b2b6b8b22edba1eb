//! The parts that all calls of one tool share, formatted once.

use toolcrib_protocol::{header, write};

pub(crate) const METHOD: &str = "tools/call";

/// Name of a tool, formatted for the body and the head of its calls.
#[derive(Debug)]
pub(crate) struct Called {
    /// The server's own name of the tool.
    pub(crate) name: Box<str>,
    /// The `name` member of `params`.
    pub(crate) member: Box<str>,
    /// The header fields with method and name.
    pub(crate) fields: Box<str>,
}

impl Called {
    pub(crate) fn new(name: &str) -> Self {
        let member = format!("\"name\":{}", write::quoted(name));
        Self { name: name.into(), member: member.into(), fields: fields(METHOD, Some(name)).into() }
    }
}

/// Returns the header fields that a modern server compares with the body.
pub(crate) fn fields(method: &str, name: Option<&str>) -> String {
    let mut fields = format!("Mcp-Method: {method}\r\n");
    if let Some(name) = name {
        fields.push_str(&format!("Mcp-Name: {}\r\n", header::encode(name)));
    }
    fields
}
