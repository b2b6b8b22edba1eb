//! Rate limits per minute.
//!
//! Guarantees: a refused request is not counted; memory is bounded by `RATE_KEYS_MAX`, and a flood of new callers
//! locks nobody out: the oldest counters are dropped first.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use super::allowance::{Allowance, Exceeded, Used, User, Whose};
use crate::limits::RATE_KEYS_MAX;
use crate::share::Share;

const MINUTE_MS: u64 = 60_000;

/// Counters over one minute, which begins with the first use.
#[derive(Debug, Default)]
pub struct Rates {
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    by_key: HashMap<Key, Minute>,
    anonymous: Minute,
    total: Minute,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Share(Share),
    /// All anonymous callers of one address.
    Address(Option<IpAddr>),
}

#[derive(Debug, Clone, Copy, Default)]
struct Minute {
    since_ms: u64,
    count: usize,
}

impl Minute {
    fn at(self, now_ms: u64) -> Self {
        if self.is_over(now_ms) { Self { since_ms: now_ms, count: 0 } } else { self }
    }

    const fn is_over(self, now_ms: u64) -> bool {
        now_ms >= self.since_ms.saturating_add(MINUTE_MS)
    }

    fn add(&mut self, now_ms: u64) {
        *self = self.at(now_ms);
        self.count = self.count.saturating_add(1);
    }
}

/// Exceeded rate, with the time to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub struct TooOften {
    pub exceeded: Exceeded,
    pub retry_s: u64,
}

impl fmt::Display for TooOften {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; try again in {} s", self.exceeded, self.retry_s)
    }
}

impl Rates {
    /// Counts one use, unless it would exceed a bound.
    pub fn take(&self, user: &User, allowance: &Allowance, now_ms: u64) -> Result<(), TooOften> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let share = Key::Share(user.share.clone());
        let address = Key::Address(user.address);
        let minute = |key: &Key| counts.by_key.get(key).copied().unwrap_or_default().at(now_ms);
        let minutes =
            [minute(&share), minute(&address), counts.anonymous.at(now_ms), counts.total.at(now_ms)];
        let [of_share, of_address, anonymous, total] = minutes;
        let used = Used {
            share: of_share.count,
            address: of_address.count,
            anonymous: anonymous.count,
            total: total.count,
        };
        if let Err(exceeded) = allowance.check(user, used, 1) {
            let minute = match exceeded.whose {
                Whose::Share => of_share,
                Whose::Address => of_address,
                Whose::Anonymous => anonymous,
                Whose::Everybody => total,
            };
            let left_ms = minute.since_ms.saturating_add(MINUTE_MS).saturating_sub(now_ms);
            return Err(TooOften { exceeded, retry_s: left_ms.div_ceil(1_000).max(1) });
        }
        counts.make_room(now_ms);
        counts.by_key.entry(share).or_default().add(now_ms);
        if user.is_anonymous() {
            counts.by_key.entry(address).or_default().add(now_ms);
            counts.anonymous.add(now_ms);
        }
        counts.total.add(now_ms);
        Ok(())
    }
}

impl Counts {
    /// Makes room for two keys. Drops a tenth at once, so that a flood does not cause a scan for every key.
    fn make_room(&mut self, now_ms: u64) {
        if self.by_key.len() + 2 <= RATE_KEYS_MAX {
            return;
        }
        self.by_key.retain(|_, minute| !minute.is_over(now_ms));
        if self.by_key.len() + 2 <= RATE_KEYS_MAX {
            return;
        }
        let mut begun: Vec<u64> = self.by_key.values().map(|minute| minute.since_ms).collect();
        let (_, tenth, _) = begun.select_nth_unstable(RATE_KEYS_MAX / 10);
        let tenth = *tenth;
        let mut left = RATE_KEYS_MAX / 10;
        self.by_key.retain(|_, minute| {
            let forgotten = minute.since_ms <= tenth && left > 0;
            left -= usize::from(forgotten);
            !forgotten
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THINGS: Allowance = Allowance::new("things a minute", 2, 1_000_000);

    fn from(address: [u8; 4]) -> User {
        let address = IpAddr::from(address);
        User::new(Share::Address(address), Some(address))
    }

    fn allowed(rates: &Rates, user: &User, now_ms: u64) -> bool {
        rates.take(user, &THINGS, now_ms).is_ok()
    }

    #[test]
    fn a_minute_has_so_many_and_the_next_begins_anew() {
        let rates = Rates::default();
        let (ann, bob) = (User::subject("ann"), User::subject("bob"));
        assert!(allowed(&rates, &ann, 0) && allowed(&rates, &ann, 1));
        let refused = rates.take(&ann, &THINGS, 30_001).unwrap_err();
        assert_eq!((refused.exceeded.whose, refused.retry_s), (Whose::Share, 30));
        assert!(allowed(&rates, &bob, 2));
        assert!(allowed(&rates, &ann, 60_000));
    }

    #[test]
    fn sessions_of_one_address_share_its_minute_and_another_address_has_its_own() {
        let rates = Rates::default();
        let session = |last: u8| {
            let id = crate::session::SessionId::random().unwrap();
            User::new(Share::Session(id), Some(IpAddr::from([10, 0, 0, last])))
        };
        let served = (0..100).filter(|_| allowed(&rates, &session(1), 0)).count();
        assert_eq!(served, THINGS.address_max);
        assert!(allowed(&rates, &session(2), 0));
        assert!(allowed(&rates, &User::subject("ann"), 0));
    }

    /// `RATE_KEYS_MAX`: with more callers than are remembered, each new one is served and memory stays bounded.
    #[test]
    fn more_than_rate_keys_max_callers_lock_nobody_out() {
        let rates = Rates::default();
        for number in 0..u32::try_from(RATE_KEYS_MAX).unwrap() {
            let [_, a, b, c] = number.to_be_bytes();
            assert!(allowed(&rates, &from([10, a, b, c]), u64::from(number) / 1_000), "{number}");
            assert!(rates.counts.lock().unwrap().by_key.len() <= RATE_KEYS_MAX);
        }
        let last = from([11, 0, 0, 1]);
        assert!(allowed(&rates, &last, 11) && allowed(&rates, &last, 11) && !allowed(&rates, &last, 11));
    }
}
