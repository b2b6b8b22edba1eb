//! Completers by the prompt or template, and the argument, that they complete.

use std::collections::HashMap;
use std::sync::Arc;

use crate::completion::{Completer, Reference};

/// Completers of all prompts and templates.
#[derive(Debug, Clone, Default)]
pub struct Completers {
    by_argument: HashMap<(Reference, Box<str>), Arc<dyn Completer>>,
    /// Completers for all arguments of a reference: an upstream server knows itself which arguments its prompts and
    /// templates have. One entry per reference keeps memory independent of how many arguments a server claims.
    by_reference: HashMap<Reference, Arc<dyn Completer>>,
}

impl Completers {
    #[must_use]
    pub fn get(&self, reference: Reference, argument: &str) -> Option<&Arc<dyn Completer>> {
        let key = (reference, argument.into());
        self.by_argument.get(&key).or_else(|| self.by_reference.get(&key.0))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_argument.is_empty() && self.by_reference.is_empty()
    }

    pub(super) fn set(&mut self, reference: Reference, argument: &str, completer: Arc<dyn Completer>) {
        self.by_argument.insert((reference, argument.into()), completer);
    }

    /// Sets the completer for every argument that has none of its own.
    pub(super) fn set_all(&mut self, reference: Reference, completer: Arc<dyn Completer>) {
        self.by_reference.insert(reference, completer);
    }

    pub(super) fn remove_all(&mut self, reference: &Reference) {
        self.by_reference.remove(reference);
    }
}
