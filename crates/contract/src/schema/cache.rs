//! Cache of compiled schemas: equal schemas share one compiled check (R1.7).

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::error::SchemaLimit;
use super::{Draft, Schema, SchemaError, SchemaOptions, SchemaRoom};
use crate::digest::Digest;
use crate::json::Node;
use crate::limits;

/// Compiled schemas by the digest of their canonical form. The cache holds weak references and keeps no schema alive.
#[derive(Debug, Default)]
pub struct SchemaCache {
    compiled: Mutex<HashMap<(Digest, SchemaOptions), Weak<Schema>>>,
    /// Estimated bytes of the live schemas that were compiled without a [`SchemaRoom`].
    own: Arc<AtomicUsize>,
}

/// Guard of a live schema's weight; subtracts it when dropped.
#[derive(Debug)]
pub(super) struct Counted {
    bytes: usize,
    of: Arc<AtomicUsize>,
}

impl Counted {
    /// Adds `bytes`; refuses if the total would exceed [`limits::SCHEMAS_BYTES_MAX`].
    fn take(of: &Arc<AtomicUsize>, bytes: usize) -> Result<Self, SchemaError> {
        let counted = Self { bytes, of: of.clone() };
        let total = of.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if total > limits::SCHEMAS_BYTES_MAX {
            return Err(SchemaLimit::TotalBytes.exceeded(total));
        }
        Ok(counted)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.of.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl SchemaCache {
    /// Returns an empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the compiled form of `node`, whose digest is `digest`, and compiles it if no live schema has this
    /// digest.
    ///
    /// # Errors
    /// A [`SchemaError`] that names the place and the rule or limit.
    pub fn compile(
        &self,
        node: Node<'_>,
        digest: Digest,
        options: &SchemaOptions,
    ) -> Result<Arc<Schema>, SchemaError> {
        self.compile_in(node, Some(digest), options, None)
    }

    /// Compiles as [`SchemaCache::compile`] does. A schema without a digest is not shared. The weight is counted in
    /// `room`, or without a room against [`limits::SCHEMAS_BYTES_MAX`].
    pub(crate) fn compile_in(
        &self,
        node: Node<'_>,
        digest: Option<Digest>,
        options: &SchemaOptions,
        mut room: Option<&mut SchemaRoom>,
    ) -> Result<Arc<Schema>, SchemaError> {
        let key = digest.map(|digest| (digest, *options));
        if let Some(shared) = key.and_then(|key| self.find(&key)) {
            if let Some(room) = &mut room {
                room.count(digest, shared.weight())?;
            }
            return Ok(shared);
        }
        // Compiled outside the lock: two concurrent callers may both compile, and one result is dropped.
        let draft = Draft::admit(node, options)?;
        let weight = draft.admission.weight;
        let counted = match &mut room {
            Some(room) => room.count(digest, weight).map(|()| None)?,
            None => Some(Counted::take(&self.own, weight.bytes())?),
        };
        let compiled = Arc::new(Schema { digest, _counted: counted, ..draft.compile(options)? });
        let Some(key) = key else { return Ok(compiled) };
        if let Some(shared) = self.find(&key) {
            return Ok(shared);
        }
        let mut map = self.lock();
        if map.len() == map.capacity() {
            map.retain(|_, schema| schema.strong_count() > 0);
        }
        map.insert(key, Arc::downgrade(&compiled));
        Ok(compiled)
    }

    /// Number of live schemas.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().values().filter(|schema| schema.strong_count() > 0).count()
    }

    /// `true` if no schema is live.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn find(&self, key: &(Digest, SchemaOptions)) -> Option<Arc<Schema>> {
        self.lock().get(key).and_then(Weak::upgrade)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(Digest, SchemaOptions), Weak<Schema>>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R1.6: `SCHEMAS_BYTES_MAX` bounds the schemas compiled without a room; a dropped schema frees its share.
    #[test]
    fn schemas_over_schemas_bytes_max_are_refused_until_others_are_dropped() {
        let used = Arc::default();
        let most = Counted::take(&used, limits::SCHEMAS_BYTES_MAX).unwrap();
        let refused = Counted::take(&used, 1).unwrap_err().to_string();
        assert!(refused.contains("SCHEMAS_BYTES_MAX"), "{refused}");
        assert_eq!(used.load(Ordering::Relaxed), limits::SCHEMAS_BYTES_MAX, "the refused one takes nothing");
        drop(most);
        assert!(Counted::take(&used, 1).is_ok());
        assert_eq!(used.load(Ordering::Relaxed), 0);
    }

    /// R1.7: a schema that two tools share is counted once, and its weight is freed when the last user drops it.
    #[test]
    fn a_shared_schema_is_counted_once_and_given_back() {
        let text = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#;
        let document = crate::json::OwnedDocument::parse(text, &crate::json::Limits::definition()).unwrap();
        let digest = Digest::of(document.root()).unwrap();
        let cache = SchemaCache::new();
        let compile = || cache.compile(document.root(), digest, &SchemaOptions::default()).unwrap();
        let one = compile();
        let counted = cache.own.load(Ordering::Relaxed);
        assert_eq!(counted, one.weight().bytes());
        let other = compile();
        assert_eq!(cache.own.load(Ordering::Relaxed), counted);
        drop(one);
        assert_eq!(cache.own.load(Ordering::Relaxed), counted);
        drop(other);
        assert_eq!(cache.own.load(Ordering::Relaxed), 0);
    }
}
