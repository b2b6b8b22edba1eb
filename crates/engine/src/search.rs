//! Tool search: lexical ranking, built once per catalogue, without network access or a model.

pub mod eval;
pub mod index;
pub mod plain;
mod stem;
mod synonyms;
mod words;

pub use index::{Hit, Index, Text};
