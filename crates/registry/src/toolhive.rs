//! ToolHive's own registry format: a file of entries by key, image entries and remote entries apart.
//!
//! `to_server` and `from_server` are the plain mappings of the reference converter, entry by entry; what they cannot
//! say is the business of [`crate::carry`].

pub(crate) mod from_server;
pub(crate) mod input;
pub(crate) mod to_server;

use toolcrib_contract::json::Node;

/// The name that a bare key stands for.
pub(crate) const NAME_PREFIX: &str = "io.github.stacklok/";

/// Which of the two maps an entry stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Image,
    Remote,
}

impl Kind {
    /// What `entry` is, by its own members.
    pub(crate) fn of(entry: Node<'_>) -> Self {
        let text = |key: &str| entry.get(key).and_then(Node::as_str).is_some();
        if text("url") && !text("image") { Self::Remote } else { Self::Image }
    }

    /// The member of the file that has such entries.
    pub(crate) const fn member(self) -> &'static str {
        match self {
            Self::Image => "servers",
            Self::Remote => "remote_servers",
        }
    }
}

/// The full name that `key` stands for.
pub(crate) fn full_name(key: &str) -> String {
    if key.contains('/') { key.to_owned() } else { format!("{NAME_PREFIX}{key}") }
}

/// The key of a server with this name.
pub(crate) fn key_of(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
