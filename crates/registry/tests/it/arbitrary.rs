//! Generators of documents in each format: the structure is valid, the values are arbitrary.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolcrib_registry::{PUBLISHER_KEY, STACKLOK};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "[a-z<>&é\"\\\\]{0,6}".prop_map(Value::String),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec(("[a-e]", inner), 0..4)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// An object with some of these members, in any order.
fn some_of(members: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let parts: Vec<BoxedStrategy<Option<(String, Value)>>> = members
        .into_iter()
        .map(|(key, value)| prop::option::of(value.prop_map(move |value| (key.to_owned(), value))).boxed())
        .collect();
    (parts, any::<prop::sample::Index>())
        .prop_map(|(parts, turn)| {
            let mut present: Vec<_> = parts.into_iter().flatten().collect();
            if !present.is_empty() {
                let by = turn.index(present.len());
                present.rotate_left(by);
            }
            Value::Object(present.into_iter().collect::<Map<_, _>>())
        })
        .boxed()
}

fn with(base: Value, more: Value) -> Value {
    match (base, more) {
        (Value::Object(mut base), Value::Object(more)) => {
            base.extend(more);
            Value::Object(base)
        }
        (base, _) => base,
    }
}

pub(crate) fn definition() -> impl Strategy<Value = Value> {
    let rest = some_of(vec![
        ("description", "[a-z <é]{0,20}".prop_map(Value::String).boxed()),
        ("inputSchema", any_json().boxed()),
        ("outputSchema", any_json().boxed()),
        ("annotations", any_json().boxed()),
        ("x-vendor", any_json().boxed()),
    ]);
    ("[a-z_.]{1,8}", rest).prop_map(|(name, rest)| with(json!({ "name": name }), rest))
}

fn definitions() -> BoxedStrategy<Value> {
    prop::collection::vec(definition(), 0..4).prop_map(Value::Array).boxed()
}

fn names() -> BoxedStrategy<Value> {
    prop::collection::vec("[a-z_]{1,6}", 0..4).prop_map(|names| json!(names)).boxed()
}

fn text() -> BoxedStrategy<Value> {
    prop_oneof![
        "[a-zA-Z é]{0,12}".prop_map(Value::String),
        "[a-z ]{101,140}".prop_map(Value::String),
        any_json()
    ]
    .boxed()
}

fn inputs(required: &'static str, secret: &'static str) -> BoxedStrategy<Value> {
    let input = some_of(vec![
        ("name", "[A-Z]{1,4}".prop_map(Value::String).boxed()),
        ("description", text()),
        (required, any_json().boxed()),
        (secret, any::<bool>().prop_map(Value::Bool).boxed()),
        ("default", text()),
        ("choices", names()),
        ("value", prop_oneof![Just(json!("K={v}")), Just(json!("K=V"))].boxed()),
        ("variables", Just(json!({"v":{"isSecret":true,"isRequired":true,"default":"d"}})).boxed()),
    ]);
    prop::collection::vec(input, 0..3).prop_map(Value::Array).boxed()
}

fn entry_members() -> Vec<(&'static str, BoxedStrategy<Value>)> {
    vec![
        (
            "name",
            prop_oneof![Just(json!("io.github.stacklok/abc")), Just(json!("com.example/other")), any_json()]
                .boxed(),
        ),
        ("title", text()),
        ("description", text()),
        ("tier", prop_oneof![Just(json!("Official")), any_json()].boxed()),
        ("status", prop_oneof![Just(json!("Active")), any_json()].boxed()),
        (
            "transport",
            prop_oneof![Just(json!("stdio")), Just(json!("sse")), Just(json!("streamable-http")), any_json()]
                .boxed(),
        ),
        ("target_port", prop_oneof![(1u16..u16::MAX).prop_map(|p| json!(p)), any_json()].boxed()),
        ("tools", prop_oneof![names(), any_json().boxed()].boxed()),
        ("tool_definitions", prop_oneof![definitions(), any_json().boxed()].boxed()),
        ("env_vars", inputs("required", "secret")),
        ("headers", inputs("required", "secret")),
        ("metadata", any_json().boxed()),
        ("repository_url", text()),
        ("custom_metadata", prop_oneof![Just(json!({})), Just(json!({"maintainer":"x"}))].boxed()),
        ("args", names()),
        ("x-unknown", any_json().boxed()),
    ]
}

/// A ToolHive entry.
pub(crate) fn entry() -> impl Strategy<Value = Value> {
    (any::<bool>(), some_of(entry_members())).prop_map(|(image, rest)| {
        let subject =
            if image { json!({"image":"img:1"}) } else { json!({"url":"https://a/mcp","transport":"sse"}) };
        with(subject, rest)
    })
}

/// A ToolHive file.
pub(crate) fn toolhive() -> impl Strategy<Value = Value> {
    let image = some_of(entry_members()).prop_map(|rest| with(json!({"image":"img:1"}), rest));
    let remote = some_of(entry_members()).prop_map(|rest| with(json!({"url":"https://a/mcp"}), rest));
    let head = some_of(vec![
        ("version", prop_oneof![Just(json!("1.2.3")), any_json()].boxed()),
        ("last_updated", prop_oneof![Just(json!("2026-01-01T00:00:00Z")), any_json()].boxed()),
        (
            "remote_servers",
            prop::collection::vec(("[a-c]", remote), 0..3)
                .prop_map(|m| Value::Object(m.into_iter().collect()))
                .boxed(),
        ),
        ("groups", any_json().boxed()),
        ("$schema", text()),
    ]);
    (head, prop::collection::vec(("[a-d]|x/y", image), 0..3)).prop_map(|(head, servers)| {
        with(head, json!({"servers": servers.into_iter().collect::<Map<_, _>>()}))
    })
}

fn package() -> BoxedStrategy<Value> {
    let rest = some_of(vec![
        ("version", text()),
        ("transport", prop_oneof![
            Just(json!({"type":"stdio"})),
            Just(json!({"type":"streamable-http","url":"http://localhost:8080"})),
            Just(json!({"type":"sse","url":"http://127.0.0.1/x"}))
        ].boxed()),
        ("environmentVariables", inputs("isRequired", "isSecret")),
        ("runtimeArguments", Just(json!([{"type":"named","name":"-e","value":"K={v}","isRequired":false,"variables":{"v":{"isRequired":true}}}])).boxed()),
        ("packageArguments", Just(json!([{"type":"named","name":"--a","value":"1"},{"type":"positional","valueHint":"x"}])).boxed()),
        ("x-unknown", any_json().boxed()),
    ]);
    (prop_oneof![Just("oci"), Just("npm")], "img:[12]", rest)
        .prop_map(|(kind, id, rest)| with(json!({"registryType":kind,"identifier":id}), rest))
        .boxed()
}

/// A server.json.
pub(crate) fn server() -> impl Strategy<Value = Value> {
    let remote =
        some_of(vec![("headers", inputs("isRequired", "isSecret")), ("variables", any_json().boxed())])
            .prop_map(|rest| with(json!({"type":"sse","url":"https://a/mcp"}), rest));
    let block = some_of(vec![
        ("status", Just(json!("active")).boxed()),
        ("tools", prop_oneof![names(), any_json().boxed()].boxed()),
        ("tool_definitions", prop_oneof![definitions(), any_json().boxed()].boxed()),
        ("transport", text()),
        ("env_vars", any_json().boxed()),
        ("x-unknown", any_json().boxed()),
    ]);
    let blocks = prop::collection::vec(
        (prop_oneof![Just("img:1"), Just("img:2"), Just("https://a/mcp"), Just("a/b"), Just("stale")], block),
        0..3,
    )
    .prop_map(|blocks| {
        Value::Object(blocks.into_iter().map(|(key, block)| (key.to_owned(), block)).collect())
    });
    let meta = prop_oneof![
        Just(json!({})),
        Just(json!({ PUBLISHER_KEY: {} })),
        blocks.prop_map(
            |blocks| json!({"other":1, PUBLISHER_KEY: {STACKLOK: blocks, "com.example": {"x": 1}}})
        ),
    ];
    let rest = some_of(vec![
        ("$schema", text()),
        ("title", text()),
        ("icons", any_json().boxed()),
        (
            "repository",
            prop_oneof![Just(json!({"url":"https://r","source":"gitlab","id":"7"})), any_json()].boxed(),
        ),
        ("packages", prop::collection::vec(package(), 0..3).prop_map(Value::Array).boxed()),
        ("remotes", prop::collection::vec(remote, 0..3).prop_map(Value::Array).boxed()),
        ("_meta", meta.boxed()),
        ("x-unknown", any_json().boxed()),
    ]);
    (prop_oneof![Just("a/b"), Just("io.github.stacklok/b"), Just("nameless")], text(), rest).prop_map(
        |(name, description, rest)| {
            with(json!({"name":name,"description":description,"version":"2.0.0"}), rest)
        },
    )
}

/// An upstream file.
pub(crate) fn upstream() -> impl Strategy<Value = Value> {
    let head = some_of(vec![
        ("version", prop_oneof![Just(json!("1.0.0")), any_json()].boxed()),
        ("meta", prop_oneof![Just(json!({"last_updated":"2026-01-01T00:00:00Z"})), any_json()].boxed()),
        ("x-other", any_json().boxed()),
    ]);
    let more = some_of(vec![("skills", any_json().boxed()), ("plugins", any_json().boxed())]);
    (head, more, prop::collection::vec(server(), 0..4)).prop_map(|(head, more, servers)| {
        with(head, json!({"data": with(more, json!({ "servers": servers }))}))
    })
}

/// A list of tools, in each of its shapes.
pub(crate) fn tools() -> impl Strategy<Value = Value> {
    prop_oneof![
        definitions(),
        (definitions(), some_of(vec![("nextCursor", text()), ("_meta", Just(json!({"a":1})).boxed())]))
            .prop_map(|(list, rest)| with(json!({ "tools": list }), rest)),
        definition().prop_filter("one definition", |d| d.get("inputSchema").is_some()),
    ]
}
