//! What happens when a contract is not kept (R5.5).

/// For one direction of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// Refused.
    #[default]
    Enforce,
    /// Passed on and reported.
    Warn,
    /// Not looked at.
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

/// For both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Validation {
    pub input: Strictness,
    pub output: Strictness,
}
