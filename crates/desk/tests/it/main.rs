//! The desk's answers against computations by other methods, and its contracts.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop"
)]

mod analytics;
mod by_hand;
mod contracts;
mod options;
mod planning;
mod support;
mod tax;
mod writers;
