//! A value on the tape: reading it without copying it.

use std::borrow::Cow;

use serde_json::Value;

use super::document::Text;
use super::number::Number;
use super::pointer::Pointer;
use super::string::unescape;
use super::tape::{ALL_IN_HEAD, Slot, head, tag};

/// What a value is.
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
    /// The name JSON Schema gives it.
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

/// One value of a [`super::Document`]. Copying it copies two references.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    text: &'a Text<'a>,
    /// One of the text's own.
    slot: &'a Slot,
}

/// The place of a node, to find it again without looking for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Spot(usize);

/// Keys of members that are picked together; made ready when the program is compiled.
#[derive(Debug)]
pub struct Keys<const N: usize>([Sought<'static>; N]);

impl<const N: usize> Keys<N> {
    /// Of members with these names.
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

/// A key to be found among those without an escape: most others differ in their shape or head.
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

    /// Compares what is not in the head.
    #[inline(never)]
    fn is_all(&self, name: Node<'_>) -> bool {
        name.text.source.as_bytes().get(name.slot.inside()) == Some(self.text.as_bytes())
    }
}

impl<'a> Node<'a> {
    /// The whole value of a text.
    #[inline]
    pub(super) fn root(text: &'a Text<'a>) -> Self {
        Self::on(text, Spot(0))
    }

    /// The value at a spot of a text; `null` where there is none.
    #[inline]
    pub(super) fn on(text: &'a Text<'a>, spot: Spot) -> Self {
        Self { text, slot: text.slots.get(spot.0).unwrap_or(&Slot::NULL) }
    }

    /// Its place on the tape. Checks ask for what a value is far more often than for where it stands, so a node keeps
    /// the way to the first and works out the second.
    #[inline]
    fn at(self) -> usize {
        let from = self.text.slots.as_ptr() as usize;
        (std::ptr::from_ref(self.slot) as usize).wrapping_sub(from) / size_of::<Slot>()
    }

    /// The slots from this value's own to the end of it.
    #[inline]
    fn slots(self) -> &'a [Slot] {
        let at = self.at();
        self.text.slots.get(at..at.wrapping_add(self.slot.span())).unwrap_or_default()
    }

    /// The slots of what this value holds, if it is a container with that tag.
    #[inline]
    fn inside(self, tag: u8) -> &'a [Slot] {
        if self.slot.tag() != tag {
            return &[];
        }
        let at = self.at();
        self.text.slots.get(at + 1..at.wrapping_add(self.slot.span())).unwrap_or_default()
    }

    /// The text it stands in; its slot and those of what it holds, and of nothing else.
    #[inline]
    pub(crate) fn tape(self) -> (&'a Text<'a>, &'a [Slot]) {
        (self.text, self.slots())
    }

    /// Its place on the tape, and the tape: tells one live node from another.
    #[inline]
    pub(crate) fn identity(self) -> (usize, u32) {
        (self.text.slots.as_ptr() as usize, self.at() as u32)
    }

    /// What it is.
    #[inline]
    #[must_use]
    pub fn kind(self) -> Kind {
        self.slot.kind()
    }

    /// The value exactly as it stands in the text, white space inside it included.
    #[inline]
    #[must_use]
    pub fn raw(self) -> &'a str {
        self.text.source.get(self.range()).unwrap_or("null")
    }

    /// Bytes of [`Node::raw`].
    #[inline]
    pub(crate) fn raw_len(self) -> usize {
        self.slot.len()
    }

    /// Values and keys in this value, itself included.
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

    /// Where it stands in its document, which alone knows what to make of it.
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

    /// The boolean, if it is one.
    #[inline]
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        match self.slot.tag() {
            tag::TRUE => Some(true),
            tag::FALSE => Some(false),
            _ => None,
        }
    }

    /// The text of a string, unescaped.
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

    /// What stands between the quotes of a string.
    #[inline]
    fn plain(self) -> &'a str {
        self.text.plain(*self.slot)
    }

    /// The text of a key.
    #[inline]
    fn name(self) -> &'a str {
        self.text.name(*self.slot)
    }

    /// A string with an escape.
    #[cold]
    fn unescaped(self) -> Cow<'a, str> {
        unescape(self.plain(), true)
    }

    /// The number, if it is one.
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

    /// The number as a signed integer, if it is written as one that fits.
    #[inline]
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// The number as an unsigned integer, if it is written as one that fits.
    #[inline]
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        self.as_number().and_then(Number::as_u64)
    }

    /// Members of an object or elements of an array; 0 for anything else.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        self.slot.count()
    }

    /// Values and keys on the tape from this value's own to the end of it.
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

    /// The same where keys have escapes.
    #[cold]
    #[inline(never)]
    fn find_escaped(self, key: &str) -> Option<Self> {
        self.members().find_map(|(name, value)| name.is_text(key).then_some(value))
    }

    /// The values of these members, found in one walk.
    #[inline]
    #[must_use]
    pub fn pick<const N: usize>(self, keys: &Keys<N>) -> [Option<Self>; N] {
        let mut picked = [None; N];
        self.pick_into(&keys.0, &mut picked);
        picked
    }

    /// One loop for all who pick: it is run several times with every message.
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

    /// The same where keys have escapes.
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

    /// The value at `pointer`, from here.
    #[must_use]
    pub fn pointer(self, pointer: &Pointer) -> Option<Self> {
        pointer.tokens().try_fold(self, |node, token| {
            if node.is_array() { node.element(token.parse().ok()?) } else { node.get(&token) }
        })
    }

    /// Keys and values in the order of the text; none for anything but an object.
    #[inline]
    #[must_use]
    pub fn members(self) -> Members<'a> {
        Members { text: self.text, rest: self.inside(tag::OBJECT) }
    }

    /// Names and values in the order of the text; none for anything but an object.
    #[inline]
    pub(crate) fn named_members(self) -> NamedMembers<'a> {
        NamedMembers(self.members())
    }

    /// Elements in order; none for anything but an array.
    #[inline]
    #[must_use]
    pub fn elements(self) -> Elements<'a> {
        Elements { text: self.text, rest: self.inside(tag::ARRAY) }
    }

    /// Compares the text of a string with `text` without allocating where nothing is escaped.
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

    /// The text between the quotes, if nothing in it is escaped.
    #[inline]
    pub(crate) fn plain_str(self) -> Option<&'a str> {
        (self.slot.tag() == tag::TEXT).then(|| self.plain())
    }

    /// Where `inner` stands below this value; the root if it does not.
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

    /// The value as a tree. For cold paths: schemas, error messages.
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

    /// Writes the value without insignificant white space; every token stays as it was written.
    pub fn write_compact(self, out: &mut String) {
        if self.is_compact() {
            out.push_str(self.raw());
        } else {
            self.write_tokens(out);
        }
    }

    /// `true` if there is no white space between tokens: they fill the text, and copying it costs one move.
    fn is_compact(self) -> bool {
        let token = |slot: &Slot| match slot.tag() {
            // Brackets and commas; in an object a colon for each member.
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

/// Keys and values of an object. See [`Node::members`].
#[derive(Clone)]
pub struct Members<'a> {
    text: &'a Text<'a>,
    rest: &'a [Slot],
}

/// Members with their names unescaped, as the validator wants them.
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

/// Elements of an array. See [`Node::elements`].
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

    /// R1.1: white space between tokens goes, every token stays, whether or not there was any.
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
            // Between any two tokens, which in this text is beside every bracket, comma and colon outside a string.
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
