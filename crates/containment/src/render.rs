//! Rendering of formulas as 2020-12 schemas: a normal form for people and other provers. Recursive definitions become
//! `$defs`. A formula that 2020-12 cannot express (an integer by spelling, an asserted format, a bound beyond a
//! float) is not rendered.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::arena::{Arena, Lit, Node};
use crate::kind::Kinds;
use crate::pattern::Patterns;
use crate::rational::{self, Rational};

/// Maximum schema objects of one rendered document.
const NODES_MAX: usize = 4_000;

struct Renderer<'a> {
    arena: &'a Arena,
    patterns: &'a Patterns,
    defs: BTreeMap<u32, Value>,
    nodes: usize,
}

/// Renders a formula as a 2020-12 document with the same meaning; `None` if that is not possible.
pub(crate) fn document(arena: &Arena, patterns: &Patterns, lit: Lit) -> Option<Value> {
    let mut renderer = Renderer { arena, patterns, defs: BTreeMap::new(), nodes: 0 };
    let body = renderer.lit(lit)?;
    let mut map = match body {
        Value::Object(map) => map,
        other => return Some(other),
    };
    if !renderer.defs.is_empty() {
        let defs: Map<String, Value> =
            renderer.defs.into_iter().map(|(slot, body)| (format!("loop{slot}"), body)).collect();
        map.insert("$defs".to_owned(), Value::Object(defs));
    }
    Some(Value::Object(map))
}

impl Renderer<'_> {
    fn lit(&mut self, lit: Lit) -> Option<Value> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return None;
        }
        if let (Node::All(children), true) = (self.arena.node(lit), lit.negated()) {
            let branches: Option<Vec<Value>> = children.iter().map(|child| self.lit(!*child)).collect();
            return Some(json!({"anyOf": branches?}));
        }
        let positive = self.positive(lit)?;
        Some(if lit.negated() { json!({"not": positive}) } else { positive })
    }

    fn positive(&mut self, lit: Lit) -> Option<Value> {
        Some(match self.arena.node(lit) {
            Node::True => json!({}),
            Node::Kinds(kinds) => json!({"type": types(*kinds)?}),
            Node::All(children) => {
                let parts: Option<Vec<Value>> = children.iter().map(|child| self.lit(*child)).collect();
                json!({"allOf": parts?})
            }
            Node::One(children) => {
                let parts: Option<Vec<Value>> = children.iter().map(|child| self.lit(*child)).collect();
                json!({"oneOf": parts?})
            }
            Node::Loop(slot) => {
                let slot = *slot;
                if !self.defs.contains_key(&slot) {
                    self.defs.insert(slot, Value::Bool(true));
                    let positive = if lit.negated() { !lit } else { lit };
                    let body = self.lit(self.arena.unfold(positive))?;
                    self.defs.insert(slot, body);
                }
                json!({"$ref": format!("#/$defs/loop{slot}")})
            }
            Node::Truth => unless(&json!("boolean"), &json!({"const": true})),
            Node::Least(bound) => json!({"minimum": number(bound)?}),
            Node::Above(bound) => json!({"exclusiveMinimum": number(bound)?}),
            Node::Multiple(step) => json!({"multipleOf": number(step)?}),
            Node::NumberIn(set) => {
                let values: Option<Vec<Value>> = set.iter().map(number).collect();
                unless(&json!("number"), &json!({"enum": values?}))
            }
            Node::LengthMin(min) => json!({"minLength": min}),
            Node::Matches(pattern) => json!({"pattern": self.patterns.source(*pattern)}),
            Node::Format(_) => return None,
            Node::TextIn(set) => unless(&json!("string"), &json!({"enum": set})),
            Node::ItemsMin(min) => json!({"minItems": min}),
            Node::Unique => json!({"uniqueItems": true}),
            Node::Items { prefix, rest } => {
                let parts: Option<Vec<Value>> = prefix.iter().map(|child| self.lit(*child)).collect();
                let (parts, rest) = (parts?, self.lit(*rest)?);
                if parts.is_empty() {
                    json!({"items": rest})
                } else {
                    json!({"prefixItems": parts, "items": rest})
                }
            }
            Node::Has { item, count } => json!({"contains": self.lit(*item)?, "minContains": count}),
            Node::PropertiesMin(min) => json!({"minProperties": min}),
            Node::Key(key) => json!({"required": [key]}),
            Node::Names(lit) => json!({"propertyNames": self.lit(*lit)?}),
            Node::Properties(fields) => {
                let mut map = Map::new();
                let mut named = Map::new();
                for (name, lit) in &fields.named {
                    named.insert(name.to_string(), self.lit(*lit)?);
                }
                let mut patterns = Map::new();
                for (pattern, lit) in &fields.patterns {
                    let source = self.patterns.source(*pattern).to_owned();
                    if patterns.insert(source, self.lit(*lit)?).is_some() {
                        return None;
                    }
                }
                if !named.is_empty() {
                    map.insert("properties".to_owned(), Value::Object(named));
                }
                if !patterns.is_empty() {
                    map.insert("patternProperties".to_owned(), Value::Object(patterns));
                }
                if fields.rest != Lit::TRUE {
                    map.insert("additionalProperties".to_owned(), self.lit(fields.rest)?);
                }
                Value::Object(map)
            }
        })
    }
}

/// Restricts the schema to values of the type; every other value passes.
fn unless(kind: &Value, schema: &Value) -> Value {
    json!({"anyOf": [{"not": {"type": kind}}, schema]})
}

fn number(value: &Rational) -> Option<Value> {
    rational::json(value, false)
}

fn types(kinds: Kinds) -> Option<Vec<&'static str>> {
    let mut names = Vec::new();
    for (own, name) in [
        (Kinds::NULL, "null"),
        (Kinds::BOOLEAN, "boolean"),
        (Kinds::STRING, "string"),
        (Kinds::ARRAY, "array"),
        (Kinds::OBJECT, "object"),
    ] {
        if kinds.and(own) != Kinds::NONE {
            names.push(name);
        }
    }
    let numbers = kinds.and(Kinds::NUMBER);
    if numbers == Kinds::NUMBER {
        names.push("number");
    } else if numbers == Kinds::INTEGER {
        names.push("integer");
    } else if numbers != Kinds::NONE {
        return None;
    }
    Some(names)
}
