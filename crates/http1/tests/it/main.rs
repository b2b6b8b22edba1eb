//! The codec against hyper, against malformed messages, and behind nginx.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "tests"
)]

mod nginx;
mod nginx_responses;
mod pieces;
mod request_cases;
mod request_chunks;
mod request_heads;
mod requests;
mod response_cases;
mod responses;
mod streams;
