//! Cache of the views of one catalogue.
//!
//! Guarantees: equal standings share a view; no more than [`VIEWS_MAX`] views and about [`VIEWS_BYTES_MAX`] bytes are
//! kept, whatever callers ask for. Two generations: when the young one is full it replaces the old one, which drops
//! only the views that were not requested in between.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::standing::Standing;
use crate::limits::{VIEWS_BYTES_MAX, VIEWS_MAX};
use crate::view::View;

/// Cached views by standing.
#[derive(Debug, Default)]
pub(super) struct Prepared(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Standing, Arc<View>>,
    young_bytes: usize,
    old: HashMap<Standing, Arc<View>>,
}

impl Prepared {
    /// Returns the view of this standing, built on a miss.
    pub(super) fn get(&self, standing: &Standing, build: impl FnOnce() -> View) -> Arc<View> {
        if let Some(view) = self.lock().find(standing) {
            return view;
        }
        // Built outside the lock: if two callers build the same view, the first one is kept.
        let built = Arc::new(build());
        let mut generations = self.lock();
        match generations.find(standing) {
            Some(view) => view,
            None => {
                generations.keep(standing.clone(), built.clone());
                built
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let generations = self.lock();
        generations.young.len() + generations.old.len()
    }
}

impl Generations {
    fn find(&mut self, standing: &Standing) -> Option<Arc<View>> {
        if let Some(view) = self.young.get(standing) {
            return Some(view.clone());
        }
        let (standing, view) = self.old.remove_entry(standing)?;
        self.keep(standing, view.clone());
        Some(view)
    }

    fn keep(&mut self, standing: Standing, view: Arc<View>) {
        let bytes = view.bytes();
        if self.young.len() >= VIEWS_MAX / 2 || self.young_bytes + bytes > VIEWS_BYTES_MAX / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += bytes;
        self.young.insert(standing, view);
    }
}

#[cfg(test)]
mod tests {
    use super::super::bits::Bits;
    use super::*;
    use crate::listing::Item;

    const TOOLSETS: usize = 12;

    fn standing(loaded: usize) -> Standing {
        let mut bits = Bits::none(TOOLSETS);
        (0..TOOLSETS).filter(|at| loaded & (1 << at) != 0).for_each(|at| bits.set(at));
        Standing { reach: Bits::all(TOOLSETS), loaded: bits, read_only: false, vendor: None, tokens: None }
    }

    /// R3.5: the same standing gets the same prepared view, and so the same bytes.
    #[test]
    fn equal_standings_share_a_view() {
        let prepared = Prepared::default();
        let view = |loaded| prepared.get(&standing(loaded), || View::new(Vec::new()));
        assert!(Arc::ptr_eq(&view(5), &view(5)));
        assert!(!Arc::ptr_eq(&view(5), &view(4)));
    }

    /// `VIEWS_MAX`: a caller that asks for every combination can neither make the server keep them all nor evict
    /// views that others use.
    #[test]
    fn no_more_than_views_max_views_are_kept_and_those_in_use_stay() {
        let prepared = Prepared::default();
        let view = |loaded| prepared.get(&standing(loaded), || View::new(Vec::new()));
        let used = view(4_095);
        for loaded in 0..4_000 {
            let _ = view(loaded);
            if loaded % 100 == 0 {
                assert!(Arc::ptr_eq(&used, &view(4_095)), "after {loaded}");
            }
        }
        assert!(prepared.len() <= VIEWS_MAX, "{}", prepared.len());
    }

    /// `VIEWS_BYTES_MAX`: large views are evicted before their number reaches the limit.
    #[test]
    fn no_more_than_views_bytes_max_bytes_are_kept() {
        let prepared = Prepared::default();
        let text: Arc<str> = "x".repeat(1 << 20).into();
        for loaded in 0..1_000 {
            let items = (0..8).map(|number| Item::same(format!("{number}"), text.clone())).collect();
            let _ = prepared.get(&standing(loaded), || View::of_items(items));
        }
        let generations = prepared.lock();
        let views = generations.young.values().chain(generations.old.values());
        let bytes: usize = views.map(|view| view.bytes()).sum();
        assert!(bytes <= VIEWS_BYTES_MAX && bytes > VIEWS_BYTES_MAX / 4, "{bytes}");
    }
}
