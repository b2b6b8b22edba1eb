//! Support for tests: two plain validators, random schemas, and the fuzzing loop that compares the prover with them,
//! which `examples/fuzz.rs` also runs.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![allow(clippy::panic, clippy::print_stderr, missing_debug_implementations)]

pub mod fuzz;
pub mod instances;
pub mod random;
pub mod schemas;
pub mod validators;
