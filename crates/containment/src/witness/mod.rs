//! Witnesses. A value is a witness only if the producer's plain validator accepts it and the consumer's refuses it,
//! both compiled from the original documents. For a closed producer, its own formula must not refuse it either.

mod hunt;
mod shrink;

use std::time::Instant;

use jsonschema::Validator;
use serde_json::Value;

use crate::arena::{Arena, Lit};
use crate::eval::Meaning;
use crate::pattern::Patterns;

/// Small value that the producer sends and the consumer refuses.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// The value.
    pub value: Value,
    /// The consumer's refusal.
    pub refusal: Refusal,
}

/// First error of the consumer's validator on a witness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// JSON Pointer into the value.
    pub instance_path: String,
    /// JSON Pointer into the schema.
    pub schema_path: String,
    /// Keyword that refuses.
    pub keyword: String,
    /// Message of the validator.
    pub message: String,
}

/// Validators of both sides, and the formula of a closed producer.
pub(crate) struct Oracle<'a> {
    pub(crate) producer: Validator,
    pub(crate) consumer: Validator,
    pub(crate) closed: Option<Lit>,
    pub(crate) arena: &'a Arena,
    pub(crate) patterns: &'a Patterns,
    pub(crate) deadline: Instant,
}

impl Oracle<'_> {
    /// `true` if the value proves a break.
    pub(crate) fn separates(&self, value: &Value) -> bool {
        let meaning = Meaning { arena: self.arena, patterns: self.patterns };
        self.producer.is_valid(value)
            && !self.consumer.is_valid(value)
            && self.closed.is_none_or(|closed| meaning.holds(closed, value) != Some(false))
    }

    /// Shrinks a separating value and explains it.
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
