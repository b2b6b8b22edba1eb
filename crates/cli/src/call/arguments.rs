//! Parses command-line words as arguments, by the schema of each property.

use anyhow::{Context as _, anyhow, bail};
use serde_json::{Map, Value};
use toolcrib_contract::Definition;

/// Reads the arguments from one JSON object, or else from `key=value` pairs.
pub(crate) fn read(definition: &Definition, whole: Option<&str>, pairs: &[String]) -> anyhow::Result<Value> {
    if let Some(text) = whole {
        let value: Value = serde_json::from_str(text).context("--args is no JSON")?;
        if !value.is_object() {
            bail!("--args is no JSON object");
        }
        return Ok(value);
    }
    let schema: Value =
        definition.input_schema().and_then(|node| serde_json::from_str(node.raw()).ok()).unwrap_or_default();
    let mut members = Map::new();
    for pair in pairs {
        let (key, value) = one(&schema, pair)?;
        if members.insert(key.clone(), value).is_some() {
            bail!("{key:?} is given twice");
        }
    }
    Ok(Value::Object(members))
}

fn one(schema: &Value, pair: &str) -> anyhow::Result<(String, Value)> {
    let (key, text) = pair.split_once('=').ok_or_else(|| anyhow!("{pair:?} is not key=value"))?;
    if let Some(key) = key.strip_suffix(':') {
        let value = serde_json::from_str(text).with_context(|| format!("{key}: {text:?} is no JSON"))?;
        return Ok((key.to_owned(), value));
    }
    let property = schema.get("properties").and_then(|properties| properties.get(key));
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    // A value that does not fit its property stays text, and the schema's check refuses it with a reason.
    let value = match parsed {
        Some(value) if !takes_text(property) || !value.is_string() && !takes(property, "string") => value,
        _ => Value::from(text),
    };
    Ok((key.to_owned(), value))
}

/// Returns true if the property's schema accepts strings.
fn takes_text(property: Option<&Value>) -> bool {
    takes(property, "string")
}

fn takes(property: Option<&Value>, kind: &str) -> bool {
    let Some(property) = property else { return false };
    let named = match property.get("type") {
        Some(Value::String(name)) => name == kind,
        Some(Value::Array(names)) => names.iter().any(|name| name == kind),
        _ => false,
    };
    let of = |keyword: &str| property.get(keyword).and_then(Value::as_array).into_iter().flatten();
    let listed = kind == "string" && of("enum").chain(property.get("const")).any(Value::is_string);
    named || listed || of("anyOf").chain(of("oneOf")).any(|part| takes(Some(part), kind))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn given(pairs: &[&str]) -> anyhow::Result<Value> {
        let definition =
            Definition::from_value(&json!({"name": "t", "inputSchema": {"type": "object", "properties": {
            "text": {"type": "string"}, "count": {"type": "integer"}, "maybe": {"type": ["string", "null"]},
            "list": {"type": "array"}, "kind": {"enum": ["1", "b"]}, "free": {}}}}))?;
        read(&definition, None, &pairs.iter().map(|&pair| pair.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_value_is_read_by_the_schema_of_its_property() {
        let found =
            given(&["text=3", "count=3", "maybe=true", "list=[1]", "kind=1", "free={\"a\":1}", "other=x y"])
                .unwrap();
        let expected = json!({"text": "3", "count": 3, "maybe": "true", "list": [1], "kind": "1", "free": {"a": 1}, "other": "x y"});
        assert_eq!(found, expected);
        assert_eq!(given(&["maybe:=null", "text:=4"]).unwrap(), json!({"maybe": null, "text": 4}));
    }

    #[test]
    fn what_is_no_pair_is_refused() {
        for pairs in [&["text"][..], &["text=1", "text=2"], &["count:=x"]] {
            assert!(given(pairs).is_err(), "{pairs:?}");
        }
    }
}
