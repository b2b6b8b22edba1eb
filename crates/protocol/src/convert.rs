//! Conversions between the eras, as raw JSON in and raw JSON out.
//!
//! Guarantees: what both eras know passes unchanged, byte for byte; what the other side does not know is dropped or
//! said in text, never sent.

pub mod content;
pub mod elicitation;
pub mod result;
pub mod tool;
