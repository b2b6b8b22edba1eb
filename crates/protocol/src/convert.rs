//! Conversions between the eras, from raw JSON to raw JSON.
//!
//! Guarantees: members that both eras know pass byte for byte; members that the receiver does not know are dropped or
//! described in text, never sent.

pub mod content;
pub mod elicitation;
pub mod result;
pub mod tool;
