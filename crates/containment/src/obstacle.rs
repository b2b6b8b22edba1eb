//! What stood in the way of an answer.

/// Why a pair is undecided; named after the fragment that defeated the prover.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Obstacle {
    /// The time or the number of steps ran out.
    #[error("budget: the search was not finished in time")]
    Budget,
    /// A limit on the input was exceeded.
    #[error("budget: {what} is over its limit of {limit}")]
    Limit {
        /// What was counted.
        what: &'static str,
        /// How many are allowed.
        limit: u64,
    },
    /// Values would have to be nested too deeply.
    #[error("recursion: values nested deeper than the search goes")]
    Depth,
    /// A fragment expands into too many cases.
    #[error("{0}: too many cases")]
    Cases(&'static str),
    /// A pattern without an automaton.
    #[error("pattern: {0:?} is outside the regular fragment or over its budget")]
    Pattern(String),
    /// A format that asserts.
    #[error("format: {0:?} is opaque to the prover")]
    Format(String),
    /// Numbers outside of what can be enumerated or written.
    #[error("number: the values in question cannot be enumerated")]
    Number,
    /// Arrays too large to construct.
    #[error("array: items cannot be arranged within the budget")]
    Array,
    /// Objects too large to construct.
    #[error("object: properties cannot be arranged within the budget")]
    Object,
    /// A reference that leads back to itself without descending into the value: no dialect says
    /// what that means.
    #[error("recursion: a reference leads back to itself in place")]
    ReferenceLoop,
    /// A definition that refers to itself under negation: a counterexample exists, but published
    /// judgements of such schemas contradict the validators, so none is passed as a break.
    #[error("recursion: a definition refers to itself under negation, {0} is in doubt")]
    NegativeRecursion(String),
    /// Only values tell the schemas apart that engines read differently: a string with a line break
    /// under `.` or `$`, or `1.0` as an integer of draft-04.
    #[error("engines: only {0} tells the two apart, which engines read differently")]
    Engines(String),
    /// The validators do not agree with the prover on a value.
    #[error("validator: prover and validator disagree on {0}")]
    Validator(String),
}
