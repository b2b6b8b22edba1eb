//! [`Tape`]: the JSON representation that the validator reads, so that no tree of values is built for a call or a
//! result.

use std::borrow::Cow;

use jsonschema::JsonType;
use jsonschema::json::{self, Json, NodeIdentity};
use serde_json::Value;

use super::document::{OwnedDocument, Text};
use super::limits::Limits;
use super::meter::{spend, spend_child, spend_member, spend_text, text_steps};
use super::node::{Elements, Kind, NamedMembers, Node};
use super::number::Number;
use super::string::Key;

/// Steps charged for building a document of one string; measured relative to a look-up.
const STRING_NODE_STEPS: u64 = 16;

/// Returns the steps charged for unescaping a string, measured at about 8 ns per byte; 0 if it has no escape.
pub(crate) fn unescape_steps(node: Node<'_>) -> u64 {
    match node.kind() == Kind::String && node.plain_str().is_none() {
        true => node.raw_len() as u64 >> 1,
        false => 0,
    }
}

/// JSON representation for compiled schemas. Every look-up takes steps from the budget of `meter`.
#[derive(Debug)]
pub struct Tape;

impl Json for Tape {
    type Node<'a> = Node<'a>;
    type PreparedKey = Key;
    type StringBuffer = Option<OwnedDocument>;

    // A look-up walks the members, so one pass over all members costs about as much as one or two look-ups.
    const KEYS_PER_LOOKUP: usize = 2;

    #[inline]
    fn prepare_key(key: &str) -> Key {
        Key::new(key)
    }

    fn with_string_node<T>(
        buffer: &mut Option<OwnedDocument>,
        string: &str,
        f: impl FnOnce(Node<'_>) -> T,
    ) -> T {
        spend(STRING_NODE_STEPS + text_steps(string.len()));
        let mut text = String::with_capacity(string.len() + 2);
        super::build::write_string(&mut text, string);
        // A string that was just written can always be read; the fallback only avoids a panic.
        *buffer = OwnedDocument::parse(text, &Limits::message().with_bytes_max(usize::MAX)).ok();
        match buffer {
            Some(document) => f(document.root()),
            None => {
                let empty = Text::new(Cow::Borrowed(""), Vec::new());
                f(Node::root(&empty))
            }
        }
    }
}

impl<'a> json::Node<'a, Tape> for Node<'a> {
    type Object = Node<'a>;
    type Array = Node<'a>;
    type Number = Number<'a>;

    #[inline]
    fn as_object(&self) -> Option<Node<'a>> {
        spend(1);
        self.is_object().then_some(*self)
    }

    #[inline]
    fn as_array(&self) -> Option<Node<'a>> {
        spend(1);
        self.is_array().then_some(*self)
    }

    #[inline]
    fn as_string(&self) -> Option<Cow<'a, str>> {
        // The validator asks for a string in order to match a pattern or a format against it.
        match spend_text(self.raw_len()) && spend(unescape_steps(*self)) {
            true => Node::as_str(*self),
            false => (self.kind() == Kind::String).then_some(Cow::Borrowed("")),
        }
    }

    #[inline]
    fn as_number(&self) -> Option<Number<'a>> {
        spend(text_steps(self.raw_len()));
        Node::as_number(*self)
    }

    #[inline]
    fn as_boolean(&self) -> Option<bool> {
        spend(1);
        self.as_bool()
    }

    #[inline]
    fn is_null(&self) -> bool {
        spend(1);
        Node::is_null(*self)
    }

    #[inline]
    fn is_number(&self) -> bool {
        spend(1);
        self.kind() == Kind::Number
    }

    #[inline]
    fn json_type(&self) -> JsonType {
        spend(1);
        match self.kind() {
            Kind::Null => JsonType::Null,
            Kind::Boolean => JsonType::Boolean,
            Kind::Number => JsonType::Number,
            Kind::String => JsonType::String,
            Kind::Array => JsonType::Array,
            Kind::Object => JsonType::Object,
        }
    }

    #[inline]
    fn string_length(&self) -> Option<u64> {
        if !spend(text_steps(self.raw_len()) + unescape_steps(*self)) {
            return (self.kind() == Kind::String).then_some(0);
        }
        match self.plain_str() {
            Some(text) if text.is_ascii() => Some(text.len() as u64),
            Some(text) => Some(text.chars().count() as u64),
            None => Node::as_str(*self).map(|text| text.chars().count() as u64),
        }
    }

    #[inline]
    fn equals_value(&self, expected: &Value) -> bool {
        if !spend(1) {
            return false;
        }
        match expected {
            Value::String(text) => self.is_text(text),
            Value::Null => Node::is_null(*self),
            Value::Bool(b) => self.as_bool() == Some(*b),
            Value::Number(_) if self.kind() != Kind::Number => false,
            Value::Array(items) => {
                self.is_array()
                    && self.len() == items.len()
                    && self.elements().zip(items).all(|(a, b)| json::Node::equals_value(&a, b))
            }
            Value::Object(members) => {
                self.is_object()
                    && self.len() == members.len()
                    && self.members().all(|(key, value)| {
                        Node::as_str(key)
                            .and_then(|k| members.get(k.as_ref()))
                            .is_some_and(|expected| json::Node::equals_value(&value, expected))
                    })
            }
            Value::Number(number) => match (Node::as_i64(*self), number.as_i64()) {
                (Some(a), Some(b)) => a == b,
                _ => jsonschema_value::cmp::equal(&Node::to_value(*self), expected),
            },
        }
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(Node::to_value(*self))
    }

    #[inline]
    fn identity(&self) -> Option<NodeIdentity> {
        let (tape, at) = Node::identity(*self);
        Some(NodeIdentity::tagged(tape, at))
    }
}

impl<'a> json::Object<'a, Tape> for Node<'a> {
    type Node = Node<'a>;
    type MemberName = &'a str;
    type MembersIter = MeteredMembers<'a>;

    #[inline]
    fn len(&self) -> usize {
        Node::len(*self)
    }

    #[inline]
    fn get(&self, key: &Key) -> Option<Node<'a>> {
        // A look-up walks the members.
        spend_child(Node::len(*self) as u64 >> 2).then(|| Node::get(*self, key.as_str()))?
    }

    #[inline]
    fn members(&self) -> MeteredMembers<'a> {
        MeteredMembers(self.named_members())
    }
}

impl<'a> json::Array<'a, Tape> for Node<'a> {
    type Node = Node<'a>;
    type ElementsIter = MeteredElements<'a>;

    #[inline]
    fn len(&self) -> usize {
        Node::len(*self)
    }

    #[inline]
    fn elements(&self) -> MeteredElements<'a> {
        MeteredElements(Node::elements(*self))
    }

    fn is_unique(&self) -> bool {
        super::distinct::are_distinct(*self)
    }
}

/// Iterator over the members of an object; ends when the budget is used up.
#[derive(Debug)]
pub struct MeteredMembers<'a>(NamedMembers<'a>);

impl<'a> Iterator for MeteredMembers<'a> {
    type Item = (&'a str, Node<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.0.next()?;
        // The validator may match the name against a pattern.
        spend_member(name.len()).then_some((name, value))
    }
}

/// Iterator over the elements of an array; ends when the budget is used up.
#[derive(Debug)]
pub struct MeteredElements<'a>(Elements<'a>);

impl<'a> Iterator for MeteredElements<'a> {
    type Item = Node<'a>;

    #[inline]
    fn next(&mut self) -> Option<Node<'a>> {
        let element = self.0.next()?;
        spend_child(0).then_some(element)
    }
}
