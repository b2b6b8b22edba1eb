//! What stands in the catalogue, and what is put there.

use super::shelves::Replaces;

/// Whether a version is to be used.
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

/// A change of status, and when it was made.
#[derive(Debug, Clone, Copy)]
pub struct StatusChange<'c> {
    pub status: Status,
    pub message: Option<&'c str>,
    pub now: &'c str,
}

/// One version of a server, as it is listed.
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
    /// The digest of the document.
    pub digest: String,
    /// server.json; empty where it was not asked for.
    pub document: String,
}

/// One tool of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRow {
    pub name: String,
    /// The definition's text as given.
    pub definition: String,
    /// The digest of the definition; none where a number in it has no canonical form.
    pub digest: Option<String>,
}

/// A tool that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolHit {
    pub server: String,
    pub version: String,
    pub tool: String,
    pub definition: String,
    pub digest: Option<String>,
}

/// A version of a server to be kept.
#[derive(Debug, Clone)]
pub struct NewServer {
    pub name: String,
    pub version: String,
    pub title: Option<String>,
    pub description: String,
    pub status: Status,
    /// server.json as given.
    pub document: String,
    pub digest: String,
    pub tools: Vec<NewTool>,
    /// Whether it becomes the latest of its name, given the version that is the latest now.
    pub replaces: Replaces,
}

/// A tool to be kept.
#[derive(Debug, Clone)]
pub struct NewTool {
    pub name: String,
    pub definition: String,
    pub digest: Option<String>,
    pub read_only: bool,
    pub destructive: bool,
    pub has_output: bool,
    /// The words that a name is made of.
    pub words: String,
    pub description: String,
    /// Names and descriptions of its parameters.
    pub parameters: String,
}

/// What became of a server that was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It was not there.
    Added,
    /// The same document was there.
    Same,
    /// Another document of the same version is there; nothing was changed.
    Conflict,
}
