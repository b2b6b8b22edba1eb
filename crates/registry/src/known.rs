//! Cache of valid tool schemas: registries repeat schemas, and each is compiled once.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use toolcrib_contract::json::{Node, Pointer};
use toolcrib_contract::{Definition, Digest, Schema, SchemaError, SchemaOptions};

use crate::issue::{Fault, Report};

/// Digests of the schema texts that one check or import found valid.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<HashSet<Digest>>);

impl Known {
    /// Fails if `schema` is invalid.
    fn judge(&self, schema: Node<'_>) -> Result<(), SchemaError> {
        let digest = Digest::of_bytes(schema.raw().as_bytes());
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lock().contains(&digest) {
            return Ok(());
        }
        Schema::compile(schema, &SchemaOptions::default())?;
        lock().insert(digest);
        Ok(())
    }

    /// Notes each invalid schema of `definition`, which is located at `place`.
    pub(crate) fn note(&self, definition: &Definition, place: &Pointer, report: &mut Report) {
        for (member, schema) in
            [("inputSchema", definition.input_schema()), ("outputSchema", definition.output_schema())]
        {
            if let Some(schema) = schema
                && let Err(error) = self.judge(schema)
            {
                let place = place.join(member);
                let at = Pointer::from_escaped(format!("{}{}", place.as_str(), error.pointer().as_str()));
                report.note(at, Fault::ToolSchema { reason: error.reason() });
            }
        }
    }
}
