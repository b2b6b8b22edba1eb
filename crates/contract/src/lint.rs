//! Lint: what is wrong or unwise in a definition, told to its author before anybody calls it.
//!
//! A rule is data (`lint/rules/<id>.json`: level, title, why, fix), a check, a pair of fixtures
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

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Clients or models will do worse.
    Warning,
    /// Breaks the specification, a client, or the reader's trust.
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

/// A rule, as its file says it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Rule {
    /// `family.what`
    pub id: String,
    /// How bad it is.
    pub level: Level,
    /// The rule in a few words.
    pub title: String,
    /// What goes wrong for whom.
    pub why: String,
    /// What to do.
    pub fix: String,
}

/// Something a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// The rule's level.
    pub level: Level,
    /// Where in the definition.
    pub pointer: Pointer,
    /// What was found there. Hidden characters are escaped.
    pub message: String,
}

/// Everything lint has to say of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Findings, worst first, then in the order of the rules.
    pub findings: Vec<Finding>,
    /// What the definition costs in every prompt that lists it.
    pub size: Size,
}

/// What a check hands over; the rule's id and level are added to it.
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

/// All rules.
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
