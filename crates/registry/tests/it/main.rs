//! Tests of the registry over real and generated documents.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test may stop"
)]

mod api;
mod arbitrary;
mod budget;
mod databases;
mod goldens;
mod import;
mod real;
mod round_trip;
mod strict;
