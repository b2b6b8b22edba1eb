//! Limits of the prover: one constant each, with its unit. LIMITS.md is generated from them and compared in CI.

/// Maximum milliseconds for one pair of schemas, by default; beyond it the answer is *unknown*.
pub const PROVER_PAIR_MS_MAX: u64 = 1_000;
/// Maximum milliseconds for all pairs of one comparison of tool lists, by default; the remaining answers are
/// *unknown*.
pub const PROVER_ALL_MS_MAX: u64 = 30_000;
/// Maximum nesting depth of objects and arrays in a schema that is judged.
pub const PROVER_SCHEMA_DEPTH_MAX: usize = 64;
/// Maximum objects and arrays in a schema that is judged.
pub const PROVER_SCHEMA_CONTAINERS_MAX: usize = 20_000;
/// Maximum schema objects that a document may expand to while it is normalised.
pub const PROVER_EXPANSION_MAX: usize = 60_000;
/// Maximum schema objects that one value is tested against in place; above it no validator is run.
pub const PROVER_IN_PLACE_MAX: u64 = 20_000;
/// Maximum combinations of cases that are distinguished to resolve `unevaluated*`.
pub const PROVER_CASES_MAX: usize = 64;
/// Maximum steps of one search.
pub const PROVER_STEPS_MAX: u64 = 400_000;
/// Maximum formulas that one search may build.
pub const PROVER_FORMULAS_MAX: usize = 400_000;
/// Maximum nesting depth of objects and arrays in the values that are searched.
pub const PROVER_VALUE_DEPTH_MAX: usize = 120;
/// Maximum milliseconds for one operation on automata of patterns.
pub const PROVER_AUTOMATON_MS_MAX: u64 = 40;
/// Maximum states of one automaton of patterns.
pub const PROVER_AUTOMATON_STATES_MAX: usize = 4_000;
/// Maximum validations for shrinking one witness.
pub const PROVER_SHRINK_TRIES_MAX: usize = 600;
/// Maximum bytes of one line of a batch.
pub const BATCH_LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
