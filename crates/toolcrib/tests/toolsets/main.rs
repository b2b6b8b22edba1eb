//! R3, R10.1: toolsets for legacy and modern clients, over HTTP and stdio.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::needless_pass_by_value
)]

mod addresses;
mod discovery;
mod modes;
mod selection;
mod shed;
#[path = "../support/mod.rs"]
mod support;
