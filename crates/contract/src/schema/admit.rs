//! Admission: walks a schema, resolves its references and counts. Compiles nothing and reads nothing outside the
//! schema.

use serde_json::Value;

use super::error::SchemaError;
use super::graph::{Graph, kind};
use super::{Admission, SchemaOptions, expansion, reference, weight};
use crate::json::Pointer;

pub(super) fn admit(schema: &Value, options: &SchemaOptions) -> Result<Admission, SchemaError> {
    if !schema.is_object() && !schema.is_boolean() {
        return Err(SchemaError::NotASchema { pointer: Pointer::root(), found: kind(schema) });
    }
    let mut graph = Graph::of(schema, options.default_dialect)?;
    reference::resolve(&mut graph)?;
    let expansion = expansion::count(&graph)?;
    let (weight, pattern_states) = weight::of(&graph)?;
    Ok(Admission {
        dialect: graph.dialect(0),
        subschemas: graph.places.len(),
        patterns: graph.patterns.len(),
        expansion: expansion.steps,
        in_place: expansion.in_place,
        weight,
        pattern_states,
        name_patterns: graph.name_patterns(),
    })
}
