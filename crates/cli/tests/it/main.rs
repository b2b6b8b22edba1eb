//! The first five minutes with the real binary: serve, connect, configure, call, and every page of the docs.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop"
)]

mod calling;
mod connecting;
mod copied;
mod documents;
mod explaining;
mod failing;
mod forms;
mod gate;
mod home;
mod independent_clients;
mod inspector;
mod places;
mod progress;
mod published;
mod servers;
mod serving;
mod shown;
mod streams;
mod terminal;
mod unusable;
