//! What the tests share: two plain validators, random schemas, and the loop that holds the prover
//! against them. `examples/fuzz.rs` runs the same loop at length.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![allow(clippy::panic, clippy::print_stderr, missing_debug_implementations)]

pub mod fuzz;
pub mod instances;
pub mod random;
pub mod schemas;
pub mod validators;
