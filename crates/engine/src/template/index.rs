//! Index of templates by the literal text that they begin with.
//!
//! A request tries only templates whose literal prefix its URI has: the longest prefix first, and templates with one
//! prefix in the order of their texts.

use std::collections::HashMap;
use std::sync::Arc;

use super::{TooMuchWork, Uri, Variables, Work};
use crate::resource::ResourceTemplate;

/// Maximum bytes of a prefix in the index; longer ones gain nothing and would be stored twice.
const PREFIX_BYTES: usize = 64;

/// Template that matched, with the values of its variables.
pub(crate) type Match = (Arc<ResourceTemplate>, Variables);

/// Templates by their literal prefix.
#[derive(Debug, Default)]
pub struct TemplateIndex {
    by_prefix: HashMap<Box<str>, Vec<Arc<ResourceTemplate>>, ahash::RandomState>,
    /// Lengths of the prefixes, longest first.
    lengths: Vec<usize>,
}

impl TemplateIndex {
    /// Takes templates in the order of their texts.
    pub(crate) fn new<'a>(templates: impl Iterator<Item = &'a Arc<ResourceTemplate>>) -> Self {
        let mut index = Self::default();
        for template in templates {
            let prefix = template.pattern.literal_prefix();
            let prefix = prefix.get(..PREFIX_BYTES).unwrap_or(prefix);
            if let Some(list) = index.by_prefix.get_mut(prefix) {
                list.push(template.clone());
            } else {
                index.by_prefix.insert(prefix.into(), vec![template.clone()]);
                index.lengths.push(prefix.len());
            }
        }
        index.lengths.sort_unstable_by(|one, other| other.cmp(one));
        index.lengths.dedup();
        index
    }

    pub(super) fn candidates(&self, uri: &str) -> impl Iterator<Item = &Arc<ResourceTemplate>> {
        let prefixes = self.lengths.iter().filter_map(move |length| uri.get(..*length));
        prefixes.filter_map(|prefix| self.by_prefix.get(prefix)).flatten()
    }

    /// Returns the first template that matches. Yields to the thread's other tasks while it works.
    pub(crate) async fn find(&self, uri: &Uri<'_>, work: &mut Work) -> Result<Option<Match>, TooMuchWork> {
        for template in self.candidates(uri.text()) {
            if let Some(variables) = template.pattern.matches(uri, work)? {
                return Ok(Some((template.clone(), variables)));
            }
            work.pause().await;
        }
        Ok(None)
    }
}
