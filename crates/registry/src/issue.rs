//! Issues found in a catalogue file: each has a code, a level and a JSON Pointer (R6.2).
//!
//! Reading is lenient: an issue is noted and the rest is read. The caller decides whether an error stops the work.

use toolcrib_contract::DefinitionError;
use toolcrib_contract::json::Pointer;

use crate::limits::REPORT_ISSUES_MAX;

/// Severity of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Information, so that nothing happens silently.
    Note,
    /// Accepted, although the format has it otherwise.
    Warning,
    /// Violates the format; a strict run stops here.
    Error,
}

impl Level {
    /// Returns `note`, `warning` or `error`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Kind of an issue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Value of another JSON type than the format requires.
    #[error("expected {expected}, this is {found}")]
    Kind { expected: &'static str, found: &'static str },
    /// Missing required member.
    #[error("{member:?} is missing")]
    Missing { member: &'static str },
    /// Violated rule of the format's schema.
    #[error("{rule}")]
    Schema { rule: String },
    /// Invalid tool definition.
    #[error("{0}")]
    Definition(DefinitionError),
    /// Invalid schema of a tool.
    #[error("no valid schema: {reason}")]
    ToolSchema { reason: String },
    /// Repeated server of the same version.
    #[error("{name} {version} stands here a second time")]
    DuplicateServer { name: String, version: String },
    /// Version that the catalogue has with another document.
    #[error("{name} {version} is in the catalogue with another document")]
    ChangedServer { name: String, version: String },
    /// Repeated tool name in one server.
    #[error("the tool {name:?} stands here a second time")]
    DuplicateTool { name: String },
    /// Neither a container image nor a remote to make a ToolHive entry of.
    #[error("no OCI package and no remote: ToolHive's format cannot say this server")]
    NoOciPackage,
    /// More than one container image.
    #[error("{count} OCI packages: ToolHive's format has room for one")]
    SeveralOciPackages { count: usize },
    /// Transport URL without a usable port.
    #[error("the port of {url:?} is no port")]
    BadPort { url: String },
    /// Package without a string `identifier`, or remote without a `url`.
    #[error("nothing names the image or URL")]
    NoSubject,
    /// Several matching extension blocks.
    #[error("several extension blocks match this server: {}", keys.join(", "))]
    AmbiguousExtension { keys: Vec<String> },
    /// Extension blocks, but none for this image or URL.
    #[error("no extension block has the key {subject:?} (there are: {})", keys.join(", "))]
    UnmatchedExtension { subject: String, keys: Vec<String> },
    /// Text over the target's limit. The full text is carried along.
    #[error("{member} has {found} characters and was shortened to {limit}; the whole text is carried along")]
    Shortened { member: &'static str, found: usize, limit: usize },
    /// Server that the target cannot express. The full server is carried along.
    #[error("{name} cannot be said in the target format and is carried along whole ({reason})")]
    CarriedWhole { name: String, reason: String },
    /// Carried patch that no longer applies, because the document was edited in between.
    #[error("what was carried along for this place no longer fits and was left out: the document was edited")]
    CarryLeftOut,
    /// Unreadable entry that was left out.
    #[error("left out: {reason}")]
    LeftOut { reason: String },
    /// server.json of an older schema.
    #[error("written for schema {found}, read as it is")]
    OldSchema { found: String },
    /// Extension over its target's budget.
    #[error("the publisher extension has {found} bytes, {target} takes {limit}")]
    OverBudget { found: usize, limit: usize, target: String },
    /// `tools` that differ from the names of `tool_definitions`.
    #[error("tools differ from tool_definitions: {missing} not listed, {extra} without definition")]
    OutOfSync { missing: usize, extra: usize },
}

impl Fault {
    /// Returns the code of the fault.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Kind { .. } => "format.kind",
            Self::Missing { .. } => "format.missing",
            Self::Schema { .. } => "format.schema",
            Self::Definition(_) => "definition.invalid",
            Self::ToolSchema { .. } => "definition.schema",
            Self::DuplicateServer { .. } => "server.duplicate",
            Self::ChangedServer { .. } => "server.changed",
            Self::DuplicateTool { .. } => "tool.duplicate",
            Self::NoOciPackage => "convert.no-oci",
            Self::SeveralOciPackages { .. } => "convert.several-oci",
            Self::BadPort { .. } => "convert.port",
            Self::NoSubject => "extension.no-subject",
            Self::AmbiguousExtension { .. } => "extension.ambiguous",
            Self::UnmatchedExtension { .. } => "extension.unmatched",
            Self::Shortened { .. } => "convert.shortened",
            Self::CarriedWhole { .. } => "convert.carried-whole",
            Self::CarryLeftOut => "carry.edited",
            Self::LeftOut { .. } => "format.left-out",
            Self::OldSchema { .. } => "format.old-schema",
            Self::OverBudget { .. } => "budget.over",
            Self::OutOfSync { .. } => "tools.out-of-sync",
        }
    }

    /// Returns the severity of the fault.
    #[must_use]
    pub const fn level(&self) -> Level {
        match self {
            Self::Shortened { .. } | Self::OldSchema { .. } => Level::Note,
            Self::CarriedWhole { .. }
            | Self::CarryLeftOut
            | Self::UnmatchedExtension { .. }
            | Self::OutOfSync { .. } => Level::Warning,
            _ => Level::Error,
        }
    }
}

/// Fault with its location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {fault}")]
pub struct Issue {
    /// Location in the document.
    pub pointer: Pointer,
    /// Kind of the fault.
    pub fault: Fault,
}

impl Issue {
    /// Creates the issue of `fault` at `pointer`.
    #[must_use]
    pub fn new(pointer: Pointer, fault: Fault) -> Self {
        Self { pointer, fault }
    }

    /// Returns the severity.
    #[must_use]
    pub const fn level(&self) -> Level {
        self.fault.level()
    }
}

/// Issues of a document, in document order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    issues: Vec<Issue>,
    more: usize,
}

impl Report {
    /// Adds `fault` at `pointer`.
    pub fn note(&mut self, pointer: Pointer, fault: Fault) {
        self.push(Issue::new(pointer, fault));
    }

    /// Adds an issue, or only counts it if the report has [`REPORT_ISSUES_MAX`].
    pub fn push(&mut self, issue: Issue) {
        if self.issues.len() < REPORT_ISSUES_MAX {
            self.issues.push(issue);
        } else {
            self.more += 1;
        }
    }

    /// Adds the issues of `other`, whose locations are relative to `place`.
    pub fn absorb(&mut self, place: &Pointer, other: Self) {
        for issue in other.issues {
            let pointer = Pointer::from_escaped(format!("{}{}", place.as_str(), issue.pointer.as_str()));
            self.push(Issue::new(pointer, issue.fault));
        }
        self.more += other.more;
    }

    /// Returns the issues with their locations mapped by `to`.
    pub(crate) fn moved(mut self, to: impl Fn(&Pointer) -> Pointer) -> Self {
        for issue in &mut self.issues {
            issue.pointer = to(&issue.pointer);
        }
        self
    }

    /// Returns the issues.
    #[must_use]
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// Returns the number of issues beyond [`REPORT_ISSUES_MAX`].
    #[must_use]
    pub const fn more(&self) -> usize {
        self.more
    }

    /// Returns the first issue that stops a strict run.
    #[must_use]
    pub fn first_error(&self) -> Option<&Issue> {
        self.issues.iter().find(|issue| issue.level() == Level::Error)
    }

    /// Returns the number of issues of `level`.
    #[must_use]
    pub fn count(&self, level: Level) -> usize {
        self.issues.iter().filter(|issue| issue.level() == level).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_bounded_and_counts_the_rest() {
        let mut report = Report::default();
        for _ in 0..REPORT_ISSUES_MAX + 3 {
            report.note(Pointer::root(), Fault::NoSubject);
        }
        assert_eq!((report.issues().len(), report.more()), (REPORT_ISSUES_MAX, 3));
    }

    #[test]
    fn absorbed_issues_keep_their_place() {
        let mut inner = Report::default();
        inner.note(Pointer::root().join("name"), Fault::Missing { member: "name" });
        let mut outer = Report::default();
        outer.absorb(&Pointer::root().join("servers").join("a/b"), inner);
        assert_eq!(outer.issues()[0].to_string(), "/servers/a~1b/name: \"name\" is missing");
    }
}
