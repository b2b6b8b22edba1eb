//! Fuzz targets as plain functions, for two drivers: the binary of this crate, which runs in every test run, and
//! libFuzzer (`fuzz/libfuzzer`), for campaigns.
//!
//! A target takes any bytes and must come back: no panic, no hang, no stack overflow. What it checks beyond that (two
//! ways to the same answer, a law that must hold) it asserts. It returns the *shape* of what happened, and the plain
//! driver keeps an input that gave a shape not seen before, in place of the coverage it does not measure.
#![allow(clippy::panic, reason = "a broken law must stop the run")]

pub mod campaign;
pub mod mutation;
pub mod random;
pub mod target;
pub mod targets;
