//! [`Node`]: a value on the tape, read without a copy.

use std::borrow::Cow;

use serde_json::Value;

use super::document::Text;
use super::number::Number;
use super::pointer::Pointer;
use super::string::unescape;
use super::tape::{ALL_IN_HEAD, Slot, head, tag};

/// Kind of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// The name of this type in JSON Schema.
    #[inline]
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// One value of a [`super::Document`]: two references, cheap to copy.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    text: &'a Text<'a>,
    /// A slot of `text`'s own tape: [`Node::at`] computes its index from its address.
    slot: &'a Slot,
}

/// Index of a node on its tape, to find it again without a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Spot(usize);

/// Keys of members for [`Node::pick`], prepared at compile time.
#[derive(Debug)]
pub struct Keys<const N: usize>([Sought<'static>; N]);

impl<const N: usize> Keys<N> {
    /// Creates the keys of members with these names.
    #[expect(clippy::indexing_slicing, reason = "within its length, and before the program runs")]
    #[must_use]
    pub const fn new(names: [&'static str; N]) -> Self {
        let mut keys = [Sought::new(""); N];
        let mut at = 0;
        while at < N {
            keys[at] = Sought::new(names[at]);
            at += 1;
        }
        Self(keys)
    }
}

/// A key to search for among keys without an escape. Comparing shape and head rules out most others.
#[derive(Debug, Clone, Copy)]
struct Sought<'k> {
    shape: u64,
    head: u64,
    text: &'k str,
}

impl<'k> Sought<'k> {
    #[inline(always)]
    const fn new(text: &'k str) -> Self {
        Self { shape: Slot::text_shape(text.len()), head: head(text), text }
    }

    #[inline(always)]
    fn is(&self, name: Node<'_>) -> bool {
        name.slot.shape() == self.shape
            && name.slot.word() == self.head
            && (self.text.len() <= ALL_IN_HEAD || self.is_all(name))
    }

    /// Compares the whole text, for keys longer than their head.
    #[inline(never)]
    fn is_all(&self, name: Node<'_>) -> bool {
        name.text.source.as_bytes().get(name.slot.inside()) == Some(self.text.as_bytes())
    }
}

impl<'a> Node<'a> {
    /// The root value of a text.
    #[inline]
    pub(super) fn root(text: &'a Text<'a>) -> Self {
        Self::on(text, Spot(0))
    }

    /// The value at a spot of a text; `null` if there is none.
    #[inline]
    pub(super) fn on(text: &'a Text<'a>, spot: Spot) -> Self {
        Self { text, slot: text.slots.get(spot.0).unwrap_or(&Slot::NULL) }
    }

    /// Index of its slot on the tape. Checks need the slot far more often than its index, so a node stores a reference
    /// to the slot and computes the index.
    #[inline]
    fn at(self) -> usize {
        let from = self.text.slots.as_ptr() as usize;
        (std::ptr::from_ref(self.slot) as usize).wrapping_sub(from) / size_of::<Slot>()
    }

    /// Slots of this value, its own first.
    #[inline]
    fn slots(self) -> &'a [Slot] {
        let at = self.at();
        self.text.slots.get(at..at.wrapping_add(self.slot.span())).unwrap_or_default()
    }

    /// Slots of its content, if it is a container with that tag; else none.
    #[inline]
    fn inside(self, tag: u8) -> &'a [Slot] {
        if self.slot.tag() != tag {
            return &[];
        }
        let at = self.at();
        self.text.slots.get(at + 1..at.wrapping_add(self.slot.span())).unwrap_or_default()
    }

    /// Its text, and its slots: its own first, then those of its content.
    #[inline]
    pub(crate) fn tape(self) -> (&'a Text<'a>, &'a [Slot]) {
        (self.text, self.slots())
    }

    /// Address of the tape and index on it: distinguishes live nodes.
    #[inline]
    pub(crate) fn identity(self) -> (usize, u32) {
        (self.text.slots.as_ptr() as usize, self.at() as u32)
    }

    /// Kind of the value.
    #[inline]
    #[must_use]
    pub fn kind(self) -> Kind {
        self.slot.kind()
    }

    /// The value exactly as written in the text, inner white space included.
    #[inline]
    #[must_use]
    pub fn raw(self) -> &'a str {
        self.text.source.get(self.range()).unwrap_or("null")
    }

    /// Length of [`Node::raw`] in bytes.
    #[inline]
    pub(crate) fn raw_len(self) -> usize {
        self.slot.len()
    }

    /// Number of values and keys in this value, itself included.
    #[inline]
    pub(crate) fn slot_count(self) -> usize {
        self.slots().len()
    }

    /// Byte range of [`Node::raw`] in the text.
    #[inline]
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.slot.range()
    }

    /// Its spot, to be resolved by its own document only.
    #[inline]
    #[must_use]
    pub fn spot(self) -> Spot {
        Spot(self.at())
    }

    /// `true` for `null`.
    #[inline]
    #[must_use]
    pub fn is_null(self) -> bool {
        self.slot.tag() == tag::NULL
    }

    /// `true` for an object.
    #[inline]
    #[must_use]
    pub fn is_object(self) -> bool {
        self.slot.tag() == tag::OBJECT
    }

    /// `true` for an array.
    #[inline]
    #[must_use]
    pub fn is_array(self) -> bool {
        self.slot.tag() == tag::ARRAY
    }

    /// The boolean, if the value is one.
    #[inline]
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        match self.slot.tag() {
            tag::TRUE => Some(true),
            tag::FALSE => Some(false),
            _ => None,
        }
    }

    /// The unescaped text, if the value is a string.
    #[inline]
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        match self.slot.tag() {
            tag::TEXT => Some(Cow::Borrowed(self.plain())),
            tag::ESCAPED => Some(self.unescaped()),
            tag::ESCAPED_KEY => Some(Cow::Borrowed(self.name())),
            _ => None,
        }
    }

    /// The raw text between the quotes of a string.
    #[inline]
    fn plain(self) -> &'a str {
        self.text.plain(*self.slot)
    }

    /// The unescaped text of a key.
    #[inline]
    fn name(self) -> &'a str {
        self.text.name(*self.slot)
    }

    /// The unescaped text of a string with an escape.
    #[cold]
    fn unescaped(self) -> Cow<'a, str> {
        unescape(self.plain(), true)
    }

    /// The number, if the value is one.
    #[inline]
    #[must_use]
    pub fn as_number(self) -> Option<Number<'a>> {
        match self.slot.tag() {
            tag::INTEGER => Some(Number::Integer(self, self.slot.word().cast_signed())),
            tag::DOUBLE => Some(Number::Double(self, self.text.double(*self.slot))),
            tag::LARGE => Some(Number::Large(self)),
            _ => None,
        }
    }

    /// The number as an `i64`, if it is written as an integer that fits.
    #[inline]
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// The number as a `u64`, if it is written as an integer that fits.
    #[inline]
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        self.as_number().and_then(Number::as_u64)
    }

    /// Number of members of an object or elements of an array; 0 for anything else.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        self.slot.count()
    }

    /// Number of values and keys in this value, itself included.
    #[must_use]
    pub fn nodes(self) -> usize {
        self.slots().len()
    }

    /// `true` if [`Node::len`] is 0.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The value of member `key`; `None` for anything but an object.
    #[inline]
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        self.find(&Sought::new(key))
    }

    fn find(self, key: &Sought<'_>) -> Option<Self> {
        if !self.text.keys.is_empty() {
            return self.find_escaped(key.text);
        }
        self.members().find_map(|(name, value)| key.is(name).then_some(value))
    }

    /// Slow path of [`Node::find`] for documents with escaped keys.
    #[cold]
    #[inline(never)]
    fn find_escaped(self, key: &str) -> Option<Self> {
        self.members().find_map(|(name, value)| name.is_text(key).then_some(value))
    }

    /// Returns the values of these members, found in one pass.
    #[inline]
    #[must_use]
    pub fn pick<const N: usize>(self, keys: &Keys<N>) -> [Option<Self>; N] {
        let mut picked = [None; N];
        self.pick_into(&keys.0, &mut picked);
        picked
    }

    /// The loop of [`Node::pick`], shared by every `N`: it runs several times per message.
    #[inline(never)]
    fn pick_into(self, keys: &[Sought<'_>], picked: &mut [Option<Self>]) {
        if !self.text.keys.is_empty() {
            return self.pick_escaped(keys, picked);
        }
        for (name, value) in self.members() {
            if let Some((_, place)) = keys.iter().zip(&mut *picked).find(|(key, _)| key.is(name)) {
                *place = Some(value);
            }
        }
    }

    /// Slow path of [`Node::pick_into`] for documents with escaped keys.
    #[cold]
    #[inline(never)]
    fn pick_escaped(self, keys: &[Sought<'_>], picked: &mut [Option<Self>]) {
        for (key, place) in keys.iter().zip(picked) {
            *place = self.find_escaped(key.text);
        }
    }

    /// The element at `index`; `None` for anything but an array.
    #[inline]
    #[must_use]
    pub fn element(self, index: usize) -> Option<Self> {
        self.elements().nth(index)
    }

    /// The value at `pointer`, relative to this one.
    #[must_use]
    pub fn pointer(self, pointer: &Pointer) -> Option<Self> {
        pointer.tokens().try_fold(self, |node, token| {
            if node.is_array() { node.element(token.parse().ok()?) } else { node.get(&token) }
        })
    }

    /// Iterates over keys and values in the order of the text; empty for anything but an object.
    #[inline]
    #[must_use]
    pub fn members(self) -> Members<'a> {
        Members { text: self.text, rest: self.inside(tag::OBJECT) }
    }

    /// Like [`Node::members`], with unescaped names in place of key nodes.
    #[inline]
    pub(crate) fn named_members(self) -> NamedMembers<'a> {
        NamedMembers(self.members())
    }

    /// Iterates over the elements in order; empty for anything but an array.
    #[inline]
    #[must_use]
    pub fn elements(self) -> Elements<'a> {
        Elements { text: self.text, rest: self.inside(tag::ARRAY) }
    }

    /// `true` if the value is a string equal to `text`. Allocates only for strings with an escape.
    #[inline]
    #[must_use]
    pub fn is_text(self, text: &str) -> bool {
        match self.slot.tag() {
            tag::TEXT => Sought::new(text).is(self),
            tag::ESCAPED => self.unescaped() == text,
            tag::ESCAPED_KEY => self.name() == text,
            _ => false,
        }
    }

    /// The text of a string or key without an escape.
    #[inline]
    pub(crate) fn plain_str(self) -> Option<&'a str> {
        (self.slot.tag() == tag::TEXT).then(|| self.plain())
    }

    /// JSON pointer from this value to `inner`; the root pointer if `inner` is not below this value.
    pub(crate) fn pointer_to(self, inner: Node<'_>) -> Pointer {
        let mut pointer = Pointer::root();
        let mut node = self;
        if !std::ptr::eq(node.text, inner.text) {
            return pointer;
        }
        let sought = inner.at();
        while node.at() != sought {
            let holds = |child: &Self| (child.at()..child.at() + child.slot.span()).contains(&sought);
            if let Some((i, child)) = node.elements().enumerate().find(|(_, child)| holds(child)) {
                pointer.push(&i.to_string());
                node = child;
            } else if let Some((key, child)) = node.members().find(|(_, child)| holds(child)) {
                pointer.push(&key.as_str().unwrap_or_default());
                node = child;
            } else {
                break;
            }
        }
        pointer
    }

    /// Depth of nesting below this value; 0 for a scalar.
    #[must_use]
    pub fn depth(self) -> usize {
        let mut ends: Vec<usize> = Vec::new();
        let mut deepest = 0;
        for (at, slot) in self.slots().iter().enumerate() {
            while ends.last().is_some_and(|&end| at >= end) {
                ends.pop();
            }
            if slot.is_container() {
                ends.push(at + slot.span());
                deepest = deepest.max(ends.len());
            }
        }
        deepest
    }

    /// Converts the value to a tree. For cold paths: schemas, error messages.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self.kind() {
            Kind::Null => Value::Null,
            Kind::Boolean => Value::Bool(self.as_bool().unwrap_or_default()),
            Kind::Number => self.as_number().map_or(Value::Null, |n| Value::Number(n.to_number())),
            Kind::String => Value::String(self.as_str().unwrap_or_default().into_owned()),
            Kind::Array => Value::Array(self.elements().map(Self::to_value).collect()),
            Kind::Object => Value::Object(
                self.members()
                    .map(|(k, v)| (k.as_str().unwrap_or_default().into_owned(), v.to_value()))
                    .collect(),
            ),
        }
    }

    /// Writes the value without insignificant white space; every token is kept as it was written.
    pub fn write_compact(self, out: &mut String) {
        if self.is_compact() {
            out.push_str(self.raw());
        } else {
            self.write_tokens(out);
        }
    }

    /// `true` if there is no white space between tokens, so that the raw text can be copied as a whole.
    fn is_compact(self) -> bool {
        let token = |slot: &Slot| match slot.tag() {
            // Brackets and commas; in an object also one colon per member.
            tag::ARRAY => 2 + slot.count().saturating_sub(1),
            tag::OBJECT => 2 + (slot.count() * 2).saturating_sub(1),
            _ => slot.len(),
        };
        let fill = |slots: &[Slot]| slots.iter().map(token).sum::<usize>() == self.slot.len();
        !self.text.spaced || fill(self.slots())
    }

    fn write_tokens(self, out: &mut String) {
        match self.kind() {
            Kind::Array => {
                out.push('[');
                for (i, element) in self.elements().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    element.write_tokens(out);
                }
                out.push(']');
            }
            Kind::Object => {
                out.push('{');
                for (i, (key, value)) in self.members().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    out.push_str(key.raw());
                    out.push(':');
                    value.write_tokens(out);
                }
                out.push('}');
            }
            _ => out.push_str(self.raw()),
        }
    }

    /// The value without insignificant white space.
    #[must_use]
    pub fn to_compact(self) -> String {
        let mut out = String::with_capacity(self.raw().len());
        self.write_compact(&mut out);
        out
    }
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Node").field(&self.raw()).finish()
    }
}

/// Iterator over the keys and values of an object. See [`Node::members`].
#[derive(Clone)]
pub struct Members<'a> {
    text: &'a Text<'a>,
    rest: &'a [Slot],
}

/// Iterator over members with unescaped names, as the validator needs them.
#[derive(Debug)]
pub(crate) struct NamedMembers<'a>(Members<'a>);

impl<'a> Iterator for NamedMembers<'a> {
    type Item = (&'a str, Node<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.0.next()?;
        Some((key.name(), value))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (Node<'a>, Node<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let [key, value, rest @ ..] = self.rest else { return None };
        self.rest = value.skip_inside(rest);
        Some((Node { text: self.text, slot: key }, Node { text: self.text, slot: value }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(!self.rest.is_empty()), Some(self.rest.len() / 2))
    }
}

/// Iterator over the elements of an array. See [`Node::elements`].
#[derive(Clone)]
pub struct Elements<'a> {
    text: &'a Text<'a>,
    rest: &'a [Slot],
}

impl<'a> Iterator for Elements<'a> {
    type Item = Node<'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let [slot, rest @ ..] = self.rest else { return None };
        self.rest = slot.skip_inside(rest);
        Some(Node { text: self.text, slot })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(!self.rest.is_empty()), Some(self.rest.len()))
    }
}

impl std::fmt::Debug for Members<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl std::fmt::Debug for Elements<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

#[cfg(test)]
mod tests {
    use crate::json::{Document, Limits};

    #[test]
    fn members_are_found_one_by_one_or_together() {
        for text in
            [r#"{"long enough a":1,"long enough b":2,"ab":3,"":[4],"b":{"ab":5}}"#, r#"{"\u0061b":3,"b":6}"#]
        {
            let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
            let root = document.root();
            static READY: super::Keys<5> = super::Keys::new(["b", "ab", "absent", "", "long enough b"]);
            let keys = ["b", "ab", "absent", "", "long enough b"];
            let raw = |node: Option<super::Node<'_>>| node.map(|node| node.raw().to_owned());
            assert_eq!(root.pick(&READY).map(raw), keys.map(|key| raw(root.get(key))));
            assert_eq!(raw(root.get("ab")).as_deref(), Some("3"));
            assert!(root.get("absent").is_none());
        }
    }

    /// R1.1: compact text has every token as it was written, with or without white space between them in the source.
    #[test]
    fn compact_text_is_the_tokens_alone() {
        for text in [
            r#"{"a":[1,2.50,-0,1e9,18446744073709551616],"b\u0041":{"c":null,"d":true,"e":false},"f":"x \" y","g":[],"h":{}}"#,
            r#"[[],{},"",{"":""},[[1]]]"#,
            "7",
            r#""a b""#,
        ] {
            let compact =
                |text: &str| Document::parse(text.as_bytes(), &Limits::file()).unwrap().root().to_compact();
            assert_eq!(compact(text), text);
            // Inserts white space between all tokens: beside every bracket, comma and colon outside a string.
            let mut inside = false;
            let mut escaped = false;
            let mut spaced = String::new();
            for c in text.chars() {
                let structural = !inside && "[]{},:".contains(c);
                spaced.extend(structural.then_some("\n\t "));
                spaced.push(c);
                spaced.extend(structural.then_some(" \r"));
                inside ^= c == '"' && !escaped;
                escaped = inside && c == '\\' && !escaped;
            }
            assert_eq!(compact(&spaced), text);
            assert_eq!(compact(&format!(" {text}")), text);
        }
    }
}
