//! Rules are data: one file each under `rules/`, with the pair that shows it.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use crate::level::{Bump, Group, Level};

/// The level a rule gives.
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
    /// By proof or witness.
    Containment,
}

impl RuleLevel {
    /// The level, where the rule itself fixes it.
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

/// One rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The stable name findings carry.
    pub id: String,
    /// Which team it is for.
    pub group: Group,
    /// `definition`, `input`, `output`, or `schema` for both.
    pub direction: String,
    /// The level it gives.
    pub level: RuleLevel,
    /// The version step of a compatible finding.
    pub bump: Bump,
    /// One sentence on the consequence; `{old}`, `{new}` and `{name}` are filled in.
    pub message: String,
    /// Where the reasoning stands.
    pub reference: String,
    /// What to do about it.
    pub fix: String,
    /// Tools before the example change.
    pub old: Vec<Value>,
    /// Tools after it.
    pub new: Vec<Value>,
}

macro_rules! files {
    ($($id:literal),* $(,)?) => { [$(include_str!(concat!("../rules/", $id, ".json"))),*] };
}

/// One file a rule; a test holds this list against the folder.
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

/// Every rule, by name.
pub fn rules() -> &'static [Rule] {
    &RULES
}

/// The rule of this name.
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().iter().find(|rule| rule.id == id)
}
