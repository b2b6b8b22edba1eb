//! Difference between two JSON values, as JSON.
//!
//! Objects: `drop` and `set` name members, `was` has the digest of each replaced value, `in` has patches of members,
//! and `order` has the order of keys if it differs. Arrays: `of` is the digest of the whole array, `in` has patches by
//! index, `tail` is appended. Values are copied token by token, so numbers and strings keep their spelling.

use std::borrow::Cow;

use toolcrib_contract::Digest;
use toolcrib_contract::json::{Node, ObjectWriter, Pointer, write_string};

/// Hex digits of the digests that detect edits.
const DIGEST_CHARS: usize = 12;

enum Difference {
    Same,
    Patch(String),
    /// The patch would be no shorter than the value itself.
    Whole,
}

/// Returns the patch that turns `from` into `to`, or `None` if they are equal, key order and spelling included.
pub(crate) fn diff(from: Node<'_>, to: Node<'_>) -> Option<String> {
    match difference(from, to) {
        Difference::Same => None,
        Difference::Patch(patch) => Some(patch),
        Difference::Whole => {
            let mut out = ObjectWriter::new();
            out.string("of", &short_digest(from)).raw("whole", &to.to_compact());
            Some(out.finish())
        }
    }
}

fn difference(from: Node<'_>, to: Node<'_>) -> Difference {
    if same(from, to) {
        return Difference::Same;
    }
    if from.is_object() && to.is_object() {
        return object(from, to);
    }
    if from.is_array() && to.is_array() {
        return array(from, to);
    }
    Difference::Whole
}

/// Returns true if both have the same tokens, ignoring white space. Most of a document passes through a step unchanged
/// and is compared without a copy.
fn same(from: Node<'_>, to: Node<'_>) -> bool {
    if from.kind() != to.kind() || from.len() != to.len() {
        return false;
    }
    if from.is_object() {
        return from
            .members()
            .zip(to.members())
            .all(|((key, value), (wanted, other))| key.raw() == wanted.raw() && same(value, other));
    }
    if from.is_array() {
        return from.elements().zip(to.elements()).all(|(value, wanted)| same(value, wanted));
    }
    from.raw() == to.raw()
}

fn object(from: Node<'_>, to: Node<'_>) -> Difference {
    let (mut drop, mut set, mut was, mut inner) = (Part::new(), Part::new(), Part::new(), Part::new());
    // Key order after the patch is applied without `order`.
    let mut order: Vec<Cow<'_, str>> = Vec::new();
    for (key, value) in from.members() {
        let name = key.as_str().unwrap_or_default();
        match to.get(&name) {
            None => drop.string(&name, &short_digest(value)),
            Some(wanted) => {
                match difference(value, wanted) {
                    Difference::Same => {}
                    Difference::Patch(patch) => inner.raw(&name, &patch),
                    Difference::Whole => {
                        set.raw(&name, &wanted.to_compact());
                        was.string(&name, &short_digest(value));
                    }
                }
                order.push(name);
            }
        }
    }
    for (key, value) in to.members() {
        let name = key.as_str().unwrap_or_default();
        if from.get(&name).is_none() {
            set.raw(&name, &value.to_compact());
            order.push(name);
        }
    }
    let wanted: Vec<Cow<'_, str>> = to.members().map(|(key, _)| key.as_str().unwrap_or_default()).collect();
    let mut out = ObjectWriter::new();
    let mut differs = false;
    for (name, part) in [("drop", drop), ("set", set), ("was", was), ("in", inner)] {
        if let Some(text) = part.finish() {
            out.raw(name, &text);
            differs = true;
        }
    }
    if order != wanted {
        out.raw("order", &names(&wanted));
        differs = true;
    }
    if differs { Difference::Patch(out.finish()) } else { Difference::Same }
}

fn array(from: Node<'_>, to: Node<'_>) -> Difference {
    if to.len() < from.len() {
        return Difference::Whole;
    }
    let mut inner = Part::new();
    for (index, (value, wanted)) in from.elements().zip(to.elements()).enumerate() {
        match difference(value, wanted) {
            Difference::Same => {}
            Difference::Patch(patch) => inner.raw(&index.to_string(), &patch),
            Difference::Whole => return Difference::Whole,
        }
    }
    let inner = inner.finish();
    let tail: Vec<String> = to.elements().skip(from.len()).map(Node::to_compact).collect();
    if inner.is_none() && tail.is_empty() {
        return Difference::Same;
    }
    let mut out = ObjectWriter::new();
    out.string("of", &short_digest(from));
    if let Some(inner) = inner {
        out.raw("in", &inner);
    }
    if !tail.is_empty() {
        out.raw("tail", &format!("[{}]", tail.join(",")));
    }
    let patch = out.finish();
    // The raw text may have white space, which only makes the patch more likely.
    if patch.len() > to.raw().len() + DIGEST_CHARS { Difference::Whole } else { Difference::Patch(patch) }
}

/// Member of a patch that is left out if it is empty.
struct Part {
    out: ObjectWriter,
    empty: bool,
}

impl Part {
    fn new() -> Self {
        Self { out: ObjectWriter::new(), empty: true }
    }

    fn raw(&mut self, key: &str, value: &str) {
        self.out.raw(key, value);
        self.empty = false;
    }

    fn string(&mut self, key: &str, value: &str) {
        self.out.string(key, value);
        self.empty = false;
    }

    fn finish(self) -> Option<String> {
        (!self.empty).then(|| self.out.finish())
    }
}

fn names(list: &[Cow<'_, str>]) -> String {
    let mut out = String::from("[");
    for (at, name) in list.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_string(&mut out, name);
    }
    out.push(']');
    out
}

fn short_digest(node: Node<'_>) -> String {
    let digest = Digest::of_bytes(node.to_compact().as_bytes()).to_string();
    digest.chars().skip("sha256:".len()).take(DIGEST_CHARS).collect()
}

/// Applies `patch` to `from`. Locations that were edited in between keep the edit and are added to `left`.
pub(crate) fn apply(from: Node<'_>, patch: Node<'_>, left: &mut Vec<Pointer>) -> String {
    let mut out = String::new();
    Applied { left, place: Pointer::root() }.value(from, patch, &mut out);
    out
}

struct Applied<'r> {
    left: &'r mut Vec<Pointer>,
    place: Pointer,
}

/// Value of a member of the result.
enum Value<'d> {
    Kept(Node<'d>),
    Made(String),
}

impl Applied<'_> {
    fn value(&mut self, from: Node<'_>, patch: Node<'_>, out: &mut String) {
        let is = |key: &str| patch.get(key).is_some();
        if is("whole") || is("of") {
            if patch.get("of").is_some_and(|of| of.is_text(&short_digest(from))) {
                match patch.get("whole") {
                    Some(whole) => whole.write_compact(out),
                    None => self.array(from, patch, out),
                }
                return;
            }
            self.left.push(self.place.clone());
        } else if from.is_object() {
            self.object(from, patch, out);
            return;
        } else {
            self.left.push(self.place.clone());
        }
        from.write_compact(out);
    }

    fn array(&mut self, from: Node<'_>, patch: Node<'_>, out: &mut String) {
        let inner = patch.get("in");
        out.push('[');
        for (index, value) in from.elements().enumerate() {
            if index > 0 {
                out.push(',');
            }
            let index = index.to_string();
            match inner.and_then(|inner| inner.get(&index)) {
                Some(patch) => self.deeper(&index, value, patch, out),
                None => value.write_compact(out),
            }
        }
        for (index, value) in patch.get("tail").into_iter().flat_map(Node::elements).enumerate() {
            if index > 0 || !from.is_empty() {
                out.push(',');
            }
            value.write_compact(out);
        }
        out.push(']');
    }

    fn deeper(&mut self, key: &str, value: Node<'_>, patch: Node<'_>, out: &mut String) {
        self.place.push(key);
        self.value(value, patch, out);
        self.place.pop();
    }

    fn object(&mut self, from: Node<'_>, patch: Node<'_>, out: &mut String) {
        let part = |name: &str, key: &str| patch.get(name).and_then(|part| part.get(key));
        let mut members: Vec<(Cow<'_, str>, Value<'_>)> = Vec::with_capacity(from.len());
        for (key, value) in from.members() {
            let name = key.as_str().unwrap_or_default();
            let unedited =
                |digest: Option<Node<'_>>| digest.is_some_and(|digest| digest.is_text(&short_digest(value)));
            let kept = if let Some(digest) = part("drop", &name) {
                if unedited(Some(digest)) {
                    continue;
                }
                self.left.push(self.place.join(&name));
                Value::Kept(value)
            } else if let Some(set) = part("set", &name) {
                if unedited(part("was", &name)) {
                    Value::Kept(set)
                } else {
                    self.left.push(self.place.join(&name));
                    Value::Kept(value)
                }
            } else if let Some(inner) = part("in", &name) {
                let mut made = String::new();
                self.deeper(&name, value, inner, &mut made);
                Value::Made(made)
            } else {
                Value::Kept(value)
            };
            members.push((name, kept));
        }
        for (key, value) in patch.get("set").into_iter().flat_map(Node::members) {
            let name = key.as_str().unwrap_or_default();
            if from.get(&name).is_none() {
                if part("was", &name).is_some() {
                    self.left.push(self.place.join(&name));
                } else {
                    members.push((name, Value::Kept(value)));
                }
            }
        }
        if let Some(order) = patch.get("order") {
            let place = |name: &str| order.elements().position(|wanted| wanted.is_text(name));
            members.sort_by_cached_key(|(name, _)| place(name).unwrap_or(usize::MAX));
        }
        write_members(&members, out);
    }
}

fn write_members(members: &[(Cow<'_, str>, Value<'_>)], out: &mut String) {
    out.push('{');
    for (at, (name, value)) in members.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_string(out, name);
        out.push(':');
        match value {
            Value::Kept(node) => node.write_compact(out),
            Value::Made(text) => out.push_str(text),
        }
    }
    out.push('}');
}

#[cfg(test)]
mod tests;
