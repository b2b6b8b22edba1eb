//! Verdict, version step and group of a change.

use serde::{Deserialize, Serialize};

/// Verdict on a change, ordered by severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Proved harmless, or harmless by its nature.
    #[default]
    Compatible,
    /// Needs review: a safety regression, a silently ignored argument, or changed prose for the model.
    Dangerous,
    /// Not decided; counted, and fails `--strict`.
    Unknown,
    /// Some caller or consumer of results fails.
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

/// Step of a semantic version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bump {
    /// Nothing changed.
    #[default]
    None,
    /// Only prose or cosmetics changed.
    Patch,
    /// Something was added, or the change is compatible only in the declared world.
    Minor,
    /// Something broke, or may have.
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

/// Group of a rule; groups can be gated separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Compatibility of calls and results.
    Compatibility,
    /// Claims about a tool's effects.
    Safety,
    /// Text that the model reads.
    Text,
}
