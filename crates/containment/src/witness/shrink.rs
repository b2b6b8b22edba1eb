//! Shrinking of a witness: drops keys and items, replaces parts by simpler ones, shortens strings and moves numbers
//! towards zero, as long as both validators confirm that the value still separates.

use std::time::Instant;

use serde_json::{Map, Value};

use super::Oracle;
use crate::limits::PROVER_SHRINK_TRIES_MAX;

impl Oracle<'_> {
    pub(super) fn shrunk(&self, mut value: Value) -> Value {
        let mut tries = 0;
        'again: loop {
            for candidate in simpler(&value) {
                tries += 1;
                if tries > PROVER_SHRINK_TRIES_MAX || Instant::now() >= self.deadline {
                    return value;
                }
                if self.separates(&candidate) {
                    value = candidate;
                    continue 'again;
                }
            }
            return value;
        }
    }
}

/// Returns strictly simpler values, the largest simplification first.
fn simpler(value: &Value) -> Vec<Value> {
    let mut candidates = Vec::new();
    match value {
        Value::Null => {}
        Value::Bool(truth) => {
            if *truth {
                candidates.push(Value::Bool(false));
            }
        }
        Value::Number(number) => {
            let zero = number.as_i64() == Some(0);
            if !zero {
                candidates.push(Value::from(0));
                if number.as_i64() != Some(1) {
                    candidates.push(Value::from(1));
                }
                if let Some(integer) = number.as_i64().filter(|integer| integer.unsigned_abs() > 1) {
                    candidates.push(Value::from(integer / 2));
                    candidates.push(Value::from(integer - integer.signum()));
                }
                if number.is_f64() && number.as_f64() != Some(0.5) && number.as_f64() != Some(1.0) {
                    candidates.push(Value::from(0.5));
                }
            }
        }
        Value::String(text) => {
            if !text.is_empty() {
                candidates.push(Value::String(String::new()));
                let characters: Vec<char> = text.chars().collect();
                if characters.len() > 2 {
                    candidates.push(Value::String(characters.iter().take(characters.len() / 2).collect()));
                }
                for skip in 0..characters.len().min(40) {
                    let rest = characters.iter().enumerate().filter(|(at, _)| *at != skip);
                    candidates.push(Value::String(rest.map(|(_, character)| *character).collect()));
                }
            }
        }
        Value::Array(items) => {
            if items.len() > 3 {
                candidates.push(Value::Array(items.iter().take(items.len() / 2).cloned().collect()));
            }
            for skip in (0..items.len()).rev().take(40) {
                let rest = items.iter().enumerate().filter(|(at, _)| *at != skip);
                candidates.push(Value::Array(rest.map(|(_, item)| item.clone()).collect()));
            }
            for (at, item) in items.iter().enumerate().take(40) {
                for part in blank(item).into_iter().chain(simpler(item)) {
                    let mut items = items.clone();
                    if let Some(place) = items.get_mut(at) {
                        *place = part;
                    }
                    candidates.push(Value::Array(items));
                }
            }
        }
        Value::Object(map) => {
            for key in map.keys().take(80) {
                let rest: Map<String, Value> = map
                    .iter()
                    .filter(|(own, _)| *own != key)
                    .map(|(own, value)| (own.clone(), value.clone()))
                    .collect();
                candidates.push(Value::Object(rest));
            }
            for (key, item) in map.iter().take(80) {
                for part in blank(item).into_iter().chain(simpler(item)) {
                    let mut map = map.clone();
                    map.insert(key.clone(), part);
                    candidates.push(Value::Object(map));
                }
            }
        }
    }
    candidates
}

/// Returns the simplest values of other kinds, in order, that are simpler than `part`.
fn blank(part: &Value) -> Vec<Value> {
    let ladder = [Value::Null, Value::from(0), Value::String(String::new()), Value::Array(vec![])];
    let rank = match part {
        Value::Null => 0,
        Value::Bool(_) | Value::Number(_) => 1,
        Value::String(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
    };
    ladder.into_iter().take(rank).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::arena::Arena;
    use crate::pattern::Patterns;

    /// R7.3: a witness is shrunk with at most `PROVER_SHRINK_TRIES_MAX` validations.
    #[test]
    fn shrinking_ends_after_prover_shrink_tries_max() {
        // Each step costs two tries: dropping half of the items leaves too few, dropping one item is accepted.
        let steps = PROVER_SHRINK_TRIES_MAX / 2;
        let least = steps + 20;
        let (arena, patterns) = (Arena::new(), Patterns::default());
        let validator = |schema: &Value| jsonschema::options().offline().build(schema).unwrap();
        let oracle = Oracle {
            producer: validator(&json!({"minItems": least})),
            consumer: validator(&json!({"maxItems": least - 1})),
            closed: None,
            arena: &arena,
            patterns: &patterns,
            deadline: Instant::now() + Duration::from_secs(60),
        };
        let left = |items: usize| oracle.shrunk(json!(vec![Value::Null; items])).as_array().map(Vec::len);
        assert_eq!(left(least + steps), Some(least));
        assert_eq!(left(least + steps + 10), Some(least + 10));
    }
}
