//! Errors in a configuration file, with their place.

use std::path::{Path, PathBuf};

use crate::limits::{CONFIG_BYTES_MAX, UPSTREAMS_MAX};

/// Line and column, counted from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset.min(text.len())).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        }
    }
}

/// Returns the offset of the value at a path of keys, or of the path's last existing key; `None` if fewer than `least`
/// keys exist.
pub(super) fn in_toml(text: &str, path: &[&str], least: usize) -> Option<usize> {
    let document = toml::de::DeTable::parse(text).ok()?;
    let mut table = document.get_ref();
    let (mut depth, mut offset) = (0, None);
    for part in path {
        let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref() == part) else { break };
        depth += 1;
        offset = Some(key.span().start);
        match value.get_ref() {
            toml::de::DeValue::Table(inner) => table = inner,
            _ => {
                offset = Some(value.span().start);
                break;
            }
        }
    }
    offset.filter(|_| depth >= least)
}

/// The offset in JSON, approximated by searching for one quoted key after the other.
pub(super) fn in_json(text: &str, path: &[&str], least: usize) -> Option<usize> {
    let (mut depth, mut offset) = (0, None);
    let mut from = 0;
    for part in path {
        let quoted = format!("\"{part}\"");
        let Some(at) = text.get(from..).and_then(|rest| rest.find(&quoted)) else { break };
        depth += 1;
        offset = Some(from + at);
        from += at + quoted.len();
    }
    offset.filter(|_| depth >= least)
}

/// Reason why a configuration file is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    #[error("cannot be read: {}", std::io::Error::from(*.0))]
    Unreadable(std::io::ErrorKind),
    #[error("CONFIG_BYTES_MAX: a configuration has at most {CONFIG_BYTES_MAX} bytes")]
    TooLarge,
    #[error("{0}")]
    Syntax(String),
    #[error("names no servers; expected [servers.NAME], \"mcpServers\", \"servers\" or [mcp_servers.NAME]")]
    NoServers,
    #[error("UPSTREAMS_MAX: at most {UPSTREAMS_MAX} servers stand behind one gateway")]
    TooManyServers,
    #[error("server {0:?} needs either a command or a url")]
    NoTransport(String),
    #[error("server {0:?} has both a command and a url")]
    TwoTransports(String),
    #[error("the variable {0} is not set, or is empty")]
    MissingVariable(String),
    #[error("{0:?} is no variable; expected ${{NAME}} or ${{NAME:-default}}")]
    BadVariable(String),
    #[error("{0} asks a person for a value, which a gateway cannot do; set it as ${{NAME}}")]
    AsksForInput(String),
    #[error("server {0:?} stands there twice")]
    Twice(String),
    #[error("{path} cannot be read: {}", std::io::Error::from(*kind))]
    UnreadableSecret { path: String, kind: std::io::ErrorKind },
    #[error("{0}")]
    Value(String),
}

/// Error of a file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    pub path: PathBuf,
    pub place: Option<Place>,
    pub problem: Problem,
}

impl ConfigError {
    pub(crate) fn whole(path: &Path, problem: Problem) -> Self {
        Self { path: path.to_owned(), place: None, problem }
    }

    pub(crate) fn at(path: &Path, text: &str, offset: Option<usize>, problem: Problem) -> Self {
        Self { path: path.to_owned(), place: offset.map(|offset| Place::of(text, offset)), problem }
    }
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(Place { line, column }) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for ConfigError {}
