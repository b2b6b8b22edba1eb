//! Random 2020-12 schemas over a small vocabulary, dense enough that keywords interact, and mutations that derive the
//! second schema of a pair.

use serde_json::{Map, Value, json};

use super::random::Random;

pub const KEYS: [&str; 5] = ["a", "b", "ab", "x1", "c"];
pub const TEXTS: [&str; 10] = ["", "a", "b", "ab", "abc", "A", "1", "x1", "aa", "foo"];
const PATTERNS: [&str; 8] = ["^a", "b$", "^[a-z]*$", "a|b", "^x\\d+$", "^(a|ab)$", ".", "^.{2,3}$"];
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

fn small(random: &mut Random) -> Value {
    json!(random.below(4))
}

fn number(random: &mut Random) -> Value {
    match random.below(5) {
        0 => json!(0.5),
        1 => json!(-1),
        _ => json!(random.below(6)),
    }
}

pub fn constant(random: &mut Random) -> Value {
    match random.below(9) {
        0 => Value::Null,
        1 => json!(random.chance(50)),
        2 | 3 => number(random),
        4 | 5 => json!(random.pick(&TEXTS)),
        6 => json!([number(random)]),
        7 => json!({*random.pick(&KEYS): number(random)}),
        _ => json!([]),
    }
}

/// Returns a whole document, sometimes recursive.
pub fn document(random: &mut Random) -> Value {
    let depth = 1 + random.below(3);
    let mut schema = self::schema(random, depth);
    if random.chance(15)
        && let Some(map) = schema.as_object_mut()
    {
        let mut body = self::schema(random, 1);
        if let Some(inner) = body.as_object_mut() {
            let target = json!({"$ref": "#/$defs/t"});
            if random.chance(50) {
                inner.insert("items".to_owned(), target);
            } else {
                inner.insert("properties".to_owned(), json!({"a": target}));
            }
        }
        map.insert("$defs".to_owned(), json!({"t": body}));
        map.insert("properties".to_owned(), json!({"b": {"$ref": "#/$defs/t"}}));
    }
    schema
}

pub fn schema(random: &mut Random, depth: usize) -> Value {
    match random.below(20) {
        0 => return Value::Bool(true),
        1 if depth < 2 => return Value::Bool(false),
        _ => {}
    }
    let mut map = Map::new();
    for _ in 0..1 + random.below(3) {
        keyword(&mut map, random, depth);
    }
    Value::Object(map)
}

fn list(random: &mut Random, depth: usize) -> Value {
    Value::Array((0..1 + random.below(3)).map(|_| schema(random, depth)).collect())
}

fn keyword(map: &mut Map<String, Value>, random: &mut Random, depth: usize) {
    let deep = depth > 0;
    let inner = depth.saturating_sub(1);
    let (name, value) = match random.below(if deep { 40 } else { 17 }) {
        0..=3 => ("type", json!(random.pick(&TYPES))),
        4 => ("type", json!([TYPES[random.below(3)], TYPES[3 + random.below(4)]])),
        5 => ("enum", Value::Array((0..1 + random.below(3)).map(|_| constant(random)).collect())),
        6 => ("const", constant(random)),
        7 => ("minimum", number(random)),
        8 => ("maximum", number(random)),
        9 => ("exclusiveMinimum", number(random)),
        10 => ("multipleOf", json!([1.0, 2.0, 3.0, 0.5, 1.5][random.below(5)])),
        11 => ("minLength", small(random)),
        12 => ("maxLength", small(random)),
        13 => ("pattern", json!(random.pick(&PATTERNS))),
        14 => ("required", json!([random.pick(&KEYS)])),
        15 => ("minProperties", small(random)),
        16 => ("maxProperties", small(random)),
        17 => ("minItems", small(random)),
        18 => ("maxItems", small(random)),
        19 => ("uniqueItems", json!(true)),
        20 | 21 => ("items", schema(random, inner)),
        22 => ("prefixItems", list(random, inner)),
        23 => {
            if random.chance(40) {
                map.insert("maxContains".to_owned(), small(random));
            }
            if random.chance(40) {
                map.insert("minContains".to_owned(), small(random));
            }
            ("contains", schema(random, inner))
        }
        24..=26 => {
            let mut fields = Map::new();
            for _ in 0..1 + random.below(3) {
                fields.insert((*random.pick(&KEYS)).to_owned(), schema(random, inner));
            }
            ("properties", Value::Object(fields))
        }
        27 => ("patternProperties", json!({*random.pick(&PATTERNS): schema(random, inner)})),
        28 | 29 => ("additionalProperties", schema(random, inner)),
        30 => ("propertyNames", schema(random, 0)),
        31 => ("allOf", list(random, inner)),
        32 => ("anyOf", list(random, inner)),
        33 => ("oneOf", list(random, inner)),
        34 => ("not", schema(random, inner)),
        35 => {
            map.insert("then".to_owned(), schema(random, inner));
            if random.chance(50) {
                map.insert("else".to_owned(), schema(random, inner));
            }
            ("if", schema(random, inner))
        }
        36 => ("dependentRequired", json!({*random.pick(&KEYS): [random.pick(&KEYS)]})),
        37 => ("dependentSchemas", json!({*random.pick(&KEYS): schema(random, inner)})),
        38 => ("unevaluatedProperties", schema(random, 0)),
        _ => ("unevaluatedItems", schema(random, 0)),
    };
    map.insert(name.to_owned(), value);
}

/// Returns the schema with one or two places changed.
pub fn mutated(schema: &Value, random: &mut Random) -> Value {
    let mut changed = schema.clone();
    for _ in 0..1 + random.below(2) {
        mutate(&mut changed, random, 3);
    }
    changed
}

fn mutate(schema: &mut Value, random: &mut Random, depth: usize) {
    let fresh = self::schema(random, 1);
    let Some(map) = schema.as_object_mut() else {
        *schema = fresh;
        return;
    };
    let deeper: Vec<String> = map
        .iter()
        .filter(|(_, value)| value.is_object() || value.is_array())
        .map(|(key, _)| key.clone())
        .collect();
    if depth > 0 && !deeper.is_empty() && random.chance(55) {
        let key = random.pick(&deeper).clone();
        match map.get_mut(&key) {
            Some(Value::Array(items))
                if matches!(key.as_str(), "allOf" | "anyOf" | "oneOf" | "prefixItems") =>
            {
                if random.chance(25) {
                    items.push(fresh);
                } else if !items.is_empty() {
                    let at = random.below(items.len());
                    mutate(&mut items[at], random, depth - 1);
                }
                return;
            }
            Some(Value::Object(fields))
                if matches!(key.as_str(), "properties" | "$defs" | "patternProperties") =>
            {
                let names: Vec<String> = fields.keys().cloned().collect();
                if let Some(field) = fields.get_mut(random.pick(&names)) {
                    mutate(field, random, depth - 1);
                }
                return;
            }
            Some(value)
                if matches!(
                    key.as_str(),
                    "items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains"
                ) =>
            {
                mutate(value, random, depth - 1);
                return;
            }
            _ => {}
        }
    }
    match random.below(5) {
        0 if !map.is_empty() => {
            let keys: Vec<String> = map.keys().filter(|key| *key != "$defs").cloned().collect();
            if !keys.is_empty() {
                map.remove(random.pick(&keys));
            }
        }
        1 => {
            let own = Value::Object(map.clone());
            let defs = map.get("$defs").cloned();
            let wrapped = match random.below(4) {
                0 => json!({"allOf": [own, fresh]}),
                1 => json!({"anyOf": [own, fresh]}),
                2 => json!({"oneOf": [own, fresh]}),
                _ => json!({"not": {"not": own}}),
            };
            *schema = wrapped;
            if let (Some(defs), Some(map)) = (defs, schema.as_object_mut()) {
                map.insert("$defs".to_owned(), defs);
            }
        }
        _ => keyword(map, random, 1),
    }
}
