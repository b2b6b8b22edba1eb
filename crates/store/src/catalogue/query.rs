//! What of the catalogue is wanted.

/// Where a page begins: after this name and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    pub name: String,
    pub version: String,
}

/// What of the list is wanted.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    pub after: Option<Cursor>,
    pub limit: u32,
    /// A part of the name, whatever its case.
    pub search: Option<String>,
    /// Changed at this time or later, as the store writes times.
    pub updated_since: Option<String>,
    /// `latest`, or an exact version.
    pub version: Option<String>,
    pub include_deleted: bool,
    /// Read the documents as well.
    pub documents: bool,
}

/// What is looked for among the tools.
#[derive(Debug, Clone, Default)]
pub struct ToolQuery {
    /// Words; none finds every tool.
    pub words: Vec<String>,
    /// A part of the server's name, whatever its case.
    pub server: Option<String>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub has_output: Option<bool>,
    pub limit: u32,
    pub offset: u32,
}
