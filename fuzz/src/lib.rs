//! Fuzz targets as plain functions, for two drivers: the binary of this crate, which runs in every test run, and
//! libFuzzer (`fuzz/libfuzzer`), for campaigns.
//!
//! A target accepts any bytes and must return: no panic, hang or stack overflow, within its limits on CPU time and
//! memory. It also asserts properties (two implementations agree, the result does not depend on how the input was
//! split). It returns the *shape* of the outcome. The plain driver measures no coverage; it keeps an input that gave a
//! new shape instead.
#![allow(clippy::panic, reason = "a broken law must stop the run")]

pub mod campaign;
pub mod measure;
pub mod mutation;
pub mod random;
pub mod script;
pub mod target;
pub mod targets;
