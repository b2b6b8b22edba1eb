//! Fuzz targets as plain functions, for two drivers: the binary of this crate, which runs in every test run, and
//! libFuzzer (`fuzz/libfuzzer`), for campaigns.
//!
//! A target takes any bytes and must return: no panic, no hang, no stack overflow, within its bounds on CPU time and
//! memory. It asserts the laws that must hold beyond that (two ways to the same answer, the same result however the
//! input was split). It returns the *shape* of what happened, and the plain driver keeps an input that gave a new
//! shape, in place of the coverage it does not measure.
#![allow(clippy::panic, reason = "a broken law must stop the run")]

pub mod campaign;
pub mod measure;
pub mod mutation;
pub mod random;
pub mod script;
pub mod target;
pub mod targets;
