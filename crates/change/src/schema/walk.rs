//! Structural walk over two schemas: collects edits without judging them.

use serde_json::{Map, Value};

use super::patch::{Patch, pointer};
use super::rename;

/// One edit at one place.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) rule: &'static str,
    pub(crate) pointer: String,
    pub(crate) name: String,
    pub(crate) old: Option<Value>,
    pub(crate) new: Option<Value>,
    pub(crate) patches: Vec<Patch>,
    /// `true` if the schema declares that its enum may grow (`x-extensible-enum`).
    pub(crate) extensible: bool,
}

type Schema = Map<String, Value>;

const BOUNDS: [&str; 13] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "maxContains",
];
const COMPOSITION: [&str; 12] = [
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "propertyNames",
    "contains",
    "minContains",
    "patternProperties",
    "additionalItems",
];
const BRANCHES: [&str; 3] = ["anyOf", "oneOf", "allOf"];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Returns every edit between two documents.
pub(crate) fn edits(old: &Value, new: &Value) -> Vec<Edit> {
    let mut walk = Walk { definitions: definitions(new), edits: Vec::new() };
    walk.node(old, new, &mut Vec::new());
    walk.edits
}

/// Returns patches with the definitions of the new document; an edit that copies new parts needs their references.
fn definitions(document: &Value) -> Vec<Patch> {
    let mut patches = Vec::new();
    for key in ["$defs", "definitions"] {
        if let Some(Value::Object(entries)) = document.get(key) {
            for (name, body) in entries {
                patches.push(Patch { path: vec![key.to_owned(), name.clone()], value: Some(body.clone()) });
            }
        }
    }
    patches
}

struct Walk {
    definitions: Vec<Patch>,
    edits: Vec<Edit>,
}

impl Walk {
    fn node(&mut self, old: &Value, new: &Value, path: &mut Vec<String>) {
        if old == new {
            return;
        }
        let (Value::Object(before), Value::Object(after)) = (old, new) else {
            self.whole("schema.changed", old, new, path);
            return;
        };
        if REFERENCES.iter().any(|key| before.get(*key) != after.get(*key)) {
            self.prose(before, after, path);
            self.whole("reference.changed", old, new, path);
            return;
        }
        let respelled = BRANCHES
            .iter()
            .chain(&["not", "if", "const", "enum"])
            .any(|key| before.contains_key(*key) != after.contains_key(*key));
        let branched = BRANCHES.iter().any(|key| before.contains_key(*key) || after.contains_key(*key));
        if respelled && branched {
            self.prose(before, after, path);
            self.whole("composition.changed", old, new, path);
            return;
        }
        self.properties(before, after, path);
        let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let (was, is) = (before.get(key), after.get(key));
            if was != is {
                self.keyword(key, was, is, before, path);
            }
        }
    }

    fn keyword(
        &mut self,
        key: &str,
        was: Option<&Value>,
        is: Option<&Value>,
        before: &Schema,
        path: &mut Vec<String>,
    ) {
        match (key, was, is) {
            ("properties" | "required", ..) => {}
            ("description" | "title" | "examples", ..) => self.text(key, was, is, path),
            ("type", ..) => self.edit("type.changed", key, was, is, path),
            ("enum", Some(Value::Array(old)), Some(Value::Array(new))) => self.values(old, new, before, path),
            ("enum", ..) => self.edit("enum.changed", key, was, is, path),
            ("const", ..) => self.edit("const.changed", key, was, is, path),
            ("default", ..) => self.edit("default.changed", key, was, is, path),
            ("format", ..) => self.edit("format.changed", key, was, is, path),
            ("pattern", ..) => self.edit("pattern.changed", key, was, is, path),
            ("$schema", ..) => self.edit("dialect.changed", key, was, is, path),
            ("x-mcp-header", ..) => self.edit("header.changed", key, was, is, path),
            ("$defs" | "definitions", old, new) => {
                let entries =
                    |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
                let (old, new) = (entries(old), entries(new));
                for (name, body) in &old {
                    if let Some(other) = new.get(name) {
                        self.child(&[key, name], body, other, path);
                    }
                }
            }
            ("additionalProperties" | "unevaluatedProperties", was, is) => match (was, is) {
                (Some(old @ Value::Object(_)), Some(new @ Value::Object(_))) => {
                    self.child(&[key], old, new, path);
                }
                (_, Some(Value::Bool(false))) => self.edit("additional.closed", key, was, is, path),
                _ => self.edit("additional.changed", key, was, is, path),
            },
            ("items", Some(old @ Value::Object(_)), Some(new @ Value::Object(_))) => {
                self.child(&[key], old, new, path);
            }
            (
                "anyOf" | "oneOf" | "allOf" | "prefixItems" | "items",
                Some(Value::Array(old)),
                Some(Value::Array(new)),
            ) if old.len() == new.len() => {
                for (at, (old, new)) in old.iter().zip(new).enumerate() {
                    self.child(&[key, &at.to_string()], old, new, path);
                }
            }
            ("items" | "prefixItems" | "unevaluatedItems", ..) => {
                self.edit("items.changed", key, was, is, path);
            }
            (key, ..) if BOUNDS.contains(&key) => self.edit("bound.changed", key, was, is, path),
            (key, ..) if COMPOSITION.contains(&key) || BRANCHES.contains(&key) => {
                self.edit("composition.changed", key, was, is, path);
            }
            _ => self.edit("annotation.changed", key, was, is, path),
        }
    }

    fn child(&mut self, keys: &[&str], old: &Value, new: &Value, path: &mut Vec<String>) {
        let depth = path.len();
        path.extend(keys.iter().map(|key| (*key).to_owned()));
        self.node(old, new, path);
        path.truncate(depth);
    }

    fn edit(
        &mut self,
        rule: &'static str,
        key: &str,
        was: Option<&Value>,
        is: Option<&Value>,
        path: &[String],
    ) {
        let place = joined(path, &[key]);
        let mut patches = vec![Patch { path: place.clone(), value: is.cloned() }];
        if matches!(rule, "composition.changed" | "items.changed" | "additional.changed") {
            patches.extend(self.definitions.iter().cloned());
        }
        self.push(rule, &place, key, was, is, patches);
    }

    /// Records one edit that replaces the whole node, unless only its prose differs.
    fn whole(&mut self, rule: &'static str, old: &Value, new: &Value, path: &[String]) {
        if bare(old) == bare(new) {
            return;
        }
        let mut patches = vec![Patch { path: path.to_vec(), value: Some(new.clone()) }];
        patches.extend(self.definitions.iter().cloned());
        let name = path.last().cloned().unwrap_or_default();
        self.push(rule, path, &name, Some(old), Some(new), patches);
    }

    fn push(
        &mut self,
        rule: &'static str,
        place: &[String],
        name: &str,
        old: Option<&Value>,
        new: Option<&Value>,
        patches: Vec<Patch>,
    ) {
        self.edits.push(Edit {
            rule,
            pointer: pointer(place),
            name: name.to_owned(),
            old: old.cloned(),
            new: new.cloned(),
            patches,
            extensible: false,
        });
    }

    fn prose(&mut self, before: &Schema, after: &Schema, path: &[String]) {
        for key in ["description", "title", "examples"] {
            if before.get(key) != after.get(key) {
                self.text(key, before.get(key), after.get(key), path);
            }
        }
    }

    fn text(&mut self, key: &str, was: Option<&Value>, is: Option<&Value>, path: &[String]) {
        let place = joined(path, &[key]);
        // The `title` of a schema is a label for people; descriptions and examples are read by the model.
        let rule = if key == "title" { "annotation.changed" } else { "text.param" };
        self.push(rule, &place, key, was, is, Vec::new());
    }

    fn values(&mut self, old: &[Value], new: &[Value], before: &Schema, path: &[String]) {
        let added: Vec<Value> = new.iter().filter(|value| !old.contains(value)).cloned().collect();
        let removed: Vec<Value> = old.iter().filter(|value| !new.contains(value)).cloned().collect();
        let place = joined(path, &["enum"]);
        let extensible = before.get("x-extensible-enum").is_some_and(|value| *value != Value::Bool(false));
        if !added.is_empty() {
            let all: Vec<Value> = old.iter().chain(&added).cloned().collect();
            let patches = vec![Patch { path: place.clone(), value: Some(Value::Array(all)) }];
            self.push("enum.value-added", &place, "enum", None, Some(&Value::Array(added)), patches);
            if let Some(edit) = self.edits.last_mut() {
                edit.extensible = extensible;
            }
        }
        if !removed.is_empty() {
            let rest: Vec<Value> = old.iter().filter(|value| !removed.contains(value)).cloned().collect();
            // Some dialects forbid an empty `enum`; `not: {}` is valid and refuses everything in all of them.
            let key = if rest.is_empty() {
                vec![("enum", None), ("not", Some(Value::Object(Map::new())))]
            } else {
                vec![("enum", Some(Value::Array(rest)))]
            };
            let patches =
                key.into_iter().map(|(key, value)| Patch { path: joined(path, &[key]), value }).collect();
            self.push("enum.value-removed", &place, "enum", Some(&Value::Array(removed)), None, patches);
        }
    }

    /// Compares `properties` together with `required`: added, removed and renamed properties, and those whose
    /// requirement changed.
    fn properties(&mut self, before: &Schema, after: &Schema, path: &mut Vec<String>) {
        let fields = |schema: &Schema| {
            schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
        };
        let duty = |schema: &Schema| -> Vec<String> {
            let names = schema.get("required").and_then(Value::as_array);
            names
                .map(|own| own.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                .unwrap_or_default()
        };
        let (old, new) = (fields(before), fields(after));
        let (owed, due) = (duty(before), duty(after));
        let removed: Vec<&String> = old.keys().filter(|name| !new.contains_key(*name)).collect();
        let added: Vec<&String> = new.keys().filter(|name| !old.contains_key(*name)).collect();
        let renamed = rename::pairs(&removed, &added, &old, &new);
        let mut settled: Vec<&str> = Vec::new();
        let required = |names: &[&str], more: &[&str], path: &[String]| {
            let kept = owed.iter().map(String::as_str).filter(|name| !names.contains(name));
            let names: Vec<Value> = kept.chain(more.iter().copied()).map(Value::from).collect();
            let value = (!names.is_empty()).then_some(Value::Array(names));
            Patch { path: joined(path, &["required"]), value }
        };
        for (from, to) in &renamed {
            let (was, is) = (old.get(from), new.get(to));
            let more: Vec<&str> = due.iter().filter(|name| *name == to).map(String::as_str).collect();
            let mut patches = vec![
                Patch { path: joined(path, &["properties", from]), value: None },
                Patch { path: joined(path, &["properties", to]), value: is.cloned() },
                required(&[from], &more, path),
            ];
            patches.extend(self.definitions.iter().cloned());
            let place = joined(path, &["properties", from]);
            self.push("property.renamed", &place, &format!("{from} → {to}"), was, is, patches);
            settled.extend([from.as_str(), to.as_str()]);
        }
        for name in removed.iter().filter(|name| !settled.contains(&name.as_str())) {
            let patches = vec![
                Patch { path: joined(path, &["properties", name]), value: None },
                required(&[name], &[], path),
            ];
            self.push(
                "property.removed",
                &joined(path, &["properties", name]),
                name,
                old.get(*name),
                None,
                patches,
            );
        }
        for name in added.iter().filter(|name| !settled.contains(&name.as_str())) {
            let place = joined(path, &["properties", name]);
            let mut patches = vec![Patch { path: place.clone(), value: new.get(*name).cloned() }];
            patches.extend(self.definitions.iter().cloned());
            let must = due.contains(*name);
            if must && !owed.contains(*name) {
                patches.push(required(&[], &[name], path));
            }
            let rule = if must { "property.added-required" } else { "property.added" };
            self.push(rule, &place, name, None, new.get(*name), patches);
        }
        let gone = |name: &String| removed.contains(&name);
        let fresh = |name: &String| added.contains(&name);
        for name in due
            .iter()
            .filter(|name| !owed.contains(name) && !fresh(name) && !settled.contains(&name.as_str()))
        {
            let patches = vec![required(&[], &[name], path)];
            self.push(
                "required.added",
                &joined(path, &["required"]),
                name,
                None,
                Some(&Value::from(name.as_str())),
                patches,
            );
        }
        for name in
            owed.iter().filter(|name| !due.contains(name) && !gone(name) && !settled.contains(&name.as_str()))
        {
            let patches = vec![required(&[name], &[], path)];
            self.push(
                "required.removed",
                &joined(path, &["required"]),
                name,
                Some(&Value::from(name.as_str())),
                None,
                patches,
            );
        }
        for (name, schema) in &old {
            if let Some(other) = new.get(name) {
                self.child(&["properties", name], schema, other, path);
            }
        }
    }
}

fn joined(path: &[String], keys: &[&str]) -> Vec<String> {
    path.iter().cloned().chain(keys.iter().map(|key| (*key).to_owned())).collect()
}

/// Returns the node without its prose.
fn bare(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        for key in ["description", "title", "examples", "$comment"] {
            map.shift_remove(key);
        }
    }
    schema
}
