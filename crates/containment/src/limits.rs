//! Every limit a schema or a pair can meet: name, unit, value. LIMITS.md lists the same numbers and CI compares them.

/// Milliseconds for one pair of schemas, unless told otherwise; then the answer is *unknown*.
pub const PROVER_PAIR_MS_MAX: u64 = 1_000;
/// Milliseconds for all questions of one comparison of tool lists together, unless told otherwise; the rest is *unknown*.
pub const PROVER_ALL_MS_MAX: u64 = 30_000;
/// Containers inside containers, in a schema that is judged.
pub const PROVER_SCHEMA_DEPTH_MAX: usize = 64;
/// Objects and arrays in a schema that is judged.
pub const PROVER_SCHEMA_CONTAINERS_MAX: usize = 20_000;
/// Schema objects a document may expand to while it is normalised.
pub const PROVER_EXPANSION_MAX: usize = 60_000;
/// Schema objects one value is tested against in place; over it no validator is run.
pub const PROVER_IN_PLACE_MAX: u64 = 20_000;
/// Combinations of cases told apart at once to resolve `unevaluated*`.
pub const PROVER_CASES_MAX: usize = 64;
/// Steps of one search.
pub const PROVER_STEPS_MAX: u64 = 400_000;
/// Formulas one search may build.
pub const PROVER_FORMULAS_MAX: usize = 400_000;
/// Containers inside containers, in the values that are searched.
pub const PROVER_VALUE_DEPTH_MAX: usize = 120;
/// Milliseconds for one operation on automata of patterns.
pub const PROVER_AUTOMATON_MS_MAX: u64 = 40;
/// States of one automaton of patterns.
pub const PROVER_AUTOMATON_STATES_MAX: usize = 4_000;
/// Validations one witness may cost while it is shrunk.
pub const PROVER_SHRINK_TRIES_MAX: usize = 600;
/// Bytes of one line of a batch.
pub const BATCH_LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
