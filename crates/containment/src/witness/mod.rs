//! Witnesses. A value counts only if the producer's plain validator accepts it and the consumer's
//! refuses it, on the original documents; a closed producer's own formula must hold too.

mod hunt;
mod shrink;

use std::time::Instant;

use jsonschema::Validator;
use serde_json::Value;

use crate::arena::{Arena, Lit};
use crate::eval::Meaning;
use crate::pattern::Patterns;

/// A value the producer sends and the consumer refuses, made small.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// The value.
    pub value: Value,
    /// Why the consumer refuses it.
    pub refusal: Refusal,
}

/// The consumer's first complaint about a witness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// Where in the value, as a JSON Pointer.
    pub instance_path: String,
    /// Where in the schema, as a JSON Pointer.
    pub schema_path: String,
    /// The keyword that refuses.
    pub keyword: String,
    /// The validator's sentence.
    pub message: String,
}

/// The two validators, and what a value must satisfy besides.
pub(crate) struct Oracle<'a> {
    pub(crate) producer: Validator,
    pub(crate) consumer: Validator,
    pub(crate) closed: Option<Lit>,
    pub(crate) arena: &'a Arena,
    pub(crate) patterns: &'a Patterns,
    pub(crate) deadline: Instant,
}

impl Oracle<'_> {
    /// Whether the value shows a break.
    pub(crate) fn separates(&self, value: &Value) -> bool {
        let meaning = Meaning { arena: self.arena, patterns: self.patterns };
        self.producer.is_valid(value)
            && !self.consumer.is_valid(value)
            && self.closed.is_none_or(|closed| meaning.holds(closed, value) != Some(false))
    }

    /// The separating value, shrunk and explained.
    pub(crate) fn witness(&self, value: Value) -> Witness {
        let value = self.shrunk(value);
        let refusal = match self.consumer.iter_errors(&value).next() {
            Some(error) => Refusal {
                instance_path: error.instance_path().to_string(),
                schema_path: error.schema_path().to_string(),
                keyword: error.kind().keyword().to_owned(),
                message: error.to_string(),
            },
            None => Refusal::default(),
        };
        Witness { value, refusal }
    }
}
