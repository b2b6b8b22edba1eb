//! ToolHive's own registry format: a file with one map of image entries and one of remote entries.
//!
//! `to_server` and `from_server` are the plain mappings of the reference converter, entry by entry. [`crate::carry`]
//! handles what they cannot express.

pub(crate) mod from_server;
pub(crate) mod input;
pub(crate) mod to_server;

use toolcrib_contract::json::Node;

/// Prefix of the full name of a key without a slash.
pub(crate) const NAME_PREFIX: &str = "io.github.stacklok/";

/// Map that an entry belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Image,
    Remote,
}

impl Kind {
    /// Determines the kind by the entry's members.
    pub(crate) fn of(entry: Node<'_>) -> Self {
        let text = |key: &str| entry.get(key).and_then(Node::as_str).is_some();
        if text("url") && !text("image") { Self::Remote } else { Self::Image }
    }

    /// Returns the member of the file that has entries of this kind.
    pub(crate) const fn member(self) -> &'static str {
        match self {
            Self::Image => "servers",
            Self::Remote => "remote_servers",
        }
    }
}

/// Returns the full name of `key`.
pub(crate) fn full_name(key: &str) -> String {
    if key.contains('/') { key.to_owned() } else { format!("{NAME_PREFIX}{key}") }
}

/// Returns the key of a server with this name.
pub(crate) fn key_of(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
