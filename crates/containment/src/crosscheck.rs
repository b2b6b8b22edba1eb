//! Access for tests that compare the prover with independent implementations.

use serde_json::Value;

use crate::arena::Arena;
use crate::canonical;
use crate::dialect::Dialect;
use crate::document::{Document, Limits};
use crate::eval::Meaning;
use crate::lower::Mode;
use crate::pattern::Patterns;

/// Verdict of `jsonschema`'s canonical engine on two 2020-12 documents; `None` if it gives up.
pub fn canonical_covers(producer: &Value, consumer: &Value) -> Option<bool> {
    canonical::covers_documents(producer, consumer)
}

/// Evaluates the normalised formula of the schema on a value; `None` if that cannot be decided.
pub fn normalised(schema: &Value, dialect: Dialect, value: &Value) -> Option<bool> {
    evaluated(schema, dialect, value, Mode::Open)
}

/// `true` if a producer that sends only declared properties can send the value.
pub fn declared(schema: &Value, dialect: Dialect, value: &Value) -> bool {
    evaluated(schema, dialect, value, Mode::Closed) == Some(true)
}

/// Normal form of the schema as a 2020-12 document; `None` if it cannot be written as one.
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
