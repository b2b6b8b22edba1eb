//! Heuristic search for a witness when the proof search is undecided: literals, bounds and names of both documents
//! are combined into small values, which are tried one by one.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::{Map, Value};

use super::Oracle;

/// Maximum values in the pool of parts.
const POOL_MAX: usize = 160;
/// Maximum property names that are combined with parts.
const NAMES_MAX: usize = 24;

#[derive(Default)]
struct Pool {
    parts: Vec<Value>,
    names: BTreeSet<String>,
    required: BTreeSet<String>,
}

impl Oracle<'_> {
    /// Searches for a separating value built from parts of the documents.
    pub(crate) fn hunt(&self, documents: &[&Value]) -> Option<Value> {
        let pool = Pool::gather(documents);
        let mut tried = 0usize;
        let mut test = |value: &Value| -> Option<bool> {
            tried += 1;
            if tried.is_multiple_of(8) && Instant::now() >= self.deadline {
                return None;
            }
            Some(self.separates(value))
        };
        for part in &pool.parts {
            if test(part)? {
                return Some(part.clone());
            }
        }
        for (at, part) in pool.parts.iter().enumerate() {
            for value in [
                Value::Array(vec![part.clone()]),
                Value::Array(vec![part.clone(), part.clone()]),
                Value::Array(vec![part.clone(), pool.parts.get(at + 1).cloned().unwrap_or_default()]),
            ] {
                if test(&value)? {
                    return Some(value);
                }
            }
        }
        // Objects with all required names, extended by one property at a time.
        let bases: Vec<Map<String, Value>> =
            [Value::from(0), Value::from(""), Value::Null, Value::Object(Map::new())]
                .iter()
                .map(|filler| pool.required.iter().map(|name| (name.clone(), filler.clone())).collect())
                .chain([Map::new()])
                .collect();
        for base in &bases {
            if test(&Value::Object(base.clone()))? {
                return Some(Value::Object(base.clone()));
            }
            for name in pool.names.iter().take(NAMES_MAX) {
                for part in &pool.parts {
                    let mut object = base.clone();
                    object.insert(name.clone(), part.clone());
                    let value = Value::Object(object);
                    if test(&value)? {
                        return Some(value);
                    }
                }
            }
        }
        None
    }
}

impl Pool {
    fn gather(documents: &[&Value]) -> Pool {
        let mut pool = Pool::default();
        for value in [
            Value::Null,
            Value::Bool(true),
            Value::Bool(false),
            Value::Array(vec![]),
            Value::Object(Map::new()),
        ] {
            pool.add(value);
        }
        for number in [0.0, 1.0, -1.0, 0.5, 2.0, 1e15] {
            pool.add(Value::from(number));
        }
        for integer in [0, 1, -1, 2, 1_000_000] {
            pool.add(Value::from(integer));
        }
        for text in
            ["", "a", "ab", "abc", "A", "0", " ", "foo", "bar", "\u{e9}", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]
        {
            pool.add(Value::from(text));
        }
        let mut queue: Vec<&Value> = documents.to_vec();
        while let Some(value) = queue.pop() {
            match value {
                Value::Array(items) => queue.extend(items),
                Value::Object(map) => {
                    pool.keywords(map);
                    queue.extend(map.values());
                }
                _ => {}
            }
        }
        pool.names.insert("a".to_owned());
        pool
    }

    fn add(&mut self, value: Value) {
        if self.parts.len() < POOL_MAX && !self.parts.contains(&value) {
            self.parts.push(value);
        }
    }

    fn keywords(&mut self, map: &Map<String, Value>) {
        for (key, value) in map {
            match (key.as_str(), value) {
                ("const" | "default", value) => self.add(value.clone()),
                ("enum" | "examples", Value::Array(values)) => {
                    values.iter().for_each(|value| self.add(value.clone()));
                }
                ("required", Value::Array(names)) => {
                    self.required.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
                }
                ("properties" | "dependencies" | "dependentSchemas", Value::Object(own)) => {
                    self.names.extend(own.keys().cloned());
                }
                ("minLength" | "maxLength", Value::Number(count)) => {
                    if let Some(count) =
                        count.as_u64().and_then(|count| usize::try_from(count).ok()).filter(|c| *c < 2_000)
                    {
                        for length in [count.saturating_sub(1), count, count + 1] {
                            self.add(Value::String("a".repeat(length)));
                        }
                    }
                }
                (_, Value::Number(number)) => {
                    self.add(value.clone());
                    if let Some(integer) = number.as_i64() {
                        self.add(Value::from(integer.saturating_add(1)));
                        self.add(Value::from(integer.saturating_sub(1)));
                    } else if let Some(float) = number.as_f64() {
                        self.add(Value::from(float + 1.0));
                        self.add(Value::from(float / 2.0));
                    }
                }
                _ => {}
            }
        }
    }
}
