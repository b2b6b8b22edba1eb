//! A value on the tape: reading it without copying it.

use std::borrow::Cow;

use serde_json::Value;

use super::number::Number;
use super::pointer::Pointer;
use super::string::unescape;
use super::tape::{Shape, Slot};

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

/// One value of a [`super::Document`]. Copying it copies a reference.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    source: &'a str,
    slots: &'a [Slot],
    slot: Slot,
    at: u32,
}

impl<'a> Node<'a> {
    pub(super) fn new(source: &'a str, slots: &'a [Slot], at: u32) -> Self {
        let slot = slots.get(at as usize).copied().unwrap_or_else(|| Slot::leaf(Shape::Null, 0, 0, 0));
        Self { source, slots, slot, at }
    }

    fn at(self, at: u32) -> Self {
        Self::new(self.source, self.slots, at)
    }

    /// Its place on the tape, and the tape: tells one live node from another.
    pub(super) fn identity(self) -> (usize, u32) {
        (self.slots.as_ptr() as usize, self.at)
    }

    /// What it is.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self.slot.shape() {
            Shape::Null => Kind::Null,
            Shape::False | Shape::True => Kind::Boolean,
            Shape::Number => Kind::Number,
            Shape::String => Kind::String,
            Shape::Array => Kind::Array,
            Shape::Object => Kind::Object,
        }
    }

    /// The value exactly as it stands in the text, white space inside it included.
    #[must_use]
    pub fn raw(self) -> &'a str {
        self.source.get(self.slot.range()).unwrap_or("null")
    }

    /// Byte range of [`Node::raw`] in the text.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.slot.range()
    }

    /// `true` for `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.slot.shape() == Shape::Null
    }

    /// `true` for an object.
    #[must_use]
    pub fn is_object(self) -> bool {
        self.slot.shape() == Shape::Object
    }

    /// `true` for an array.
    #[must_use]
    pub fn is_array(self) -> bool {
        self.slot.shape() == Shape::Array
    }

    /// The boolean, if it is one.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        match self.slot.shape() {
            Shape::True => Some(true),
            Shape::False => Some(false),
            _ => None,
        }
    }

    /// The text of a string, unescaped.
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        if self.slot.shape() != Shape::String {
            return None;
        }
        let raw = self.raw();
        let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
        Some(unescape(inner, self.slot.escaped()))
    }

    /// The number, if it is one.
    #[must_use]
    pub fn as_number(self) -> Option<Number<'a>> {
        (self.slot.shape() == Shape::Number).then(|| Number::new(self.raw()))
    }

    /// The number as a signed integer, if it is written as one that fits.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// The number as an unsigned integer, if it is written as one that fits.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        self.as_number().and_then(Number::as_u64)
    }

    /// Members of an object or elements of an array; 0 for anything else.
    #[must_use]
    pub fn len(self) -> usize {
        self.slot.count()
    }

    /// `true` if [`Node::len`] is 0.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The value of member `key`; `None` for anything but an object.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        self.members().find_map(|(name, value)| name.is_text(key).then_some(value))
    }

    /// The element at `index`; `None` for anything but an array.
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
    #[must_use]
    pub fn members(self) -> Members<'a> {
        let left = if self.is_object() { self.slot.count() } else { 0 };
        Members { node: self, at: self.at + 1, left }
    }

    /// Elements in order; none for anything but an array.
    #[must_use]
    pub fn elements(self) -> Elements<'a> {
        let left = if self.is_array() { self.slot.count() } else { 0 };
        Elements { node: self, at: self.at + 1, left }
    }

    /// Compares the text of a string with `text` without allocating where nothing is escaped.
    #[must_use]
    pub fn is_text(self, text: &str) -> bool {
        if self.slot.shape() != Shape::String {
            return false;
        }
        if self.slot.escaped() {
            return self.as_str().is_some_and(|s| s == text);
        }
        let range = self.slot.range();
        range.len() == text.len() + 2
            && self.source.as_bytes().get(range.start + 1..range.end - 1) == Some(text.as_bytes())
    }

    /// The text between the quotes, if nothing in it is escaped.
    pub(super) fn plain_str(self) -> Option<&'a str> {
        if self.slot.shape() != Shape::String || self.slot.escaped() {
            return None;
        }
        let range = self.slot.range();
        self.source.get(range.start + 1..range.end - 1)
    }

    /// Depth of nesting below this value; 0 for a scalar.
    #[must_use]
    pub fn depth(self) -> usize {
        let mut ends: Vec<u32> = Vec::new();
        let mut deepest = 0;
        for at in self.at..self.slot.next() {
            while ends.last().is_some_and(|&end| at >= end) {
                ends.pop();
            }
            let node = self.at(at);
            if node.is_object() || node.is_array() {
                ends.push(node.slot.next());
                deepest = deepest.max(ends.len());
            }
        }
        deepest
    }

    /// The value as a tree. For cold paths: schemas, error messages.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self.slot.shape() {
            Shape::Null => Value::Null,
            Shape::False => Value::Bool(false),
            Shape::True => Value::Bool(true),
            Shape::Number => self.as_number().map_or(Value::Null, |n| Value::Number(n.to_number())),
            Shape::String => Value::String(self.as_str().unwrap_or_default().into_owned()),
            Shape::Array => Value::Array(self.elements().map(Self::to_value).collect()),
            Shape::Object => Value::Object(
                self.members()
                    .map(|(k, v)| (k.as_str().unwrap_or_default().into_owned(), v.to_value()))
                    .collect(),
            ),
        }
    }

    /// Writes the value without insignificant white space; every token stays as it was written.
    pub fn write_compact(self, out: &mut String) {
        match self.slot.shape() {
            Shape::Array => {
                out.push('[');
                for (i, element) in self.elements().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    element.write_compact(out);
                }
                out.push(']');
            }
            Shape::Object => {
                out.push('{');
                for (i, (key, value)) in self.members().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    out.push_str(key.raw());
                    out.push(':');
                    value.write_compact(out);
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
#[derive(Debug, Clone)]
pub struct Members<'a> {
    node: Node<'a>,
    at: u32,
    left: usize,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Node<'a>, Node<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let key = self.node.at(self.at);
        let value = self.node.at(self.at + 1);
        self.at = value.slot.next();
        Some((key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// Elements of an array. See [`Node::elements`].
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    node: Node<'a>,
    at: u32,
    left: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let element = self.node.at(self.at);
        self.at = element.slot.next();
        Some(element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}
