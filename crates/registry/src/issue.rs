//! What is wrong in a catalogue file, by place: each fault has a code, a level and a JSON Pointer (R6.2).
//!
//! Reading is lenient: an issue is noted and the rest is taken. Whether an error stops the work is the caller's choice.

use toolcrib_contract::DefinitionError;
use toolcrib_contract::json::Pointer;

use crate::limits::REPORT_ISSUES_MAX;

/// How bad an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Said so that nothing happens silently.
    Note,
    /// Accepted, but not as the format has it.
    Warning,
    /// Against the format: a strict run stops here.
    Error,
}

impl Level {
    /// `note`, `warning` or `error`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What is wrong at a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Another JSON type than the format has here.
    #[error("expected {expected}, this is {found}")]
    Kind { expected: &'static str, found: &'static str },
    /// A member that the format requires.
    #[error("{member:?} is missing")]
    Missing { member: &'static str },
    /// A rule of the format's schema.
    #[error("{rule}")]
    Schema { rule: String },
    /// A tool definition that is none.
    #[error("{0}")]
    Definition(DefinitionError),
    /// A tool's schema that is no schema.
    #[error("no valid schema: {reason}")]
    ToolSchema { reason: String },
    /// The same server and version twice.
    #[error("{name} {version} stands here a second time")]
    DuplicateServer { name: String, version: String },
    /// The same tool twice in one server.
    #[error("the tool {name:?} stands here a second time")]
    DuplicateTool { name: String },
    /// No container image to make a ToolHive entry of.
    #[error("no OCI package and no remote: ToolHive's format cannot say this server")]
    NoOciPackage,
    /// More than one container image.
    #[error("{count} OCI packages: ToolHive's format has room for one")]
    SeveralOciPackages { count: usize },
    /// The URL of a transport has no usable port.
    #[error("the port of {url:?} is no port")]
    BadPort { url: String },
    /// A package without a string `identifier`, or a remote without a `url`.
    #[error("nothing names the image or URL")]
    NoSubject,
    /// Several extension blocks match.
    #[error("several extension blocks match this server: {}", keys.join(", "))]
    AmbiguousExtension { keys: Vec<String> },
    /// Extension blocks exist, but none for this image or URL.
    #[error("no extension block has the key {subject:?} (there are: {})", keys.join(", "))]
    UnmatchedExtension { subject: String, keys: Vec<String> },
    /// Text over the target's limit; the whole text is carried along.
    #[error("{member} has {found} characters and was shortened to {limit}; the whole text is carried along")]
    Shortened { member: &'static str, found: usize, limit: usize },
    /// A server that the target cannot say; it is carried along whole.
    #[error("{name} cannot be said in the target format and is carried along whole ({reason})")]
    CarriedWhole { name: String, reason: String },
    /// Something carried along no longer fits, because the document was edited meanwhile.
    #[error("what was carried along for this place no longer fits and was left out: the document was edited")]
    CarryLeftOut,
    /// An entry that could not be read and was left out.
    #[error("left out: {reason}")]
    LeftOut { reason: String },
    /// A server.json of an older schema.
    #[error("written for schema {found}, read as it is")]
    OldSchema { found: String },
    /// An extension over its target's budget.
    #[error("the publisher extension has {found} bytes, {target} takes {limit}")]
    OverBudget { found: usize, limit: usize, target: String },
    /// `tools` and the names of `tool_definitions` differ.
    #[error("tools differ from tool_definitions: {missing} not listed, {extra} without definition")]
    OutOfSync { missing: usize, extra: usize },
}

impl Fault {
    /// The rule's id.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Kind { .. } => "format.kind",
            Self::Missing { .. } => "format.missing",
            Self::Schema { .. } => "format.schema",
            Self::Definition(_) => "definition.invalid",
            Self::ToolSchema { .. } => "definition.schema",
            Self::DuplicateServer { .. } => "server.duplicate",
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

    /// How bad it is.
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

/// A fault and its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {fault}")]
pub struct Issue {
    /// Where in the document.
    pub pointer: Pointer,
    /// What is wrong.
    pub fault: Fault,
}

impl Issue {
    /// `fault` at `pointer`.
    #[must_use]
    pub fn new(pointer: Pointer, fault: Fault) -> Self {
        Self { pointer, fault }
    }

    /// How bad it is.
    #[must_use]
    pub const fn level(&self) -> Level {
        self.fault.level()
    }
}

/// Everything that was found, in the order of the document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    issues: Vec<Issue>,
    more: usize,
}

impl Report {
    /// Notes `fault` at `pointer`.
    pub fn note(&mut self, pointer: Pointer, fault: Fault) {
        self.push(Issue::new(pointer, fault));
    }

    /// Notes an issue.
    pub fn push(&mut self, issue: Issue) {
        if self.issues.len() < REPORT_ISSUES_MAX {
            self.issues.push(issue);
        } else {
            self.more += 1;
        }
    }

    /// Takes over the issues of `other`, which concern the part of the document at `place`.
    pub fn absorb(&mut self, place: &Pointer, other: Self) {
        for issue in other.issues {
            let pointer = Pointer::from_escaped(format!("{}{}", place.as_str(), issue.pointer.as_str()));
            self.push(Issue::new(pointer, issue.fault));
        }
        self.more += other.more;
    }

    /// The same issues at other places.
    pub(crate) fn moved(mut self, to: impl Fn(&Pointer) -> Pointer) -> Self {
        for issue in &mut self.issues {
            issue.pointer = to(&issue.pointer);
        }
        self
    }

    /// The issues.
    #[must_use]
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// Issues beyond [`REPORT_ISSUES_MAX`].
    #[must_use]
    pub const fn more(&self) -> usize {
        self.more
    }

    /// The first issue that stops a strict run.
    #[must_use]
    pub fn first_error(&self) -> Option<&Issue> {
        self.issues.iter().find(|issue| issue.level() == Level::Error)
    }

    /// Issues of `level`.
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
