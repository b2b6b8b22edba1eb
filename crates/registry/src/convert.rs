//! Conversion between the formats (R6.3): lossless both ways and stable in order.

use toolcrib_contract::json::{Document, Limits, Node, ReadError};

use crate::format::Format;
use crate::issue::{Issue, Report};
use crate::step::{self, entry, file, single, tools};
use crate::toolhive::Kind;
use crate::yaml::{self, YamlError};

/// Options of a conversion.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// Format of the input; detected by its shape if `None`.
    pub from: Option<Format>,
    /// Skips faulty parts and notes them, instead of stopping at the first.
    pub lenient: bool,
    /// Name for a server that the input does not name, or of the one server to take from a file.
    pub name: Option<String>,
}

/// Result of a conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Compact JSON.
    pub text: String,
    /// Format of the input.
    pub from: Format,
    /// Notes about the conversion.
    pub report: Report,
}

/// Reason why nothing was converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The input is not JSON, or over a limit.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The input is not YAML, or uses YAML that is not supported.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// The input has none of the known formats.
    #[error("this is none of the known formats (toolhive, upstream, server, tools)")]
    Unknown,
    /// The target holds one server, and the file has another number of them.
    #[error("the file has {count} servers and the target has room for one; name it")]
    NotOne { count: usize },
    /// The file has no server of this name.
    #[error("the file has no server {name:?}")]
    NoSuchServer { name: String },
    /// The input has a fault.
    #[error(transparent)]
    Issue(#[from] Issue),
}

/// Returns the JSON text of a JSON or YAML file.
///
/// # Errors
/// If the file is neither, or uses YAML that is not supported.
pub fn json_text(bytes: &[u8]) -> Result<std::borrow::Cow<'_, str>, ConvertError> {
    let start = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match std::str::from_utf8(bytes) {
        Ok(text) if !matches!(start, Some(b'{' | b'[') | None) => Ok(yaml::to_json(text)?.into()),
        Ok(text) => Ok(text.into()),
        // The strict JSON reader reports the offset of the fault.
        Err(_) => match Document::parse(bytes, &Limits::file()) {
            Err(error) => Err(error.into()),
            Ok(_) => Err(ConvertError::Unknown),
        },
    }
}

/// Converts the content of a file.
///
/// # Errors
/// A [`ConvertError`]; no partial result is returned.
pub fn convert(bytes: &[u8], to: Format, options: &Options) -> Result<Converted, ConvertError> {
    let text = json_text(bytes)?;
    let document = Document::parse(text.as_bytes(), &Limits::file())?;
    let root = document.root();
    let from = options.from.or_else(|| Format::detect(root)).ok_or(ConvertError::Unknown)?;
    let mut report = Report::default();
    let text = walk(root, from, to, options, &mut report)?;
    Ok(Converted { text, from, report })
}

fn walk(
    root: Node<'_>,
    from: Format,
    to: Format,
    options: &Options,
    report: &mut Report,
) -> Result<String, ConvertError> {
    match (from, to) {
        (Format::Toolhive, Format::Toolhive)
        | (Format::Upstream, Format::Upstream)
        | (Format::Server, Format::Server)
        | (Format::Tools, Format::Tools) => Ok(root.to_compact()),
        (Format::Toolhive, _) if is_entry(root) => {
            let server = entry_alone(root, options, report)?;
            onward(&server, Format::Server, to, options, report)
        }
        (Format::Toolhive, _) => {
            let upstream = file::into_upstream(root, options.lenient, report)?;
            onward(&upstream, Format::Upstream, to, options, report)
        }
        (Format::Upstream, Format::Toolhive) => match only(root) {
            Some(server) if entry::stood_alone(server) => {
                let server = single::into_server(root)?;
                onward(&server, Format::Server, to, options, report)
            }
            _ => Ok(file::from_upstream(root, options.lenient, report)?),
        },
        (Format::Upstream, _) => {
            let server = match &options.name {
                Some(name) => chosen(root, name)?,
                None => {
                    let count = root.get("data").and_then(|data| data.get("servers")).map_or(0, Node::len);
                    if count != 1 {
                        return Err(ConvertError::NotOne { count });
                    }
                    single::into_server(root)?
                }
            };
            onward(&server, Format::Server, to, options, report)
        }
        (Format::Server, Format::Tools) => Ok(tools::from_server(root, report)?),
        (Format::Server, Format::Toolhive) if entry::stood_alone(root) => {
            Ok(entry::from(root, true, |_, _| false, report)?.text)
        }
        (Format::Server, _) => {
            let upstream = single::from_server(root, report)?;
            onward(&upstream, Format::Upstream, to, options, report)
        }
        (Format::Tools, _) => {
            let server = tools::into_server(root, options.name.as_deref(), report)?;
            onward(&server, Format::Server, to, options, report)
        }
    }
}

fn onward(
    text: &str,
    from: Format,
    to: Format,
    options: &Options,
    report: &mut Report,
) -> Result<String, ConvertError> {
    if from == to {
        return Ok(text.to_owned());
    }
    step::read(text, |root| walk(root, from, to, options, report))?
}

/// Returns true if a ToolHive document is a single entry, not a file.
fn is_entry(root: Node<'_>) -> bool {
    root.get(Kind::Image.member()).is_none()
        && root.get(Kind::Remote.member()).is_none()
        && (root.get("image").is_some() || root.get("url").is_some())
}

fn entry_alone(root: Node<'_>, options: &Options, report: &mut Report) -> Result<String, ConvertError> {
    let key = options.name.as_deref().unwrap_or("unnamed");
    Ok(entry::into_server(key, Kind::of(root), root, true, report)?)
}

fn only(root: Node<'_>) -> Option<Node<'_>> {
    root.get("data")?.get("servers").filter(|servers| servers.len() == 1)?.element(0)
}

/// Returns the server called `name`, by its full name or the last segment of it.
fn chosen(root: Node<'_>, name: &str) -> Result<String, ConvertError> {
    let servers = root.get("data").and_then(|data| data.get("servers"));
    let is = |server: &Node<'_>| {
        let own = server.get("name").and_then(Node::as_str).unwrap_or_default();
        own == name || own.rsplit('/').next() == Some(name)
    };
    let found = servers.into_iter().flat_map(Node::elements).find(is);
    found.map(Node::to_compact).ok_or_else(|| ConvertError::NoSuchServer { name: name.to_owned() })
}
