//! Memory estimate of a compiled schema, made before it is compiled (R1.6, limits of admission).
//!
//! Guarantees: a schema over its budget is refused by the limit's name, after a bounded amount of work and before the
//! validator builds anything. Equal schemas have the same weight on every machine.

use std::collections::HashSet;

use serde_json::Value;

use super::automaton::{self, Fault};
use super::error::{SchemaError, SchemaLimit};
use super::graph::Graph;
use crate::limits;

/// Estimated bytes of one compiled schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weight {
    /// Bytes of the validator without its regular expressions.
    pub validator: usize,
    /// Bytes of the regular expressions, with what matching allocates at run time.
    pub patterns: usize,
}

impl Weight {
    /// Total estimated bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.validator + self.patterns
    }
}

/// Bytes of a compiled schema without keywords.
const ROOT_BYTES: usize = 4 * 1024;
/// Bytes per subschema.
const SUBSCHEMA_BYTES: usize = 512;
/// Bytes per keyword of a subschema.
const KEYWORD_BYTES: usize = 256;
/// Copies of its path that each subschema keeps, and each of its keywords.
const PATH_COPIES: usize = 3;
/// Bytes per value inside a keyword that takes no subschema, such as each value of an `enum`.
const VALUE_BYTES: usize = 272;
/// Bytes per name of a property or definition, besides the text of the name.
const NAME_BYTES: usize = 96;

/// Returns the weight of a schema, and the maximum states that matching may follow one by one.
pub(super) fn of(graph: &Graph<'_>) -> Result<(Weight, usize), SchemaError> {
    let (patterns, states) = patterns(graph)?;
    Ok((Weight { validator: validator(graph), patterns }, states))
}

fn validator(graph: &Graph<'_>) -> usize {
    let subschemas = graph.places.iter().zip(graph.path_bytes());
    let bytes: usize = subschemas
        .map(|(place, path)| {
            let path = PATH_COPIES * path;
            let keywords = place.value.as_object().into_iter().flatten();
            let keywords = keywords
                .map(|(keyword, value)| KEYWORD_BYTES + path + keyword.len() + plain(keyword, value))
                .sum::<usize>();
            SUBSCHEMA_BYTES + path + keywords
        })
        .sum();
    ROOT_BYTES + bytes
}

/// Returns the bytes of a keyword's own value. Subschemas inside it are counted separately.
fn plain(keyword: &str, value: &Value) -> usize {
    match keyword {
        "enum" | "const" | "required" | "examples" | "default" | "dependentRequired" => copied(value),
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependencies"
        | "dependentSchemas" => value
            .as_object()
            .map_or(0, |members| members.keys().map(|name| NAME_BYTES + 2 * name.len()).sum()),
        _ => value.as_str().map_or(0, str::len),
    }
}

/// Returns the bytes of a value that the validator copies.
fn copied(value: &Value) -> usize {
    VALUE_BYTES
        + match value {
            Value::String(text) => text.len(),
            Value::Array(list) => list.iter().map(copied).sum(),
            Value::Object(members) => members.iter().map(|(name, value)| name.len() + copied(value)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

/// Returns the bytes of each regular expression's cache, which shrinks with the number of regular expressions.
pub(super) fn cache_bytes(patterns: usize) -> usize {
    let shared = 4 * limits::SCHEMA_PATTERN_CACHE_BYTES_MAX / patterns.max(1);
    shared.clamp(limits::SCHEMA_PATTERN_CACHE_BYTES_MIN, limits::SCHEMA_PATTERN_CACHE_BYTES_MAX)
}

fn patterns(graph: &Graph<'_>) -> Result<(usize, usize), SchemaError> {
    let cache = cache_bytes(graph.patterns.len());
    let mut steps = limits::SCHEMA_PATTERN_STEPS_MAX;
    let mut weighed = HashSet::new();
    let (mut total, mut states) = (0, 0);
    for pattern in graph.patterns.iter().filter(|pattern| weighed.insert(pattern.text)) {
        if jsonschema_regex::analyze_pattern(pattern.text).is_some() {
            // The validator matches these patterns by comparing text, without an automaton.
            total += 2 * pattern.text.len();
            continue;
        }
        let Ok(translated) = jsonschema_regex::to_rust_regex(pattern.text) else { continue };
        match automaton::weigh(&translated, cache, &mut steps) {
            Ok(weighed) => {
                total += weighed.bytes;
                states = states.max(weighed.slow_states);
            }
            Err(Fault::Malformed) => {}
            Err(Fault::TooLarge) => {
                let found = limits::SCHEMA_PATTERN_COMPILED_BYTES_MAX + 1;
                let place = graph.pattern_pointer(pattern);
                return Err(SchemaLimit::PatternCompiledBytes.exceeded_at(place, found));
            }
        }
        if total > limits::SCHEMA_PATTERNS_COMPILED_BYTES_MAX {
            let place = graph.pattern_pointer(pattern);
            return Err(SchemaLimit::PatternsCompiledBytes.exceeded_at(place, total));
        }
    }
    Ok((total, states))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SCHEMA_PATTERN_CACHE_BYTES_MAX` and `SCHEMA_PATTERN_CACHE_BYTES_MIN`: few patterns have large caches, many
    /// have small ones, and the caches of one schema are bounded together.
    #[test]
    fn the_more_patterns_the_smaller_their_caches() {
        assert_eq!(cache_bytes(0), limits::SCHEMA_PATTERN_CACHE_BYTES_MAX);
        assert_eq!(cache_bytes(1), limits::SCHEMA_PATTERN_CACHE_BYTES_MAX);
        assert_eq!(cache_bytes(limits::SCHEMA_PATTERNS_MAX), limits::SCHEMA_PATTERN_CACHE_BYTES_MIN);
        let most = (1..=limits::SCHEMA_PATTERNS_MAX).map(|count| count * cache_bytes(count)).max();
        assert!(most <= Some(8 * 1024 * 1024), "{most:?}");
    }
}
