//! Rules as data: one file each under `rules/`, with an old/new pair that triggers it.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use crate::level::{Bump, Group, Level};

/// Level of a rule's findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleLevel {
    /// Always breaking.
    Breaking,
    /// Always dangerous.
    Dangerous,
    /// Always compatible.
    Compatible,
    /// Always unknown.
    Unknown,
    /// Decided by proof or witness.
    Containment,
}

impl RuleLevel {
    /// Returns the level, if the rule fixes it.
    pub const fn fixed(self) -> Option<Level> {
        match self {
            RuleLevel::Breaking => Some(Level::Breaking),
            RuleLevel::Dangerous => Some(Level::Dangerous),
            RuleLevel::Compatible => Some(Level::Compatible),
            RuleLevel::Unknown => Some(Level::Unknown),
            RuleLevel::Containment => None,
        }
    }
}

/// Rule for one kind of change.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Stable id, which findings carry.
    pub id: String,
    /// Group of its findings.
    pub group: Group,
    /// `definition`, `input`, `output`, or `schema` for both.
    pub direction: String,
    /// Level of its findings.
    pub level: RuleLevel,
    /// Version step of a compatible or dangerous finding.
    pub bump: Bump,
    /// Message template about the consequence; `{old}`, `{new}` and `{name}` are replaced.
    pub message: String,
    /// URL of the rationale.
    pub reference: String,
    /// Advice for the author.
    pub fix: String,
    /// Tools before the example change.
    pub old: Vec<Value>,
    /// Tools after the example change.
    pub new: Vec<Value>,
}

macro_rules! files {
    ($($id:literal),* $(,)?) => { [$(include_str!(concat!("../rules/", $id, ".json"))),*] };
}

/// Embedded rule files; a test compares this list with the folder.
const FILES: [&str; 56] = files![
    "additional.changed",
    "additional.closed",
    "annotation.changed",
    "audience.changed",
    "bound.changed",
    "bound.js-safe-int",
    "composition.changed",
    "const.changed",
    "default.changed",
    "dialect.changed",
    "enum.changed",
    "enum.value-added",
    "enum.value-removed",
    "format.changed",
    "header.changed",
    "icons.changed",
    "input.invalid",
    "input.restored",
    "items.changed",
    "meta.changed",
    "output.added",
    "output.removed",
    "pattern.changed",
    "priority.changed",
    "property.added",
    "property.added-required",
    "property.ignored",
    "property.removed",
    "property.renamed",
    "reference.changed",
    "required.added",
    "required.removed",
    "safety.cosmetic",
    "safety.destructive-dropped",
    "safety.destructive-gained",
    "safety.idempotent-gained",
    "safety.idempotent-lost",
    "safety.openworld-dropped",
    "safety.openworld-gained",
    "safety.readonly-claimed",
    "safety.readonly-lost",
    "schema.changed",
    "schema.combined",
    "schema.invalid",
    "schema.unknown",
    "security.text",
    "task.changed",
    "text.description",
    "text.param",
    "title.changed",
    "tool.added",
    "tool.removed",
    "tool.renamed",
    "tool.shadowing",
    "type.changed",
    "vendor.changed",
];

static RULES: LazyLock<Vec<Rule>> =
    LazyLock::new(|| FILES.iter().filter_map(|text| serde_json::from_str(text).ok()).collect());

/// Returns every rule, ordered by id.
pub fn rules() -> &'static [Rule] {
    &RULES
}

/// Returns the rule with this id.
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().iter().find(|rule| rule.id == id)
}
