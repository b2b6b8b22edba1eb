//! Equal schemas share one compiled check (R1.7).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Schema, SchemaError, SchemaOptions};
use crate::digest::Digest;
use crate::json::Node;

/// Compiled schemas by the digest of their canonical form. A schema lives as long as somebody uses it.
#[derive(Debug, Default)]
pub struct SchemaCache {
    compiled: Mutex<HashMap<(Digest, SchemaOptions), Weak<Schema>>>,
}

impl SchemaCache {
    /// An empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The compiled form of `node`, whose digest is `digest`; compiled now if nobody holds it.
    ///
    /// # Errors
    /// A [`SchemaError`] that names the place and the rule or limit.
    pub fn compile(
        &self,
        node: Node<'_>,
        digest: Digest,
        options: &SchemaOptions,
    ) -> Result<Arc<Schema>, SchemaError> {
        let key = (digest, *options);
        if let Some(shared) = self.lock().get(&key).and_then(Weak::upgrade) {
            return Ok(shared);
        }
        // Compiled outside the lock: two first users may both compile, and one result is dropped.
        let compiled = Arc::new(Schema::compile(node, options)?);
        let mut map = self.lock();
        if let Some(shared) = map.get(&key).and_then(Weak::upgrade) {
            return Ok(shared);
        }
        if map.len() == map.capacity() {
            map.retain(|_, schema| schema.strong_count() > 0);
        }
        map.insert(key, Arc::downgrade(&compiled));
        Ok(compiled)
    }

    /// How many schemas are in use.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().values().filter(|schema| schema.strong_count() > 0).count()
    }

    /// `true` if no schema is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(Digest, SchemaOptions), Weak<Schema>>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
