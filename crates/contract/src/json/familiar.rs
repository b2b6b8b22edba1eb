//! Per-thread cache of `_meta` objects, which a client or server sends unchanged with every message.
//!
//! Guarantees: a text that begins with the text of a cached object is read as that object, under the limits of the
//! current message. The result is the same as without the cache.

use std::cell::RefCell;

use super::document::Text;
use super::tape::{Slot, head, tag};

/// Objects that each thread caches; the oldest is evicted.
const KEPT: usize = 4;

/// Maximum bytes of a cached object.
const BYTES_MAX: usize = 1024;

/// Maximum objects and arrays in a cached object, itself included.
const CONTAINERS_MAX: usize = 16;

/// The key whose value is cached.
const KEY: &str = "_meta";

thread_local! {
    static MEMORY: RefCell<Memory> = const { RefCell::new(Memory { objects: [const { Object::NONE }; KEPT], oldest: 0 }) };
}

struct Memory {
    objects: [Object; KEPT],
    oldest: usize,
}

struct Object {
    text: String,
    /// Slots of the object, with offsets relative to its start.
    slots: Vec<Slot>,
    /// Number of objects and arrays in it: an upper bound on its depth.
    containers: usize,
}

impl Object {
    const NONE: Self = Self { text: String::new(), slots: Vec::new(), containers: 0 };
}

/// `true` if the value after this key may be cached.
#[inline(always)]
pub(super) fn is_key(key: Slot) -> bool {
    key.shape() == const { Slot::text_shape(KEY.len()) } && key.word() == const { head(KEY) }
}

/// Appends the slots of the object that starts at `at` and returns the offset of its end, if the object is cached and
/// has at most `room` slots and at most `depth` containers.
pub(super) fn recall(
    source: &str,
    at: usize,
    slots: &mut Vec<Slot>,
    room: usize,
    depth: usize,
) -> Option<usize> {
    let text = source.as_bytes().get(at..)?;
    MEMORY.with_borrow(|memory| {
        let is_it = |object: &&Object| !object.text.is_empty() && text.starts_with(object.text.as_bytes());
        let object = memory.objects.iter().find(is_it)?;
        if object.slots.len() > room || object.containers > depth {
            return None;
        }
        slots.extend(object.slots.iter().map(|slot| slot.later(at)));
        Some(at + object.text.len())
    })
}

/// Caches the object at this slot, if it is small enough.
pub(super) fn keep(text: &Text<'_>, at: usize) {
    let Some(object) = text.slots.get(at) else { return };
    let Some(slots) = text.slots.get(at..at + object.span()) else { return };
    // A cached text is compact, because `spaced` does not say where white space is. A slot with an escaped key refers
    // to the keys of its own text.
    let is_plain = |slot: &Slot| slot.tag() != tag::ESCAPED_KEY;
    let containers = slots.iter().filter(|slot| slot.is_container()).count();
    if text.spaced || object.len() > BYTES_MAX || containers > CONTAINERS_MAX || !slots.iter().all(is_plain) {
        return;
    }
    MEMORY.with_borrow_mut(|memory| {
        let oldest = memory.oldest;
        memory.oldest = (oldest + 1) % KEPT;
        let Some(kept) = memory.objects.get_mut(oldest) else { return };
        kept.text.clear();
        kept.text.push_str(text.source.get(object.range()).unwrap_or_default());
        kept.slots.clear();
        kept.slots.extend(slots.iter().map(|slot| slot.earlier(object.start())));
        kept.containers = containers;
    });
}

#[cfg(test)]
pub(super) fn forget() {
    MEMORY.with_borrow_mut(|memory| *memory = Memory { objects: [const { Object::NONE }; KEPT], oldest: 0 });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::parse::parse;
    use super::*;
    use crate::json::Limits;

    /// Result of reading a text: every slot, or the error.
    fn read(text: &str, limits: &Limits) -> String {
        match parse(text.as_bytes(), limits) {
            Ok(text) => format!("{:?} {:?} {}", text.slots, text.keys, text.spaced),
            Err(error) => format!("{error:?}"),
        }
    }

    fn anew(text: &str, limits: &Limits) -> String {
        forget();
        read(text, limits)
    }

    fn objects() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("{}".to_owned()),
            Just("[]".to_owned()),
            "-?[1-9][0-9]{0,3}(\\.[0-9]{1,3})?",
            "\"([a-zé ]|\\\\n|\\\\u00e9){0,20}\"",
            Just("null".to_owned()),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
                prop::collection::vec(("[a-z]{1,12}|a\\\\n", inner), 0..4).prop_map(|members| {
                    let members: Vec<_> =
                        members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                    format!("{{{}}}", members.join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_known_is_read_as_it_was(
            metas in prop::collection::vec(objects(), 1..6),
            order in prop::collection::vec((any::<prop::sample::Index>(), "[a-z]{0,9}", any::<bool>()), 1..20),
            nodes_max in prop_oneof![Just(usize::MAX), 0usize..40],
            depth_max in prop_oneof![Just(64usize), 0usize..8],
        ) {
            let message = Limits::message();
            let limits = message.with_nodes_max(nodes_max.min(message.nodes_max)).with_depth_max(depth_max);
            for (which, id, is_tight) in order {
                let meta = which.get(&metas);
                let text = format!("{{\"id\":\"{id}\",\"params\":{{\"a\":[1],\"_meta\":{meta},\"b\":\"{id}\"}}}}");
                let limits = if is_tight { limits } else { message };
                let fresh = anew(&text, &limits);
                // Fills the cache, under other limits and at another offset.
                for before in &metas {
                    read(&format!("{{\"params\":{{\"_meta\":{before}}}}}"), &message);
                }
                prop_assert_eq!(read(&text, &limits), fresh.clone());
                prop_assert_eq!(read(&text, &limits), fresh, "and again");
            }
        }
    }

    fn knows(text: &str) -> bool {
        recall(text, 0, &mut Vec::new(), usize::MAX, usize::MAX) == Some(text.len())
    }

    #[test]
    fn an_object_is_kept_in_mind_until_others_take_its_place() {
        let limits = Limits::message();
        let meta = |number: usize| format!("{{\"a\":{{\"b\":[{number}]}}}}");
        forget();
        for number in 10..10 + KEPT {
            read(&format!("{{\"params\":{{\"_meta\":{}}}}}", meta(number)), &limits);
        }
        assert!((10..10 + KEPT).all(|number| knows(&meta(number))));
        read(&format!("{{\"params\":{{\"_meta\":{}}}}}", meta(99)), &limits);
        assert!(knows(&meta(99)) && !knows(&meta(10)) && knows(&meta(11)));
    }

    #[test]
    fn only_what_is_small_and_stands_where_it_is_looked_for_is_kept() {
        let limits = Limits::message();
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(BYTES_MAX));
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(CONTAINERS_MAX), "]".repeat(CONTAINERS_MAX));
        for (text, meta) in [
            (format!("{{\"params\":{{\"_meta\":{long}}}}}"), &*long),
            (format!("{{\"params\":{{\"_meta\":{deep}}}}}"), &*deep),
            ("{\"params\":{\"_meta\":{\"a\": 1}}}".to_owned(), "{\"a\": 1}"),
            ("{\"params\":{\"_meta\":{\"\\u0061\":1}}}".to_owned(), "{\"\\u0061\":1}"),
            ("{\"params\":{\"_mete\":{\"a\":1}}}".to_owned(), "{\"a\":1}"),
            ("{\"_meta\":{\"a\":1}}".to_owned(), "{\"a\":1}"),
            ("{\"params\":{\"_meta\":{\"a\":1}}},".to_owned(), "{\"a\":1}"),
        ] {
            forget();
            read(&text, &limits);
            assert!(!knows(meta), "{text}");
        }
    }
}
