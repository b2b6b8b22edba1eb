//! Second prover: `jsonschema`'s canonical engine, applied to the normalised formulas rendered as 2020-12 documents
//! with sorted keys. Only its *yes* is used; its *no* has no witness.

use jsonschema::canonical::{self, Containment};
use serde_json::{Map, Value};

use crate::arena::{Arena, Lit};
use crate::pattern::Patterns;
use crate::render;

/// Maximum bytes of a document for the engine, which has a budget of its own but no deadline.
const BYTES_MAX: usize = 20_000;

/// Asks the engine for containment; `None` if the engine or the rendering gives up.
pub(crate) fn covers(arena: &Arena, patterns: &Patterns, producer: Lit, consumer: Lit) -> Option<bool> {
    let producer = render::document(arena, patterns, producer)?;
    let consumer = render::document(arena, patterns, consumer)?;
    covers_documents(&producer, &consumer)
}

/// Asks the engine for containment of two 2020-12 documents.
pub(crate) fn covers_documents(producer: &Value, consumer: &Value) -> Option<bool> {
    let small = [producer, consumer].iter().all(|value| value.to_string().len() <= BYTES_MAX);
    if !small {
        return None;
    }
    let made = |value: &Value| {
        canonical::options()
            .offline()
            .with_draft(jsonschema::Draft::Draft202012)
            .should_validate_formats(false)
            .canonicalize(&sorted(value))
            .ok()
    };
    match made(consumer)?.covers(&made(producer)?).ok()? {
        Containment::Yes => Some(true),
        Containment::No => Some(false),
        _ => None,
    }
}

/// Sorts keys at every level, because the engine compares constants as text.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            Value::Object(
                entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect::<Map<_, _>>(),
            )
        }
        other => other.clone(),
    }
}
