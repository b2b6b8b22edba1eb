//! Detection of renamed properties: one removed and one added, similar in schema and name.

use serde_json::{Map, Value};

use crate::edit_distance::similarity;

/// Minimum similarity at which a removed and an added property count as a rename.
const RENAME_MIN: f64 = 0.55;

/// Returns pairs of removed and added names that are probably one property.
pub(crate) fn pairs(
    removed: &[&String],
    added: &[&String],
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Vec<(String, String)> {
    let mut scored: Vec<(f64, &String, &String)> = Vec::new();
    for from in removed {
        for to in added {
            let (Some(before), Some(after)) = (old.get(*from), new.get(*to)) else { continue };
            let score = likeness(from, to, before, after);
            if score >= RENAME_MIN {
                scored.push((score, from, to));
            }
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)).then(a.2.cmp(b.2)));
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (_, from, to) in scored {
        if !pairs.iter().any(|(own_from, own_to)| own_from == from || own_to == to) {
            pairs.push((from.clone(), to.clone()));
        }
    }
    pairs
}

fn likeness(from: &str, to: &str, before: &Value, after: &Value) -> f64 {
    let fold = |name: &str| {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>()
    };
    let (a, b) = (fold(from), fold(to));
    let prefix = !a.is_empty() && (b.starts_with(&a) || a.starts_with(&b));
    let names = if a == b { 1.0 } else { similarity(&a, &b).max(if prefix { 0.6 } else { 0.0 }) };
    let same = bare(before) == bare(after);
    let kind = before.get("type").is_some() && before.get("type") == after.get("type");
    let text = |schema: &Value| schema.get("description").and_then(Value::as_str).map(str::to_owned);
    let prose = match (text(before), text(after)) {
        (Some(a), Some(b)) => similarity(&a, &b),
        _ => 0.0,
    };
    if !kind && !same {
        return 0.0;
    }
    0.5 * names + 0.35 * prose + if same { 0.25 } else { 0.05 }
}

/// Returns the schema without its prose.
fn bare(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        for key in ["description", "title", "examples", "default"] {
            map.shift_remove(key);
        }
    }
    schema
}
