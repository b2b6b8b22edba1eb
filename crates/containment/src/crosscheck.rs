//! For tests that hold the prover against something other than itself.

use serde_json::Value;

use crate::arena::Arena;
use crate::canonical;
use crate::dialect::Dialect;
use crate::document::{Document, Limits};
use crate::eval::Meaning;
use crate::lower::Mode;
use crate::pattern::Patterns;

/// What `jsonschema`'s canonical engine says about two 2020-12 documents; `None` when it gives up.
pub fn canonical_covers(producer: &Value, consumer: &Value) -> Option<bool> {
    canonical::covers_documents(producer, consumer)
}

/// Whether the value satisfies the normalised formula of the schema.
pub fn normalised(schema: &Value, dialect: Dialect, value: &Value) -> Option<bool> {
    evaluated(schema, dialect, value, Mode::Open)
}

/// Whether a producer that keeps to its declared properties sends the value.
pub fn declared(schema: &Value, dialect: Dialect, value: &Value) -> bool {
    evaluated(schema, dialect, value, Mode::Closed) == Some(true)
}

/// The normal form of the schema as a 2020-12 document, where it can be written as one.
pub fn normal_form(schema: &Value, dialect: Dialect) -> Option<Value> {
    let (mut arena, mut patterns) = (Arena::new(), Patterns::default());
    let document = Document::admit(schema, dialect, &Limits::default()).ok()?;
    let lowered = document.lower(&mut arena, &mut patterns, false, Mode::Open).ok()?;
    crate::render::document(&arena, &patterns, lowered.lit)
}

fn evaluated(schema: &Value, dialect: Dialect, value: &Value, mode: Mode) -> Option<bool> {
    let (mut arena, mut patterns) = (Arena::new(), Patterns::default());
    let document = Document::admit(schema, dialect, &Limits::default()).ok()?;
    let lowered = document.lower(&mut arena, &mut patterns, false, mode).ok()?;
    Meaning { arena: &arena, patterns: &patterns }.holds(lowered.lit, value)
}
