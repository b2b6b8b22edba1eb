//! The real binary in front of real servers, called by real clients.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod drift;
mod files;
mod matrix;
mod oauth;
mod running;
mod tracing;
