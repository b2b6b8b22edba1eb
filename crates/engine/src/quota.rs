//! Quota of one resource, bounded for the whole process and for each share.
//!
//! Guarantees: an amount is given back when its [`Held`] is dropped; a share that holds nothing takes no memory;
//! [`Quota::check`] takes no lock while the resource is little used.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::share::Share;

/// Bound, with the name under which LIMITS.md lists it and the noun for what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    pub name: &'static str,
    pub max: usize,
    pub counts: &'static str,
}

/// The bounds of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bound of all shares together.
    pub total: Bound,
    /// Bound of each share.
    pub share: Bound,
}

/// A quota is exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// This share is at its bound.
    #[error("{}: this caller is at its limit {} ({})", .0.counts, .0.name, .0.max)]
    Share(Bound),
    /// All shares together are at the bound of the process.
    #[error("{}: the server is at its limit {} ({})", .0.counts, .0.name, .0.max)]
    Total(Bound),
}

impl Full {
    #[must_use]
    pub fn bound(self) -> Bound {
        match self {
            Self::Share(bound) | Self::Total(bound) => bound,
        }
    }
}

/// Use of one resource by all shares.
#[derive(Debug)]
pub struct Quota {
    bounds: Bounds,
    /// Written under the lock, read without it.
    total: AtomicUsize,
    by_share: Mutex<HashMap<Share, usize>>,
}

impl Quota {
    #[must_use]
    pub fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self { bounds, total: AtomicUsize::new(0), by_share: Mutex::default() })
    }

    /// Takes `amount` for a share, if there is room.
    pub fn take(self: &Arc<Self>, share: &Share, amount: usize) -> Result<Held, Full> {
        let mut held = Held { quota: self.clone(), share: share.clone(), amount: 0 };
        held.grow(amount)?;
        Ok(held)
    }

    /// Takes `amount` for a share even if there is no room.
    #[must_use]
    pub fn charge(self: &Arc<Self>, share: &Share, amount: usize) -> Held {
        let mut held = Held { quota: self.clone(), share: share.clone(), amount: 0 };
        held.charge(amount);
        held
    }

    /// Returns an error once a share uses half of its bound: new work is refused from there on, so that work in
    /// flight finds room for its results in the other half. Once all shares together use half of the total bound,
    /// every share that uses anything is refused, and a share that uses nothing is still served.
    pub fn check(&self, share: impl FnOnce() -> Share) -> Result<(), Full> {
        // No share can hold more than the total.
        if self.total() < self.bounds.share.max / 2 {
            return Ok(());
        }
        let Bounds { total, share: of_share } = self.bounds;
        let used = self.held_by(&share());
        if used >= of_share.max / 2 {
            return Err(Full::Share(of_share));
        }
        if used > 0 && self.total() >= total.max / 2 { Err(Full::Total(total)) } else { Ok(()) }
    }

    #[must_use]
    pub fn total(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    #[must_use]
    pub fn held_by(&self, share: &Share) -> usize {
        self.lock().get(share).copied().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Share, usize>> {
        self.by_share.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Amount that a share holds; given back when dropped.
#[derive(Debug)]
pub struct Held {
    quota: Arc<Quota>,
    share: Share,
    amount: usize,
}

impl Held {
    #[must_use]
    pub fn amount(&self) -> usize {
        self.amount
    }

    /// Takes more, if there is room.
    pub fn grow(&mut self, more: usize) -> Result<(), Full> {
        let Bounds { total, share } = self.quota.bounds;
        let mut by_share = self.quota.lock();
        let used = by_share.get(&self.share).copied().unwrap_or_default();
        let all = self.quota.total();
        if used.saturating_add(more) > share.max {
            return Err(Full::Share(share));
        }
        if all.saturating_add(more) > total.max {
            return Err(Full::Total(total));
        }
        if more > 0 {
            by_share.insert(self.share.clone(), used + more);
            self.quota.total.store(all + more, Ordering::Relaxed);
            self.amount += more;
        }
        Ok(())
    }

    /// Changes the amount that is held; the amount stays as it is if there is no room for more.
    pub fn resize(&mut self, amount: usize) -> Result<(), Full> {
        match amount.checked_sub(self.amount) {
            Some(0) => Ok(()),
            Some(more) => self.grow(more),
            None => {
                self.shrink(self.amount - amount);
                Ok(())
            }
        }
    }

    /// Takes more even if there is no room.
    pub fn charge(&mut self, more: usize) {
        if more > 0 {
            let mut by_share = self.quota.lock();
            *by_share.entry(self.share.clone()).or_default() += more;
            self.quota.total.fetch_add(more, Ordering::Relaxed);
            self.amount += more;
        }
    }

    /// Gives back part of the amount.
    pub fn shrink(&mut self, less: usize) {
        let less = less.min(self.amount);
        if less == 0 {
            return;
        }
        self.amount -= less;
        let mut by_share = self.quota.lock();
        if let Entry::Occupied(mut used) = by_share.entry(self.share.clone()) {
            *used.get_mut() = used.get().saturating_sub(less);
            if *used.get() == 0 {
                used.remove();
            }
        }
        self.quota.total.fetch_sub(less, Ordering::Relaxed);
    }

    /// Returns true if this share, or all shares together, use more than their bound.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let Bounds { total, share } = self.quota.bounds;
        self.quota.total() > total.max || self.quota.held_by(&self.share) > share.max
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shrink(self.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOTAL: Bound = Bound { name: "TOTAL", max: 10, counts: "seats" };
    const SHARE: Bound = Bound { name: "SHARE", max: 6, counts: "seats" };

    fn subject(name: &str) -> Share {
        Share::Subject(name.into())
    }

    #[test]
    fn a_share_is_refused_at_its_own_bound_and_everybody_at_the_total() {
        let quota = Quota::new(Bounds { total: TOTAL, share: SHARE });
        let mut mine = quota.take(&subject("me"), 4).unwrap();
        assert_eq!(quota.take(&subject("me"), 3).unwrap_err(), Full::Share(SHARE));
        mine.resize(6).unwrap();
        mine.resize(5).unwrap();
        mine.grow(1).unwrap();
        assert_eq!(mine.grow(1), Err(Full::Share(SHARE)));
        let yours = quota.take(&subject("you"), 4).unwrap();
        assert_eq!(quota.take(&subject("they"), 1).unwrap_err(), Full::Total(TOTAL));
        drop(yours);
        assert!(quota.take(&subject("they"), 4).is_ok());
    }

    #[test]
    fn what_is_held_is_given_back_and_nothing_of_the_share_is_left() {
        let quota = Quota::new(Bounds { total: TOTAL, share: SHARE });
        let mut held = quota.charge(&subject("me"), 20);
        assert!(held.is_over());
        held.shrink(15);
        assert!(!held.is_over());
        assert_eq!((held.amount(), quota.total(), quota.held_by(&subject("me"))), (5, 5, 5));
        drop(held);
        assert_eq!(quota.total(), 0);
        assert!(quota.lock().is_empty());
    }

    #[test]
    fn new_work_is_refused_from_half_of_a_bound_on() {
        let quota = Quota::new(Bounds { total: TOTAL, share: SHARE });
        let mine = quota.take(&subject("me"), 3).unwrap();
        assert_eq!(quota.check(|| subject("me")), Err(Full::Share(SHARE)));
        assert_eq!(quota.check(|| subject("you")), Ok(()));
        let yours = quota.take(&subject("you"), 2).unwrap();
        assert_eq!(quota.check(|| subject("you")), Err(Full::Total(TOTAL)));
        assert_eq!(quota.check(|| subject("they")), Ok(()), "they use nothing");
        drop((mine, yours));
        assert_eq!(quota.check(|| unreachable!("nobody holds anything")), Ok(()));
    }
}
