//! Conversion between the formats (R6.3): lossless both ways, stable in its order, strict in what it writes.

use toolcrib_contract::json::{Document, Limits, Node, ReadError};

use crate::format::Format;
use crate::issue::{Issue, Report};
use crate::step::{self, entry, file, single, tools};
use crate::toolhive::Kind;
use crate::yaml::{self, YamlError};

/// How to convert.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// The format of the input; found out by its shape where none is given.
    pub from: Option<Format>,
    /// Take what can be taken and note the rest, instead of stopping.
    pub lenient: bool,
    /// The name of a server that the input does not name, or the one server of a file that is wanted.
    pub name: Option<String>,
}

/// A converted document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Compact JSON.
    pub text: String,
    /// What the input was taken for.
    pub from: Format,
    /// What was noted on the way.
    pub report: Report,
}

/// Why nothing was converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// Not JSON, or over a limit.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Not YAML, or YAML that is not read.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// None of the formats.
    #[error("this is none of the known formats (toolhive, upstream, server, tools)")]
    Unknown,
    /// One server is needed, and the file has another number of them.
    #[error("the file has {count} servers and the target has room for one; name it")]
    NotOne { count: usize },
    /// The file has no server of this name.
    #[error("the file has no server {name:?}")]
    NoSuchServer { name: String },
    /// A fault of the input.
    #[error(transparent)]
    Issue(#[from] Issue),
}

/// JSON text of a file that is JSON or YAML.
///
/// # Errors
/// When it is neither, or its YAML is not read.
pub fn json_text(bytes: &[u8]) -> Result<std::borrow::Cow<'_, str>, ConvertError> {
    let start = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match std::str::from_utf8(bytes) {
        Ok(text) if !matches!(start, Some(b'{' | b'[') | None) => Ok(yaml::to_json(text)?.into()),
        Ok(text) => Ok(text.into()),
        // The strict reader says at which byte.
        Err(_) => match Document::parse(bytes, &Limits::file()) {
            Err(error) => Err(error.into()),
            Ok(_) => Err(ConvertError::Unknown),
        },
    }
}

/// Converts a file's bytes.
///
/// # Errors
/// A [`ConvertError`] that names the place; nothing is returned half made.
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

/// A ToolHive document that is one entry and no file.
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

/// The server called `name`, whole or by the last part of its name.
fn chosen(root: Node<'_>, name: &str) -> Result<String, ConvertError> {
    let servers = root.get("data").and_then(|data| data.get("servers"));
    let is = |server: &Node<'_>| {
        let own = server.get("name").and_then(Node::as_str).unwrap_or_default();
        own == name || own.rsplit('/').next() == Some(name)
    };
    let found = servers.into_iter().flat_map(Node::elements).find(is);
    found.map(Node::to_compact).ok_or_else(|| ConvertError::NoSuchServer { name: name.to_owned() })
}
