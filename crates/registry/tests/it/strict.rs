//! R6.2: written documents obey their format's own rules: the wording here gives the verdicts of the published schemas.

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::Value;
use toolcrib_contract::json::{Document, Limits};
use toolcrib_contract::{Schema, SchemaOptions};
use toolcrib_registry::strict::check;
use toolcrib_registry::{Fault, Format};

use crate::{arbitrary, real};

struct Published {
    text: String,
    schema: Schema,
}

impl Published {
    fn of(text: String) -> Self {
        let schema = {
            let document = Document::parse(text.as_bytes(), &Limits::file()).unwrap();
            Schema::compile(document.root(), &SchemaOptions::default()).unwrap()
        };
        Self { text, schema }
    }

    fn accepts(&self, text: &str) -> bool {
        let document = Document::parse(text.as_bytes(), &Limits::file()).unwrap();
        let _ = &self.text;
        self.schema.accepts(document.root())
    }
}

fn published(name: &str) -> Option<String> {
    // `\\0` is not an escape of ECMA-262 that a linear engine reads in a class; `\\x00` is the same character.
    real::file(&format!("toolhive-core/schemas/{name}.schema.json"))
        .map(|text| text.replace(r"\\0", r"\\x00"))
}

/// Returns the faults that a schema can express. The published schemas do not assert formats, so format faults are left
/// out.
fn schema_faults(format: Format, text: &str) -> Vec<String> {
    let document = Document::parse(text.as_bytes(), &Limits::file()).unwrap();
    let report = check(format, document.root());
    let schema = |issue: &&toolcrib_registry::Issue| {
        matches!(&issue.fault, Fault::Schema { rule } if !rule.contains("names one version") && !rule.contains("fetched by https")
            && !rule.contains("digest of its file") && !rule.contains("in the format"))
    };
    report.issues().iter().filter(schema).map(ToString::to_string).collect()
}

/// Makes a valid document invalid at a location that `seed` selects.
fn edited(value: &Value, seed: usize) -> Value {
    let mut paths = Vec::new();
    walk(value, "", &mut paths);
    let Some(path) = paths.get(seed % paths.len().max(1)) else { return value.clone() };
    let mut copy = value.clone();
    let place = copy.pointer_mut(path).unwrap();
    *place = match (seed / paths.len().max(1)) % 6 {
        0 => Value::Null,
        1 => Value::from("x".repeat(600)),
        2 => Value::from(70_000),
        3 => Value::from(""),
        4 => serde_json::json!(["a", "a"]),
        _ => serde_json::json!({}),
    };
    copy
}

fn walk(value: &Value, at: &str, paths: &mut Vec<String>) {
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    paths.push(at.to_owned());
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| walk(value, &format!("{at}/{}", escaped(key)), paths));
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, value)| walk(value, &format!("{at}/{i}"), paths));
        }
        _ => {}
    }
}

/// R6.2: server.json and its extension: same verdicts over real entries, edits of them, and generated ones.
#[test]
fn our_rules_of_a_server_are_the_published_ones() {
    let (Some(server), Some(extension)) = (published("server"), published("publisher-provided")) else {
        return;
    };
    let (server, extension) = (Published::of(server), Published::of(extension));
    let (mut accepted, mut refused) = (0, 0);
    let mut compare = |value: &Value| {
        if !value.is_object() {
            return;
        }
        let text = value.to_string();
        let provided = value.get("_meta").and_then(|meta| meta.get(toolcrib_registry::PUBLISHER_KEY));
        let theirs = server.accepts(&text) && provided.is_none_or(|own| extension.accepts(&own.to_string()));
        let ours = schema_faults(Format::Server, &text);
        assert_eq!(ours.is_empty(), theirs, "{ours:?}\n{text}");
        if theirs { accepted += 1 } else { refused += 1 }
    };
    for (name, text) in real::catalogues() {
        let value: Value = serde_json::from_str(&text).unwrap();
        let servers = value.pointer("/data/servers").and_then(Value::as_array).cloned().unwrap_or_default();
        for server in servers.iter().chain(name.ends_with(".server.json").then_some(&value)) {
            compare(server);
            (0..400).for_each(|seed| compare(&edited(server, seed * 7)));
        }
    }
    let mut runner = TestRunner::deterministic();
    for _ in 0..300 {
        compare(&arbitrary::server().new_tree(&mut runner).unwrap().current());
    }
    assert!(accepted > 1_000 && refused > 1_000, "{accepted} accepted, {refused} refused");
}

/// R6.2: ToolHive's file: same verdicts over real entries and edits of them.
#[test]
fn our_rules_of_a_toolhive_file_are_the_published_ones() {
    let (Some(schema), Some(text)) =
        (published("toolhive-legacy-registry"), real::file("toolhive/registry-legacy-2026-02-18.json"))
    else {
        return;
    };
    let schema = Published::of(schema);
    let value: Value = serde_json::from_str(&text).unwrap();
    let (mut accepted, mut refused) = (0, 0);
    for kind in ["servers", "remote_servers"] {
        for (key, entry) in value[kind].as_object().unwrap() {
            for seed in 0..40 {
                let entry = if seed == 0 { entry.clone() } else { edited(entry, seed * 13) };
                let mut file =
                    serde_json::json!({"version":"1.0.0","last_updated":"2026-01-01T00:00:00Z","servers":{}});
                file[kind] = serde_json::json!({ key.as_str(): entry });
                let text = file.to_string();
                let (ours, theirs) = (schema_faults(Format::Toolhive, &text), schema.accepts(&text));
                assert_eq!(ours.is_empty(), theirs, "{ours:?}\n{text}");
                if theirs { accepted += 1 } else { refused += 1 }
            }
        }
    }
    assert!(accepted > 500 && refused > 500, "{accepted} accepted, {refused} refused");
}

/// R6.2: negative cases are refused with rule and location: a name without `/`, a description over 100 characters.
#[test]
fn negative_cases_are_named_by_place() {
    for name in ["toolhive/upgrade-registry-low.json", "toolhive/upgrade-registry-high.json"] {
        let Some(text) = real::file(name) else { return };
        let document = Document::parse(text.as_bytes(), &Limits::file()).unwrap();
        let report = check(Format::Upstream, document.root());
        let places: Vec<&str> = report.issues().iter().map(|issue| issue.pointer.as_str()).collect();
        assert_eq!(places, ["/data/servers/0/name", "/data/servers/0/description"], "{:?}", report.issues());
    }
}

/// R6.2: definitions without names, invalid schemas and duplicates are reported, each with its location.
#[test]
fn bad_definitions_are_named_by_place() {
    let text = r#"{"tools":[{"name":"a","inputSchema":{"type":"objekt"}},{"description":"x"},{"name":"a"},7,{"name":"b","outputSchema":{"$ref":"https://x/y"}}]}"#;
    let document = Document::parse(text.as_bytes(), &Limits::file()).unwrap();
    let report = check(Format::Tools, document.root());
    let found: Vec<(&str, &str)> =
        report.issues().iter().map(|issue| (issue.pointer.as_str(), issue.fault.code())).collect();
    assert_eq!(
        found,
        [
            ("/tools/0/inputSchema/type", "definition.schema"),
            ("/tools/1", "definition.invalid"),
            ("/tools/2", "tool.duplicate"),
            ("/tools/3", "definition.invalid"),
            ("/tools/4/outputSchema/$ref", "definition.schema"),
        ],
        "{:?}",
        report.issues()
    );
}

/// R6.2: a server.json of an older schema is read, and the report says so.
#[test]
fn an_older_schema_is_noted() {
    let text = r#"{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-07-09/server.schema.json","name":"a/b","description":"d","version":"1.0.0"}"#;
    let document = Document::parse(text.as_bytes(), &Limits::file()).unwrap();
    let report = check(Format::Server, document.root());
    assert_eq!(report.issues()[0].fault, Fault::OldSchema { found: "2025-07-09".to_owned() });
    assert_eq!(report.first_error(), None);
}
