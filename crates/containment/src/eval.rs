//! Evaluation of a formula on a value. Tests compare it with the validators, and it checks a witness against a closed
//! producer.

use serde_json::Value;

use crate::arena::{Arena, Lit, Node};
use crate::kind::Kind;
use crate::pattern::Patterns;
use crate::rational;

/// Context of an evaluation.
#[derive(Clone, Copy)]
pub(crate) struct Meaning<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) patterns: &'a Patterns,
}

impl Meaning<'_> {
    /// Evaluates the literal; `None` if a matcher gave up or a format is asserted.
    pub(crate) fn holds(self, lit: Lit, value: &Value) -> Option<bool> {
        let lit = self.arena.unfold(lit);
        let positive = self.positive(lit, value)?;
        Some(positive != lit.negated())
    }

    fn positive(self, lit: Lit, value: &Value) -> Option<bool> {
        let node = self.arena.node(lit);
        let kind = Kind::of(value);
        if node.kinds().is_some_and(|kinds| !kinds.has(kind)) {
            return Some(true);
        }
        match (node, value) {
            (Node::Kinds(kinds), _) => Some(kinds.has(kind)),
            (Node::All(lits), _) => self.every(lits.iter().map(|lit| (*lit, value))),
            (Node::One(lits), _) => {
                let mut count = 0;
                for lit in lits {
                    count += usize::from(self.holds(*lit, value)?);
                }
                Some(count == 1)
            }
            (Node::Truth, Value::Bool(truth)) => Some(*truth),
            (Node::Least(bound), Value::Number(number)) => Some(rational::exact(number)? >= *bound),
            (Node::Above(bound), Value::Number(number)) => Some(rational::exact(number)? > *bound),
            (Node::Multiple(step), Value::Number(number)) => {
                Some(rational::divides(step, &rational::exact(number)?))
            }
            (Node::NumberIn(set), Value::Number(number)) => {
                Some(set.binary_search(&rational::exact(number)?).is_ok())
            }
            (Node::LengthMin(min), Value::String(text)) => Some(text.chars().count() as u64 >= *min),
            (Node::Matches(pattern), Value::String(text)) => self.patterns.matches(*pattern, text),
            (Node::Format(_), _) => None,
            (Node::TextIn(set), Value::String(text)) => {
                Some(set.binary_search_by(|own| (**own).cmp(text)).is_ok())
            }
            (Node::ItemsMin(min), Value::Array(items)) => Some(items.len() as u64 >= *min),
            (Node::Unique, Value::Array(items)) => Some(unique(items)),
            (Node::Items { prefix, rest }, Value::Array(items)) => self.every(
                items.iter().enumerate().map(|(at, item)| (prefix.get(at).copied().unwrap_or(*rest), item)),
            ),
            (Node::Has { item, count }, Value::Array(items)) => {
                let mut found = 0;
                for value in items {
                    found += u64::from(self.holds(*item, value)?);
                }
                Some(found >= *count)
            }
            (Node::PropertiesMin(min), Value::Object(map)) => Some(map.len() as u64 >= *min),
            (Node::Key(key), Value::Object(map)) => Some(map.contains_key(&**key)),
            (Node::Properties(fields), Value::Object(map)) => {
                for (name, value) in map {
                    for lit in self.applicable(fields, name)? {
                        if !self.holds(lit, value)? {
                            return Some(false);
                        }
                    }
                }
                Some(true)
            }
            (Node::Names(lit), Value::Object(map)) => {
                for name in map.keys() {
                    if !self.holds(*lit, &Value::String(name.clone()))? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            _ => Some(true),
        }
    }

    /// Returns the literals that a property of this name must satisfy; `None` if a matcher gave up.
    pub(crate) fn applicable(self, fields: &crate::arena::Fields, name: &str) -> Option<Vec<Lit>> {
        let mut lits: Vec<Lit> = fields.named(name).into_iter().collect();
        for (pattern, lit) in &fields.patterns {
            if self.patterns.matches(*pattern, name)? {
                lits.push(*lit);
            }
        }
        if lits.is_empty() {
            lits.push(fields.rest);
        }
        Some(lits)
    }

    fn every<'v>(self, parts: impl Iterator<Item = (Lit, &'v Value)>) -> Option<bool> {
        let mut certain = true;
        for (lit, value) in parts {
            match self.holds(lit, value) {
                Some(false) => return Some(false),
                Some(true) => {}
                None => certain = false,
            }
        }
        certain.then_some(true)
    }
}

/// Compares two values as JSON Schema does: numbers by value, objects regardless of order.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => rational::exact(a) == rational::exact(b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(left, right)| equal(left, right))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, left)| b.get(key).is_some_and(|right| equal(left, right)))
        }
        _ => left == right,
    }
}

fn unique(items: &[Value]) -> bool {
    items.iter().enumerate().all(|(at, item)| !items.iter().skip(at + 1).any(|other| equal(item, other)))
}
