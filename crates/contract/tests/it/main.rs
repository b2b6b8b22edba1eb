//! Integration tests of the contract crate: published suites, real definitions, independent validators, hostile
//! texts.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a proof that cannot go on stops loudly"
)]

mod data;
mod differential;
mod memory;
mod number;
mod suite;
mod weight;
