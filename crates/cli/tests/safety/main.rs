//! Safety (R4) of the real binary: a server on a loopback port, its own data folder, and plain HTTP clients. The small
//! size always runs; `xtask safety` runs the full one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::needless_pass_by_value,
    clippy::print_stderr,
    reason = "tests: what cannot go on must stop"
)]

mod audit;
mod crash;
mod foreign;
mod full;
mod limits;
mod readonly;
mod rest;
mod retention;
mod revoked;
mod running;
mod shares;
mod stop;
mod stores;
mod tokens;
mod ways;

/// Returns `small`, or `full` under `xtask safety`.
fn size(small: usize, full: usize) -> usize {
    if std::env::var_os("TOOLCRIB_SAFETY_FULL").is_some() { full } else { small }
}
