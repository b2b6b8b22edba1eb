//! What every call of one tool has in common, written once.

use toolcrib_protocol::{header, write};

pub(crate) const METHOD: &str = "tools/call";

#[derive(Debug)]
pub(crate) struct Called {
    /// As its server calls it.
    pub(crate) name: Box<str>,
    /// The member of `params` that says so.
    pub(crate) member: Box<str>,
    /// The fields of a head that say so.
    pub(crate) fields: Box<str>,
}

impl Called {
    pub(crate) fn new(name: &str) -> Self {
        let member = format!("\"name\":{}", write::quoted(name));
        Self { name: name.into(), member: member.into(), fields: fields(METHOD, Some(name)).into() }
    }
}

/// The fields that a modern server compares with the body.
pub(crate) fn fields(method: &str, name: Option<&str>) -> String {
    let mut fields = format!("Mcp-Method: {method}\r\n");
    if let Some(name) = name {
        fields.push_str(&format!("Mcp-Name: {}\r\n", header::encode(name)));
    }
    fields
}
