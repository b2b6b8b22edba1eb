//! Tools' schemas that were found to be schemas: registries repeat them, and a schema is judged once.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use toolcrib_contract::json::Node;
use toolcrib_contract::{Digest, Schema, SchemaError, SchemaOptions};

/// The good ones of one check, by the digest of their text.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<HashSet<Digest>>);

impl Known {
    /// Whether `schema` is one.
    pub(super) fn judge(&self, schema: Node<'_>) -> Result<(), SchemaError> {
        let digest = Digest::of_bytes(schema.raw().as_bytes());
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lock().contains(&digest) {
            return Ok(());
        }
        Schema::compile(schema, &SchemaOptions::default())?;
        lock().insert(digest);
        Ok(())
    }
}
