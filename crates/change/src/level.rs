//! How much a change matters.

use serde::{Deserialize, Serialize};

/// The verdict on a change. The order is the order of severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Proved harmless, or harmless by its nature.
    #[default]
    Compatible,
    /// Needs eyes: a safety regression, a silently ignored argument, prose the model reads.
    Dangerous,
    /// Could not be decided; counted, and fails `--strict`.
    Unknown,
    /// Some caller or reader fails.
    Breaking,
}

impl Level {
    /// The lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Compatible => "compatible",
            Level::Dangerous => "dangerous",
            Level::Unknown => "unknown",
            Level::Breaking => "breaking",
        }
    }
}

/// The smallest step of a semantic version that tells the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bump {
    /// Nothing changed.
    #[default]
    None,
    /// Prose or cosmetics only.
    Patch,
    /// Something was added, or holds only for callers that keep to what is declared.
    Minor,
    /// Something broke, or might have.
    Major,
}

impl Bump {
    /// The lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Bump::None => "none",
            Bump::Patch => "patch",
            Bump::Minor => "minor",
            Bump::Major => "major",
        }
    }
}

/// Which team a finding is for; the groups can be gated apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Whether calls and answers still fit.
    Compatibility,
    /// What a tool says of its effects.
    Safety,
    /// What the model reads.
    Text,
}
