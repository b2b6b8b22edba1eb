//! The gateway in this process, in front of servers that are processes of their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod bed;
mod fidelity;
mod modes;
mod names;
mod recovery;
mod reload;
mod swarm;
