//! The real binary in front of real servers, called by real clients.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "tests"
)]

mod access;
mod asking;
mod budget;
mod client;
mod conformance;
mod drift;
mod fidelity;
mod files;
mod floods;
mod folder;
mod gates;
mod hostile;
mod listening;
mod matrix;
mod news;
mod oauth;
mod operating;
mod origins;
mod outcomes;
mod poisoning;
mod proxies;
mod reach;
mod running;
mod stopping;
mod templates;
mod tracing;
