//! Finding a tool by what it does: lexical, built once per catalogue, without a network or a model.

pub mod eval;
pub mod index;
pub mod plain;
mod stem;
mod synonyms;
mod words;

pub use index::{Hit, Index, Text};
