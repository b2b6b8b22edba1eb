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

/// For both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Validation {
    pub input: Strictness,
    pub output: Strictness,
}
