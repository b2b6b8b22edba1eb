//! Detection of duplicate keys in an object.
//!
//! While an object is read, each key sets one bit of a word. A key whose bit is already set is compared with the keys
//! before it. If one of them is equal, or if the object has many keys or escaped ones, all keys are checked when the
//! object closes. Guarantees that no key is compared with more than [`FEW`] others, besides `n log n` comparisons of
//! sorting, whatever the keys are.

use super::document::Text;
use super::tape::{ALL_IN_HEAD, Slot, head, tag};

/// Maximum number of keys up to which a key with a colliding bit is compared with each earlier key.
pub(super) const FEW: usize = 64;

/// 64-bit filter of the keys of one object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen(u64);

impl Seen {
    pub(super) const NONE: Self = Self(0);

    /// Sets the bit of a key without an escape; returns `true` if it was already set.
    #[inline(always)]
    pub(super) const fn meets(&mut self, key: Slot) -> bool {
        let bit = 1 << (mix(key.word() ^ key.len() as u64) >> 58);
        let met = self.0 & bit != 0;
        self.0 |= bit;
        met
    }
}

/// Mixes a word so that its upper bits differ for most different keys.
#[inline(always)]
const fn mix(word: u64) -> u64 {
    word.wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// Iterator over the key slots of an object.
pub(super) struct Keys<'t> {
    /// Remaining slots: initially those after the object's own slot.
    pub(super) rest: &'t [Slot],
}

impl Iterator for Keys<'_> {
    type Item = Slot;

    #[inline]
    fn next(&mut self) -> Option<Slot> {
        let [key, value, rest @ ..] = self.rest else { return None };
        self.rest = value.skip_inside(rest);
        Some(*key)
    }
}

/// `true` if an earlier key in `slots` equals `key`. Neither has an escape; `slots` follow the object's own slot.
#[inline(never)]
pub(super) fn holds(text: &Text<'_>, slots: &[Slot], key: Slot) -> bool {
    Keys { rest: slots }.any(|earlier| {
        earlier.word() == key.word()
            && earlier.shape() == key.shape()
            && (key.shape() <= Slot::text_shape(ALL_IN_HEAD) || text.plain(earlier) == text.plain(key))
    })
}

/// Returns the first key that repeats an earlier one of the same object. The object has `count` members, and `slots`
/// follow its own slot.
#[cold]
pub(super) fn duplicate<'t>(text: &'t Text<'_>, slots: &[Slot], count: usize) -> Option<&'t str> {
    let first = |key: Slot| match key.tag() {
        tag::TEXT => key.word(),
        _ => head(text.name(key)),
    };
    let mut keys = Vec::with_capacity(count);
    keys.extend(Keys { rest: slots }.zip(0u32..).map(|(key, i)| (first(key), i, key)));
    keys.sort_unstable_by_key(|&(head, i, _)| (head, i));
    let mut found: Option<(u32, &str)> = None;
    for alike in keys.chunk_by(|(a, ..), (b, ..)| a == b).filter(|alike| alike.len() > 1) {
        let mut named: Vec<_> = alike.iter().map(|&(_, i, key)| (text.name(key), i)).collect();
        named.sort_unstable();
        for pair in named.windows(2) {
            if let [(a, _), (b, i)] = *pair
                && a == b
                && found.is_none_or(|(least, _)| i < least)
            {
                found = Some((i, b));
            }
        }
    }
    found.map(|(_, name)| name)
}
