//! Random values: free ones, and ones steered by a schema so that they are often valid.

use serde_json::{Map, Value, json};

use super::random::Random;
use super::schemas::{KEYS, TEXTS};

pub fn free(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => Value::Bool(random.chance(50)),
        2 => json!(random.below(8) as i64 - 2),
        3 => json!((random.below(20) as f64) / 4.0),
        4 | 5 => json!(random.pick(&TEXTS)),
        6 => Value::Array((0..random.below(4)).map(|_| free(random, depth - 1)).collect()),
        _ => {
            let mut map = Map::new();
            for _ in 0..random.below(4) {
                map.insert((*random.pick(&KEYS)).to_owned(), free(random, depth - 1));
            }
            Value::Object(map)
        }
    }
}

/// Returns a value steered by the schema, not necessarily valid.
pub fn steered(schema: &Value, root: &Value, random: &mut Random, depth: usize) -> Value {
    let Some(map) = schema.as_object().filter(|_| depth > 0 && !random.chance(8)) else {
        return free(random, depth.min(2));
    };
    if let Some(value) = map.get("const") {
        return value.clone();
    }
    if let Some(values) = map.get("enum").and_then(Value::as_array).filter(|values| !values.is_empty()) {
        return random.pick(values).clone();
    }
    if let Some(reference) = map.get("$ref").and_then(Value::as_str)
        && let Some(target) = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
        && random.chance(80)
    {
        return steered(target, root, random, depth - 1);
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        if let Some(branches) = map.get(keyword).and_then(Value::as_array).filter(|own| !own.is_empty())
            && random.chance(60)
        {
            let branch = random.pick(branches).clone();
            return steered(&branch, root, random, depth - 1);
        }
    }
    for keyword in ["then", "else", "if"] {
        if let Some(branch) = map.get(keyword).filter(|_| random.chance(25)) {
            return steered(branch, root, random, depth - 1);
        }
    }
    let kind = match map.get("type") {
        Some(Value::Array(kinds)) if !kinds.is_empty() => {
            random.pick(kinds).as_str().unwrap_or("null").to_owned()
        }
        Some(Value::String(kind)) => kind.clone(),
        _ if map.contains_key("properties") || map.contains_key("required") => "object".to_owned(),
        _ if map.contains_key("items") || map.contains_key("prefixItems") || map.contains_key("contains") => {
            "array".to_owned()
        }
        _ => return free(random, depth.min(2)),
    };
    let near = |keyword: &str, random: &mut Random| {
        map.get(keyword).and_then(Value::as_f64).map(|bound| bound + random.below(4) as f64 / 2.0 - 0.5)
    };
    match kind.as_str() {
        "object" => object(map, root, random, depth),
        "array" => array(map, root, random, depth),
        "integer" => {
            let base =
                near("minimum", random).or_else(|| near("maximum", random)).unwrap_or(random.below(6) as f64);
            json!(base.round() as i64)
        }
        "number" => {
            let base = near("minimum", random)
                .or_else(|| near("maximum", random))
                .unwrap_or(random.below(12) as f64 / 4.0);
            json!(base)
        }
        "string" => json!(random.pick(&TEXTS)),
        "boolean" => json!(random.chance(50)),
        _ => Value::Null,
    }
}

fn object(map: &Map<String, Value>, root: &Value, random: &mut Random, depth: usize) -> Value {
    let mut object = Map::new();
    if let Some(properties) = map.get("properties").and_then(Value::as_object) {
        for (name, schema) in properties {
            if random.chance(60) {
                object.insert(name.clone(), steered(schema, root, random, depth - 1));
            }
        }
    }
    if let Some(required) = map.get("required").and_then(Value::as_array) {
        for name in required.iter().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                object.insert(name.to_owned(), free(random, 1));
            }
        }
    }
    if random.chance(35) {
        let schema = map.get("additionalProperties").cloned().unwrap_or(Value::Bool(true));
        object.insert((*random.pick(&KEYS)).to_owned(), steered(&schema, root, random, depth - 1));
    }
    Value::Object(object)
}

fn array(map: &Map<String, Value>, root: &Value, random: &mut Random, depth: usize) -> Value {
    let prefix = map.get("prefixItems").and_then(Value::as_array).cloned().unwrap_or_default();
    let rest = map.get("items").or_else(|| map.get("contains")).cloned().unwrap_or(Value::Bool(true));
    let length =
        random.below(4).max(map.get("minItems").and_then(Value::as_u64).unwrap_or(0).min(5) as usize);
    let items =
        (0..length).map(|at| steered(prefix.get(at).unwrap_or(&rest), root, random, depth - 1)).collect();
    Value::Array(items)
}
