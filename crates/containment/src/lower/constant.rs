//! Lowering of constants to structure: an object constant requires its keys, fixes the value of each, and admits no
//! other key. Excluding a value then needs no special case in the prover.

use serde_json::Value;

use crate::arena::{Arena, Fields, Lit, Node};
use crate::kind::Kinds;
use crate::rational;

/// Returns the formula that holds exactly for values equal to `value`.
pub(crate) fn constant(arena: &mut Arena, value: &Value) -> Lit {
    enumeration(arena, std::slice::from_ref(value))
}

/// Returns the formula that holds exactly for values equal to one of `values`.
pub(crate) fn enumeration(arena: &mut Arena, values: &[Value]) -> Lit {
    let mut kinds = Kinds::NONE;
    let (mut texts, mut numbers, mut arrays, mut objects) = (vec![], vec![], vec![], vec![]);
    let (mut yes, mut no) = (false, false);
    for value in values {
        match value {
            Value::Null => kinds = kinds.or(Kinds::NULL),
            Value::Bool(true) => yes = true,
            Value::Bool(false) => no = true,
            Value::Number(number) => numbers.extend(rational::exact(number)),
            Value::String(text) => texts.push(text.as_str().into()),
            Value::Array(items) => arrays.push(array(arena, items)),
            Value::Object(map) => objects.push(object(arena, map)),
        }
    }
    let mut parts = Vec::new();
    if yes || no {
        kinds = kinds.or(Kinds::BOOLEAN);
        let truth = arena.intern(Node::Truth);
        let other = arena.kinds(Kinds::BOOLEAN.not());
        match (yes, no) {
            (true, false) => parts.push(truth),
            (false, true) => parts.push(arena.any([other, !truth])),
            _ => {}
        }
    }
    if !numbers.is_empty() {
        kinds = kinds.or(Kinds::NUMBER);
        parts.push(arena.number_in(numbers));
    }
    if !texts.is_empty() {
        kinds = kinds.or(Kinds::STRING);
        parts.push(arena.text_in(texts));
    }
    for (own, mut branches) in [(Kinds::ARRAY, arrays), (Kinds::OBJECT, objects)] {
        if !branches.is_empty() {
            kinds = kinds.or(own);
            branches.push(arena.kinds(own.not()));
            parts.push(arena.any(branches));
        }
    }
    parts.push(arena.kinds(kinds));
    arena.all(parts)
}

fn array(arena: &mut Arena, items: &[Value]) -> Lit {
    let prefix: Box<[Lit]> = items.iter().map(|item| constant(arena, item)).collect();
    let count = items.len() as u64;
    let mut parts = vec![arena.kinds(Kinds::ARRAY)];
    if count > 0 {
        parts.push(arena.intern(Node::ItemsMin(count)));
        parts.push(arena.intern(Node::Items { prefix, rest: Lit::TRUE }));
    }
    parts.push(!arena.intern(Node::ItemsMin(count + 1)));
    arena.all(parts)
}

fn object(arena: &mut Arena, map: &serde_json::Map<String, Value>) -> Lit {
    let mut named: Vec<(Box<str>, Lit)> = Vec::with_capacity(map.len());
    let mut parts = vec![arena.kinds(Kinds::OBJECT)];
    for (key, value) in map {
        named.push((key.as_str().into(), constant(arena, value)));
        parts.push(arena.intern(Node::Key(key.as_str().into())));
    }
    named.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    if !named.is_empty() {
        let fields = Fields { named, patterns: Vec::new(), rest: Lit::TRUE };
        parts.push(arena.intern(Node::Properties(Box::new(fields))));
    }
    parts.push(!arena.intern(Node::PropertiesMin(map.len() as u64 + 1)));
    arena.all(parts)
}
