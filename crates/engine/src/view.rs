//! [`View`]: the ordered contracts that one caller sees, with their prepared list.
//!
//! Guarantees: an immutable snapshot; look-up by name is O(1); the order is priority, then name, independent of the
//! order of registration.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use ahash::RandomState;
use toolcrib_contract::Audience;

use crate::entry::Entry;
use crate::listing::{Item, Listing};

/// Ordered contracts of one standing, with their prepared list.
#[derive(Debug)]
pub struct View {
    entries: Vec<Arc<Entry>>,
    by_name: HashMap<Arc<str>, Arc<Entry>, RandomState>,
    listing: Listing,
    fingerprint: OnceLock<u64>,
}

impl View {
    /// Creates a view of these entries, given in any order.
    #[must_use]
    pub fn new(mut entries: Vec<Arc<Entry>>) -> Self {
        entries.sort_by(|left, right| left.rank().cmp(&right.rank()));
        Self::of(entries.into_iter().map(|entry| (entry.clone(), entry.item().clone())).collect())
    }

    /// Creates a view of entries that are sorted already, each with the form in which it is listed.
    #[must_use]
    pub fn of(shown: Vec<(Arc<Entry>, Item)>) -> Self {
        let by_name = shown.iter().map(|(entry, item)| (item.key.clone(), entry.clone())).collect();
        let (entries, items) = shown.into_iter().unzip();
        Self { listing: Listing::new("tools", items), by_name, entries, fingerprint: OnceLock::new() }
    }

    #[cfg(test)]
    pub(crate) fn of_items(items: Vec<Item>) -> Self {
        let listing = Listing::new("tools", items);
        Self { listing, by_name: HashMap::default(), entries: Vec::new(), fingerprint: OnceLock::new() }
    }

    /// Estimates the memory of the view once both eras have requested its list; shared definitions are not counted.
    #[must_use]
    pub fn bytes(&self) -> usize {
        const PER_TOOL: usize = 160;
        self.listing.items().iter().map(|item| item.legacy.len() + item.modern.len() + PER_TOOL).sum()
    }

    /// Returns a hash that is equal for views with equal lists, also across states of the registry.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        *self.fingerprint.get_or_init(|| {
            let mut hasher = DefaultHasher::new();
            for item in self.listing.items() {
                item.fingerprint().hash(&mut hasher);
            }
            hasher.finish()
        })
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        self.by_name.get(name)
    }

    #[must_use]
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    #[must_use]
    pub fn listing(&self) -> &Listing {
        &self.listing
    }

    /// Returns the entries that pass a filter, in order (R2.3, filters of `list`).
    pub fn list<'a>(&'a self, filter: &'a Filter) -> impl Iterator<Item = &'a Arc<Entry>> {
        self.entries.iter().filter(|entry| filter.admits(entry))
    }
}

/// Filter for listing tools; the default admits all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub audience: Option<Audience>,
    pub read_only: Option<bool>,
    pub toolset: Option<Box<str>>,
}

impl Filter {
    /// Returns true if the entry passes. A tool without an audience is for everyone.
    #[must_use]
    pub fn admits(&self, entry: &Entry) -> bool {
        let annotations = entry.contract().annotations();
        let audience =
            self.audience.is_none_or(|wanted| annotations.audience.is_none_or(|audience| audience == wanted));
        let read_only = self.read_only.is_none_or(|wanted| entry.judged().effect.read_only == wanted);
        let toolset = self.toolset.as_deref().is_none_or(|wanted| entry.toolset() == wanted);
        audience && read_only && toolset
    }
}
