//! Lint: reports errors and weaknesses of a definition to its author.
//!
//! A rule is data (`lint/rules/<id>.json`: level, title, why, fix), a check function, a pair of fixtures
//! (`lint/fixtures/<id>.bad.json`, `.good.json`) and a snapshot. Every rule runs on every fixture.

mod annotations;
mod header;
mod schema;
mod size;
mod text;

use std::sync::LazyLock;

use serde::Deserialize;

pub use size::Size;

use crate::definition::Definition;
use crate::json::Pointer;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Information without consequences.
    Info,
    /// Clients or models work less well.
    Warning,
    /// Violates the specification, breaks a client, or deceives the reader.
    Error,
}

impl Level {
    /// `info`, `warning` or `error`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Rule as its JSON file describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Rule {
    /// Identifier, `family.name`.
    pub id: String,
    /// Severity of its findings.
    pub level: Level,
    /// Short title.
    pub title: String,
    /// Consequences, and who suffers them.
    pub why: String,
    /// Advice on how to repair it.
    pub fix: String,
}

/// Finding of one rule at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// The rule's level.
    pub level: Level,
    /// Place in the definition.
    pub pointer: Pointer,
    /// Description of the finding, with hidden characters escaped.
    pub message: String,
}

/// Result of linting one definition.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Findings by descending level, then in the order of the rules.
    pub findings: Vec<Finding>,
    /// Size of the definition in every prompt that lists it.
    pub size: Size,
}

/// Place and message of a finding; [`lint`] adds the rule's id and level.
type Found = (Pointer, String);
type Check = fn(&Definition, &mut Vec<Found>);

struct Entry {
    rule: Rule,
    id: &'static str,
    check: Check,
}

macro_rules! rules {
    ($($id:literal => $check:path),* $(,)?) => {
        const SOURCES: &[(&str, &str, Check)] =
            &[$(($id, include_str!(concat!("lint/rules/", $id, ".json")), $check)),*];
    };
}

rules! {
    "name.invalid" => text::name_invalid,
    "description.missing" => text::description_missing,
    "text.hidden" => text::hidden,
    "hints.contradictory" => annotations::contradictory,
    "annotations.type" => annotations::wrong_type,
    "input.missing" => schema::input_missing,
    "input.not-object" => schema::input_not_object,
    "schema.refused" => schema::refused,
    "param.description-missing" => schema::parameter_description_missing,
    "required.undescribed" => schema::required_undescribed,
    "header.token" => header::token,
    "header.duplicate" => header::duplicate,
    "header.type" => header::wrong_type,
    "header.place" => header::wrong_place,
    "header.secret" => header::secret,
    "size.large" => size::large,
}

static RULES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    SOURCES
        .iter()
        .filter_map(|&(id, source, check)| {
            Some(Entry { rule: serde_json::from_str(source).ok()?, id, check })
        })
        .collect()
});

/// Returns all rules.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().map(|entry| &entry.rule)
}

/// Runs every rule on `definition`.
#[must_use]
pub fn lint(definition: &Definition) -> Report {
    let mut findings = Vec::new();
    let mut found = Vec::new();
    for entry in RULES.iter() {
        (entry.check)(definition, &mut found);
        findings.extend(found.drain(..).map(|(pointer, message)| Finding {
            rule: entry.id,
            level: entry.rule.level,
            pointer,
            message: crate::text::escaped(&message),
        }));
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    Report { findings, size: Size::of(definition) }
}

#[cfg(test)]
mod tests;
