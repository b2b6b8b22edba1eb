//! Parameters of queries to the catalogue.

/// Position in the list: a page begins after this name and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    pub name: String,
    pub version: String,
}

/// Filters and page of a list of servers.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    pub after: Option<Cursor>,
    pub limit: u32,
    /// Part of the name, case-insensitive.
    pub search: Option<String>,
    /// Lower bound of the time of the last change, in the format in which times are stored.
    pub updated_since: Option<String>,
    /// `latest`, or an exact version.
    pub version: Option<String>,
    pub include_deleted: bool,
    /// `true` if the documents are read as well.
    pub documents: bool,
}

/// Words and filters of a search for tools.
#[derive(Debug, Clone, Default)]
pub struct ToolQuery {
    /// Words to match; without any, every tool matches.
    pub words: Vec<String>,
    /// Part of the server's name, case-insensitive.
    pub server: Option<String>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub has_output: Option<bool>,
    pub limit: u32,
    pub offset: u32,
}
