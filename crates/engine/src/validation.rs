//! Validation modes: what happens to a value that breaks its schema (R5.5).

/// Validation mode of one direction of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// The value is refused.
    #[default]
    Enforce,
    /// The value is passed on and reported.
    Warn,
    /// The value is not checked.
    Off,
}

impl Strictness {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Warn => "warn",
            Self::Off => "off",
        }
    }

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Enforce => "checked",
            Self::Warn => "checked, and passed on where they break it",
            Self::Off => "not checked",
        }
    }
}

/// Validation modes of both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Validation {
    pub input: Strictness,
    pub output: Strictness,
}
