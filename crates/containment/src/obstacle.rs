//! Obstacles: reasons for the answer *unknown*.

/// Reason why a pair is undecided, named after the part of the language that the prover cannot handle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Obstacle {
    /// The deadline or the maximum number of steps was reached.
    #[error("budget: the search was not finished in time")]
    Budget,
    /// A limit of the input was exceeded.
    #[error("budget: {what} is over its limit of {limit}")]
    Limit {
        /// Name of the quantity.
        what: &'static str,
        /// Value of the limit.
        limit: u64,
    },
    /// A counterexample would be nested deeper than the limit.
    #[error("recursion: values nested deeper than the search goes")]
    Depth,
    /// A keyword expands into too many cases.
    #[error("{0}: too many cases")]
    Cases(&'static str),
    /// A pattern has no automaton.
    #[error("pattern: {0:?} is outside the regular fragment or over its budget")]
    Pattern(String),
    /// A format is asserted.
    #[error("format: {0:?} is opaque to the prover")]
    Format(String),
    /// The numbers in question cannot be enumerated, or not be written in JSON.
    #[error("number: the values in question cannot be enumerated")]
    Number,
    /// The arrays in question are too large to construct.
    #[error("array: items cannot be arranged within the budget")]
    Array,
    /// The objects in question are too large to construct.
    #[error("object: properties cannot be arranged within the budget")]
    Object,
    /// A reference leads back to itself without descending into the value; no dialect defines the meaning of that.
    #[error("recursion: a reference leads back to itself in place")]
    ReferenceLoop,
    /// A definition refers to itself under negation. A counterexample exists, but published judgements of such
    /// schemas contradict the validators, so it is not reported as a break.
    #[error("recursion: a definition refers to itself under negation, {0} is in doubt")]
    NegativeRecursion(String),
    /// `$schema` occurs in the middle of a resource.
    #[error("dialect: a part of the schema declares another dialect without being a resource of its own")]
    EmbeddedDialect,
    /// The schemas differ only on values that engines read differently: a string with a line break under `.` or `$`,
    /// or `1.0` as an integer of draft-04.
    #[error("engines: only {0} tells the two apart, which engines read differently")]
    Engines(String),
    /// The validators and the prover disagree on a value.
    #[error("validator: prover and validator disagree on {0}")]
    Validator(String),
}
