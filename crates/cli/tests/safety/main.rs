//! Safety (R4), by running the real binary: a server on a loopback port, a data folder of its own, and clients that know
//! nothing but HTTP. The small size runs always; `xtask safety` runs the full one.
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

/// `small`, or `full` where `xtask safety` asks for it.
fn size(small: usize, full: usize) -> usize {
    if std::env::var_os("TOOLCRIB_SAFETY_FULL").is_some() { full } else { small }
}
