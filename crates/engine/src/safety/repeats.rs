//! Loop detection: the same call of the same caller, again and again (R4.7).
//!
//! Guarantees: bounded memory whatever callers send; no lock is held across anything; the order of keys and white
//! space do not make a call another one. It never refuses a call by mistake for another one's count but where two
//! 64-bit hashes under a random key meet.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use ahash::RandomState;
use toolcrib_contract::json::{Kind, Node};

use crate::limits::REPEAT_KEYS_MAX;
use crate::principal::Principal;

const SHARDS: usize = 16;

#[derive(Debug, Clone, Copy)]
struct Count {
    since_ms: u64,
    calls: u32,
}

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
    /// Counts a call; gives how often it came within the window, this time included.
    pub(crate) fn count(
        &self,
        principal: &Principal,
        session: Option<&str>,
        tool: &str,
        arguments: Node<'_>,
        window_ms: u64,
        now_ms: u64,
    ) -> u32 {
        let mut hasher = self.key.build_hasher();
        (principal, session, tool).hash(&mut hasher);
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
        let count = counts.entry(hash).or_insert(Count { since_ms: now_ms, calls: 0 });
        if now_ms >= count.since_ms.saturating_add(window_ms) {
            *count = Count { since_ms: now_ms, calls: 0 };
        }
        count.calls = count.calls.saturating_add(1);
        count.calls
    }

    /// Nothing was counted yet.
    pub(crate) fn forget(&self) {
        for shard in &self.shards {
            shard.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Equal for equal JSON, whatever the order of members.
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

    /// R4.7: the same caller, tool and arguments, however they are spelled, within the window.
    #[test]
    fn the_same_call_is_counted_within_its_window_and_no_other() {
        let repeats = Repeats::default();
        let count = |principal: &Principal, tool: &str, text: &str, now_ms| {
            let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
            repeats.count(principal, None, tool, document.root(), 1_000, now_ms)
        };
        let ann = Principal::subject("ann");
        assert_eq!(count(&ann, "t", r#"{"a":1,"b":[{"c":2}]}"#, 0), 1);
        assert_eq!(count(&ann, "t", r#"{ "b": [ {"c":2} ], "a":1 }"#, 999), 2);
        assert_eq!(count(&ann, "t", r#"{"a":1,"b":[{"c":3}]}"#, 999), 1);
        assert_eq!(count(&ann, "u", r#"{"a":1,"b":[{"c":2}]}"#, 999), 1);
        assert_eq!(count(&Principal::subject("bob"), "t", r#"{"a":1,"b":[{"c":2}]}"#, 999), 1);
        assert_eq!(count(&ann, "t", r#"{"a":1,"b":[{"c":2}]}"#, 1_000), 1);
    }

    /// `REPEAT_KEYS_MAX`: a caller that never repeats itself does not fill the memory.
    #[test]
    fn no_more_than_repeat_keys_max_calls_are_remembered() {
        let repeats = Repeats::default();
        for number in 0..REPEAT_KEYS_MAX * 2 {
            let text = format!("[{number}]");
            let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
            repeats.count(&Principal::Local, None, "t", document.root(), 1_000, 0);
        }
        let kept: usize = repeats.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert!(kept <= REPEAT_KEYS_MAX, "{kept}");
    }
}
