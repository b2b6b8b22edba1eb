//! Patches: single edits of a JSON document.

use serde_json::{Map, Value};

/// Edit of one place in a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Patch {
    /// Keys from the root.
    pub(crate) path: Vec<String>,
    /// The new value; `None` removes the member.
    pub(crate) value: Option<Value>,
}

/// Returns the document with the patches applied.
pub(crate) fn applied(document: &Value, patches: &[Patch]) -> Value {
    let mut document = document.clone();
    for patch in patches {
        apply(&mut document, &patch.path, patch.value.as_ref());
    }
    document
}

fn apply(node: &mut Value, path: &[String], value: Option<&Value>) {
    let Some((key, rest)) = path.split_first() else {
        if let Some(value) = value {
            *node = value.clone();
        }
        return;
    };
    if let Value::Array(items) = node {
        if let Some(item) = key.parse::<usize>().ok().and_then(|at| items.get_mut(at)) {
            apply(item, rest, value);
        }
        return;
    }
    if !node.is_object() && value.is_some() {
        *node = Value::Object(Map::new());
    }
    let Some(map) = node.as_object_mut() else { return };
    match (rest.is_empty(), value) {
        (true, Some(value)) => {
            map.insert(key.clone(), value.clone());
        }
        (true, None) => {
            map.shift_remove(key);
        }
        (false, Some(_)) => {
            apply(map.entry(key.clone()).or_insert_with(|| Value::Object(Map::new())), rest, value);
        }
        (false, None) => {
            if let Some(child) = map.get_mut(key) {
                apply(child, rest, value);
            }
        }
    }
}

/// Escapes a key for a JSON Pointer.
pub(crate) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Returns the JSON Pointer of a path.
pub(crate) fn pointer(path: &[String]) -> String {
    path.iter().map(|key| format!("/{}", escaped(key))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn patches_set_remove_and_create() {
        let path = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
        let document = json!({"properties": {"a": {"anyOf": [{"type": "null"}]}}});
        let patches = [
            Patch { path: path("properties/a/anyOf/0/type"), value: Some(json!("string")) },
            Patch { path: path("properties/b"), value: Some(json!({})) },
            Patch { path: path("required"), value: Some(json!(["b"])) },
        ];
        let changed = applied(&document, &patches);
        assert_eq!(
            changed,
            json!({"properties": {"a": {"anyOf": [{"type": "string"}]}, "b": {}}, "required": ["b"]})
        );
        let removed = applied(&changed, &[Patch { path: path("properties/a"), value: None }]);
        assert_eq!(removed, json!({"properties": {"b": {}}, "required": ["b"]}));
        assert_eq!(pointer(&path("a/b")), "/a/b");
    }
}
