//! Loop guard: counts identical calls of one share (R4.7: a caller that repeats one call past a threshold is
//! stopped).
//!
//! Guarantees: one session's calls never count for another session, nor one address's for another address; memory is
//! bounded whatever callers send; key order and white space do not make a call different. Two calls share a counter
//! only if their 64-bit hashes under a random key are equal.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use ahash::RandomState;
use toolcrib_contract::json::{Kind, Node};

use super::scope::Stoppable;
use crate::limits::REPEAT_KEYS_MAX;
use crate::share::Share;

const SHARDS: usize = 16;

#[derive(Debug, Clone, Copy)]
struct Count {
    since_ms: u64,
    calls: u32,
    /// Hash of the caller that is stopped when this counter exceeds its maximum.
    owner: u64,
}

/// Repetition counters, in shards with a lock each.
#[derive(Debug)]
pub struct Repeats {
    shards: [Mutex<HashMap<u64, Count, RandomState>>; SHARDS],
    key: RandomState,
}

impl Default for Repeats {
    fn default() -> Self {
        Self { shards: Default::default(), key: RandomState::new() }
    }
}

impl Repeats {
    /// Counts a call; returns its number within the window, this call included. The sessions of one subject are
    /// counted separately.
    pub(crate) fn count(
        &self,
        share: &Share,
        session: Option<&str>,
        tool: &str,
        arguments: Node<'_>,
        window_ms: u64,
        now_ms: u64,
    ) -> u32 {
        let owner = self.owner(Stoppable::of(share));
        let mut hasher = self.key.build_hasher();
        (owner, session, tool).hash(&mut hasher);
        hasher.write_u64(self.value(arguments));
        let hash = hasher.finish();
        let Some(shard) = usize::try_from(hash % SHARDS as u64).ok().and_then(|at| self.shards.get(at))
        else {
            return 1;
        };
        let mut counts = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= REPEAT_KEYS_MAX / SHARDS && !counts.contains_key(&hash) {
            counts.retain(|_, count| now_ms < count.since_ms.saturating_add(window_ms));
            if counts.len() >= REPEAT_KEYS_MAX / SHARDS {
                counts.clear();
            }
        }
        let count = counts.entry(hash).or_insert(Count { since_ms: now_ms, calls: 0, owner });
        if now_ms >= count.since_ms.saturating_add(window_ms) {
            *count = Count { since_ms: now_ms, calls: 0, owner };
        }
        count.calls = count.calls.saturating_add(1);
        count.calls
    }

    /// Drops every counter.
    pub(crate) fn forget_all(&self) {
        for shard in &self.shards {
            shard.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Drops the counters of these callers, given by the keys of stop scopes.
    pub(crate) fn forget(&self, callers: &[String]) {
        let owners: HashSet<u64> =
            callers.iter().map(|caller| self.owner(Stoppable::parse(caller))).collect();
        for shard in &self.shards {
            let mut counts = shard.lock().unwrap_or_else(PoisonError::into_inner);
            counts.retain(|_, count| !owners.contains(&count.owner));
        }
    }

    fn owner(&self, caller: Stoppable<'_>) -> u64 {
        self.key.hash_one(caller)
    }

    /// Hashes a value; equal for equal JSON, independent of the order of members.
    fn value(&self, node: Node<'_>) -> u64 {
        let mut hasher = self.key.build_hasher();
        match node.kind() {
            Kind::Object => {
                let mut sum = 0u64;
                for (key, value) in node.members() {
                    let mut member = self.key.build_hasher();
                    key.raw().hash(&mut member);
                    member.write_u64(self.value(value));
                    sum = sum.wrapping_add(member.finish());
                }
                (1u8, node.len(), sum).hash(&mut hasher);
            }
            Kind::Array => {
                2u8.hash(&mut hasher);
                node.elements().for_each(|element| hasher.write_u64(self.value(element)));
            }
            _ => node.raw().hash(&mut hasher),
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    fn count(repeats: &Repeats, share: &Share, tool: &str, text: &str, now_ms: u64) -> u32 {
        let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
        repeats.count(share, None, tool, document.root(), 1_000, now_ms)
    }

    /// R4.7: counts calls of one caller, tool and arguments, in any spelling, within the window.
    #[test]
    fn the_same_call_is_counted_within_its_window_and_no_other() {
        let repeats = Repeats::default();
        let count =
            |share: &Share, tool: &str, text: &str, now_ms| count(&repeats, share, tool, text, now_ms);
        let ann = Share::Subject("ann".into());
        assert_eq!(count(&ann, "t", r#"{"a":1,"b":[{"c":2}]}"#, 0), 1);
        assert_eq!(count(&ann, "t", r#"{ "b": [ {"c":2} ], "a":1 }"#, 999), 2);
        assert_eq!(count(&ann, "t", r#"{"a":1,"b":[{"c":3}]}"#, 999), 1);
        assert_eq!(count(&ann, "u", r#"{"a":1,"b":[{"c":2}]}"#, 999), 1);
        assert_eq!(count(&Share::Subject("bob".into()), "t", r#"{"a":1,"b":[{"c":2}]}"#, 999), 1);
        assert_eq!(count(&ann, "t", r#"{"a":1,"b":[{"c":2}]}"#, 1_000), 1);
    }

    /// R4.7: anonymous callers of two addresses and two sessions have four counters; unlocking one leaves the others.
    #[test]
    fn addresses_and_sessions_are_counted_and_forgotten_apart() {
        let repeats = Repeats::default();
        let session = || Share::Session(crate::session::SessionId::random().unwrap());
        let address = |last| Share::Address(std::net::IpAddr::from([127, 0, 0, last]));
        let shares = [session(), session(), address(1), address(2)];
        for times in 1..=3 {
            for share in &shares {
                assert_eq!(count(&repeats, share, "t", "{}", 0), times);
            }
        }
        repeats.forget(&[super::super::scope::Scope::of(&shares[1]).key().to_owned()]);
        let counts = shares.each_ref().map(|share| count(&repeats, share, "t", "{}", 0));
        assert_eq!(counts, [4, 1, 4, 4]);
    }

    /// `REPEAT_KEYS_MAX`: a caller that never repeats itself does not fill the memory.
    #[test]
    fn no_more_than_repeat_keys_max_calls_are_remembered() {
        let repeats = Repeats::default();
        for number in 0..REPEAT_KEYS_MAX * 2 {
            count(&repeats, &Share::Local, "t", &format!("[{number}]"), 0);
        }
        let kept: usize = repeats.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert!(kept <= REPEAT_KEYS_MAX, "{kept}");
    }
}
