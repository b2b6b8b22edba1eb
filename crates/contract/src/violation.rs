//! Violations of a schema, described so that a person or a model can repair the value (R1.8).
//!
//! Each violation names the instance path, the schema path, the keyword, the expectation, the actual value
//! (shortened), the allowed values of an enum, and for an unknown or missing property the nearest known one. Values
//! that look like secrets are always masked; the `_masked` forms show no value at all.

mod nearest;
mod shown;

use std::fmt::{self, Write as _};

pub use nearest::nearest;
pub use shown::Shown;
pub(crate) use shown::{counted, is_secret, quoted, shortened_json};

use crate::json::{Node, Pointer};

/// Violation of one keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// Place in the value.
    pub instance_path: Pointer,
    /// Place in the schema.
    pub schema_path: Pointer,
    /// The keyword that was violated.
    pub keyword: String,
    /// Description of a valid value.
    pub expected: String,
    /// The actual value, if showing it helps.
    pub found: Option<Shown>,
    /// The allowed values of an `enum` or `const`, as JSON, at most
    /// [`crate::limits::VIOLATION_ALLOWED_MAX`].
    pub allowed: Vec<String>,
    /// The known name nearest to the wrong one.
    pub nearest: Option<Nearest>,
    /// For `anyOf` and `oneOf`: violations of the closest branch.
    pub causes: Vec<Violation>,
}

/// Pair of a wrong name and the known name that was probably meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The name in the value.
    pub given: String,
    /// The name in the schema.
    pub known: String,
}

impl Violation {
    /// One sentence without line breaks: `/units: expected one of "c", "f"; got "k"`.
    #[must_use]
    pub fn one_line(&self) -> String {
        self.line(false)
    }

    /// The sentence of [`Violation::one_line`] without the actual value.
    #[must_use]
    pub fn one_line_masked(&self) -> String {
        self.line(true)
    }

    fn line(&self, masked: bool) -> String {
        let mut out = format!("{}: expected {}", self.instance_path, self.expected);
        if let Some(found) = &self.found {
            let _ = write!(out, "; got {}", if masked { found.masked() } else { found.text() });
        }
        if let Some(nearest) = &self.nearest {
            let _ = write!(out, " (did you mean {:?} instead of {:?}?)", nearest.known, nearest.given);
        }
        if let Some(cause) = self.causes.first() {
            let _ = write!(out, " (closest: {})", cause.line(masked));
        }
        out
    }

    /// Bytes of text in this violation and its causes.
    pub(crate) fn bytes(&self) -> usize {
        let found = self.found.as_ref().map_or(0, |found| found.text().len());
        let allowed: usize = self.allowed.iter().map(String::len).sum();
        let nearest = self.nearest.as_ref().map_or(0, |nearest| nearest.given.len() + nearest.known.len());
        let causes: usize = self.causes.iter().map(Self::bytes).sum();
        let paths = self.instance_path.as_str().len() + self.schema_path.as_str().len();
        paths + self.expected.len() + found + allowed + nearest + causes
    }

    fn write_full(&self, out: &mut String, indent: usize, masked: bool) {
        let pad = " ".repeat(indent);
        let _ = writeln!(out, "{pad}{}", Self { causes: Vec::new(), ..self.clone() }.line(masked));
        let _ = writeln!(out, "{pad}  rule: {} at {}", self.keyword, self.schema_path);
        if !self.allowed.is_empty() {
            let _ = writeln!(out, "{pad}  allowed: {}", self.allowed.join(", "));
        }
        if !self.causes.is_empty() {
            let _ = writeln!(out, "{pad}  the closest alternative refused:");
            for cause in &self.causes {
                cause.write_full(out, indent + 4, masked);
            }
        }
    }
}

/// Violations of one check; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violations {
    list: Vec<Violation>,
    ended: Option<Ended>,
}

/// Limit that ended a check or its explanation early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ended {
    /// The maximum number of violations was reported.
    Violations,
    /// The report has reached its maximum of bytes.
    Bytes,
    /// The explanation has used up its steps.
    Steps,
    /// The explanation has used up its stack.
    Depth,
    /// The check itself has used up its steps: nothing is known about the value.
    CheckSteps,
    /// The check itself has used up its stack: nothing is known about the value.
    CheckStack,
    /// A text is too long for the regular expressions it is matched against: nothing is known about the value.
    CheckPattern,
}

impl Ended {
    /// Name of the constant in LIMITS.md.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Violations => "VIOLATIONS_MAX",
            Self::Bytes => "VIOLATION_BYTES_MAX",
            Self::Steps => "VIOLATION_STEPS_MAX",
            Self::CheckSteps => "CHECK_STEPS_MAX",
            Self::CheckPattern => "CHECK_PATTERN_PAIRS_MAX",
            Self::Depth | Self::CheckStack => "CHECK_STACK_BYTES_MAX",
        }
    }
}

impl Violations {
    pub(crate) fn new(list: Vec<Violation>, ended: Option<Ended>) -> Self {
        Self { list, ended }
    }

    /// Creates a refusal without any detail but the value.
    pub(crate) fn unexplained(instance: Node<'_>, ended: Option<Ended>) -> Self {
        Self::whole(instance, "a value that the schema accepts".to_owned(), ended)
    }

    /// Creates the refusal of a value that could not be checked within its limits.
    pub(crate) fn unchecked(instance: Node<'_>, limit: Ended) -> Self {
        let expected = format!(
            "a value that can be checked against its schema within {}: send less at once",
            limit.name()
        );
        Self::whole(instance, expected, Some(limit))
    }

    fn whole(instance: Node<'_>, expected: String, ended: Option<Ended>) -> Self {
        let violation = Violation {
            instance_path: Pointer::root(),
            schema_path: Pointer::root(),
            keyword: "schema".to_owned(),
            expected,
            found: Some(Shown::of(instance, &Pointer::root())),
            allowed: Vec::new(),
            nearest: None,
            causes: Vec::new(),
        };
        Self { list: vec![violation], ended }
    }

    /// The violations, in the order in which they were found.
    #[must_use]
    pub fn as_slice(&self) -> &[Violation] {
        &self.list
    }

    /// Limit that ended the check or explanation; `None` if every violation is listed.
    #[must_use]
    pub const fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// `true` if a larger budget would report more: the check or its explanation has used up its steps.
    #[must_use]
    pub const fn is_unfinished(&self) -> bool {
        matches!(self.ended, Some(Ended::Steps | Ended::CheckSteps))
    }

    /// Closing words of an explanation that ended early.
    fn rest(&self) -> Option<String> {
        match self.ended? {
            Ended::Violations => Some("and more".to_owned()),
            Ended::CheckSteps | Ended::CheckStack | Ended::CheckPattern => None,
            ended => Some(format!("the explanation ended at {}", ended.name())),
        }
    }

    /// All violations in one line, separated by ` | `.
    #[must_use]
    pub fn one_line(&self) -> String {
        self.lines(Violation::one_line, " | ")
    }

    /// All violations, one per line.
    #[must_use]
    pub fn list(&self) -> String {
        self.lines(Violation::one_line, "\n")
    }

    /// All violations in one line, without actual values.
    #[must_use]
    pub fn one_line_masked(&self) -> String {
        self.lines(Violation::one_line_masked, " | ")
    }

    fn lines(&self, line: impl Fn(&Violation) -> String, separator: &str) -> String {
        let mut lines: Vec<_> = self.list.iter().map(line).collect();
        lines.extend(self.rest());
        lines.join(separator)
    }

    /// All violations over several lines, each with its keyword, place in the schema, allowed values and causes.
    #[must_use]
    pub fn full(&self) -> String {
        self.render_full(false)
    }

    /// The text of [`Violations::full`] without actual values.
    #[must_use]
    pub fn full_masked(&self) -> String {
        self.render_full(true)
    }

    fn render_full(&self, masked: bool) -> String {
        let mut out = String::new();
        for violation in &self.list {
            violation.write_full(&mut out, 0, masked);
        }
        out.extend(self.rest());
        out.truncate(out.trim_end().len());
        out
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.one_line())
    }
}

impl std::error::Error for Violations {}

#[cfg(test)]
mod tests;
