//! How often somebody may do something within a minute.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::limits::RATE_KEYS_MAX;

const MINUTE_MS: u64 = 60_000;

/// Counters that begin anew every minute.
#[derive(Debug, Default)]
pub struct Rates {
    counts: Mutex<HashMap<String, (u64, u32)>>,
}

impl Rates {
    /// True if this one is still allowed.
    pub fn allows(&self, who: &str, per_minute_max: u32, now_ms: u64) -> bool {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= RATE_KEYS_MAX && !counts.contains_key(who) {
            counts.retain(|_, (since, _)| now_ms < since.saturating_add(MINUTE_MS));
            // Nobody new while so many are counted: refusing is safer than forgetting.
            if counts.len() >= RATE_KEYS_MAX {
                return false;
            }
        }
        let (since, count) = counts.entry(who.to_owned()).or_insert((now_ms, 0));
        if now_ms >= since.saturating_add(MINUTE_MS) {
            (*since, *count) = (now_ms, 0);
        }
        *count = count.saturating_add(1);
        *count <= per_minute_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_so_many_and_the_next_begins_anew() {
        let rates = Rates::default();
        let allowed = |who, now_ms| rates.allows(who, 2, now_ms);
        assert!(allowed("a", 0) && allowed("a", 1) && !allowed("a", 59_999));
        assert!(allowed("b", 2));
        assert!(allowed("a", 60_000));
    }

    /// `RATE_KEYS_MAX`
    #[test]
    fn more_than_rate_keys_max_at_once_are_refused() {
        let rates = Rates::default();
        for number in 0..RATE_KEYS_MAX {
            assert!(rates.allows(&number.to_string(), 1, 0));
        }
        assert!(!rates.allows("one more", 1, 1));
        assert!(rates.allows("one more", 1, 60_000));
    }
}
