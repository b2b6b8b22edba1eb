//! Rows of the catalogue, and the values that are inserted.

use super::shelves::Replaces;

/// Status of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Active,
    Deprecated,
    Deleted,
}

impl Status {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Deprecated => "deprecated",
            Self::Deleted => "deleted",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Active, Self::Deprecated, Self::Deleted].into_iter().find(|status| status.name() == name)
    }
}

/// A change of status and its time.
#[derive(Debug, Clone, Copy)]
pub struct StatusChange<'c> {
    pub status: Status,
    pub message: Option<&'c str>,
    pub now: &'c str,
}

/// One version of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRow {
    pub name: String,
    pub version: String,
    pub title: Option<String>,
    pub description: String,
    pub status: Status,
    pub status_message: Option<String>,
    pub status_changed_at: String,
    pub published_at: String,
    pub updated_at: String,
    pub is_latest: bool,
    pub tool_count: u32,
    /// Digest of the document.
    pub digest: String,
    /// Text of server.json; empty if the query did not ask for it.
    pub document: String,
}

/// One tool of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRow {
    pub name: String,
    /// Text of the definition as given.
    pub definition: String,
    /// Digest of the definition; `None` if a number in it has no canonical form.
    pub digest: Option<String>,
}

/// A tool that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolHit {
    pub server: String,
    pub version: String,
    pub tool: String,
    pub definition: String,
    pub digest: Option<String>,
}

/// A version of a server to be inserted.
#[derive(Debug, Clone)]
pub struct NewServer {
    pub name: String,
    pub version: String,
    pub title: Option<String>,
    pub description: String,
    pub status: Status,
    /// Text of server.json as given.
    pub document: String,
    pub digest: String,
    pub tools: Vec<NewTool>,
    /// Decides if this version becomes the latest of its name, given the current latest version.
    pub replaces: Replaces,
}

/// A tool to be inserted.
#[derive(Debug, Clone)]
pub struct NewTool {
    pub name: String,
    pub definition: String,
    pub digest: Option<String>,
    pub read_only: bool,
    pub destructive: bool,
    pub has_output: bool,
    /// Words of the tool's name.
    pub words: String,
    pub description: String,
    /// Names and descriptions of the tool's parameters.
    pub parameters: String,
}

/// Result of inserting a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The version was inserted.
    Added,
    /// A version with this document was already stored.
    Same,
    /// Another document of the same version is stored; nothing was changed.
    Conflict,
}
