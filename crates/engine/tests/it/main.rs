//! Tests of the engine without a transport.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod concurrency;
mod isolation;
mod narrowing;
mod reload;
mod support;
