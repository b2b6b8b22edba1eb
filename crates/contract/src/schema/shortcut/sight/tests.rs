use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::json::{Document, Limits, Node, OwnedDocument};
use crate::schema::{Schema, SchemaOptions};

const PATH: [&str; 2] = ["result", "structuredContent"];

fn schema() -> Value {
    json!({"type": "object", "required": ["id", "state"], "additionalProperties": false, "properties": {
        "id": {"type": "integer", "minimum": 0, "maximum": 1000},
        "name": {"type": ["string", "null"], "minLength": 1, "maxLength": 12},
        "the longest of all the names": {"type": "number", "exclusiveMinimum": -0.5},
        "state": {"enum": ["open", "closed"]},
        "tags": {"type": "array", "maxItems": 3, "items": {"type": "string"}},
        "done": {"type": "boolean"},
        "inner": {"type": "object", "properties": {"é": {"type": "number"}, "b": true}}
    }})
}

/// Knows no shortcut and no tape.
#[allow(clippy::disallowed_methods, reason = "to be independent of ours")]
static VALIDATOR: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| jsonschema::validator_for(&schema()).unwrap());

fn recognises(schema: &Value, text: &str) -> bool {
    let shortcut = Shortcut::of(schema, false).unwrap();
    shortcut.recognise(text, 0).is_some_and(|found| found.end == text.len())
}

fn compiled(schema: &Value) -> Schema {
    let document = OwnedDocument::parse(schema.to_string(), &Limits::message()).unwrap();
    Schema::compile(document.root(), &SchemaOptions::default()).unwrap()
}

/// A value that keeps the schema, as text, with or without white space between its tokens.
fn kept() -> impl Strategy<Value = String> {
    let members = (
        0i64..1000,
        prop::option::of("[a-zé\"\\\\\n]{1,6}"),
        prop::option::of(prop_oneof![
            (-400i32..9000).prop_map(|n| json!(f64::from(n) / 1000.0)),
            Just(json!(7))
        ]),
        any::<bool>(),
        prop::option::of(prop::collection::vec("[a-z ü\t]{0,20}", 0..4)),
        prop::option::of((any::<f64>(), any::<bool>())),
        any::<bool>(),
    );
    members.prop_map(|(id, name, number, open, tags, inner, spaced)| {
        let mut value = json!({"id": id, "state": if open { "open" } else { "closed" }});
        let mut put = |key: &str, member: Option<Value>| {
            if let Some(member) = member {
                value[key] = member;
            }
        };
        put("name", name.map(Value::from));
        put("the longest of all the names", number);
        put("tags", tags.map(Value::from));
        put("inner", inner.map(|(number, b)| json!({"é": number, "b": b})));
        if spaced { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() }
    })
}

/// The same with a few bytes that matter to JSON in the place of others.
fn damaged() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), 0..3usize, "[\\[\\]{}:,\"\\\\0-9a-z .eE+\\-\n]{1,2}");
    (kept(), prop::collection::vec(change, 0..3)).prop_map(|(mut text, changes)| {
        for (at, gone, instead) in changes {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let from = *at.get(&places);
            let to = text[from..].char_indices().nth(gone).map_or(text.len(), |(len, _)| from + len);
            text.replace_range(from..to, &instead);
        }
        text
    })
}

fn message(content: &str, spaced: bool) -> String {
    let space = if spaced { " " } else { "" };
    format!(
        r#"{{"jsonrpc":"2.0","id":7,{space}"result":{{"content":[],"structuredContent":{content},"x":{{"y":1}}}}}}"#
    )
}

proptest! {
    /// R1.7: what is recognised is strict JSON and keeps the schema, by the reader and the validator that know no
    /// shortcut.
    #[test]
    fn what_is_recognised_is_what_a_reader_and_a_validator_accept(text in damaged()) {
        let shortcut = Shortcut::of(&schema(), false).unwrap();
        if let Some(found) = shortcut.recognise(&text, 0) {
            let value = &text[..found.end];
            let document = Document::parse(value.as_bytes(), &Limits::message());
            prop_assert!(document.is_ok(), "no JSON: {}", value);
            let tree: Value = serde_json::from_str(value).unwrap();
            prop_assert!(VALIDATOR.is_valid(&tree), "does not keep it: {}", value);
            prop_assert!(document.unwrap().root().depth() <= shortcut.depth());
        }
    }

    /// R1.7: most of what keeps a plain schema is recognised; else there would be no point.
    #[test]
    fn what_keeps_the_schema_is_recognised(text in kept()) {
        let escaped = text.contains('\\');
        prop_assert!(escaped || recognises(&schema(), &text), "{}", text);
    }

    /// R5.4: a text that was read with something expected says the same as without, to whoever looks.
    #[test]
    fn what_is_expected_changes_nothing_but_the_work(content in damaged(), spaced in any::<bool>()) {
        let schema = compiled(&schema());
        let text = message(&content, spaced);
        let plain = OwnedDocument::parse_passing(text.clone(), &Limits::message());
        let guided = OwnedDocument::parse_expecting(text, &Limits::message(), schema.expect(&PATH));
        match (plain, guided) {
            (Ok(plain), Ok(guided)) => {
                let (a, b) = (plain.root(), guided.root());
                prop_assert_eq!(a.to_value(), b.to_value());
                prop_assert_eq!(a.to_compact(), b.to_compact());
                prop_assert_eq!(a.depth(), b.depth());
                let of = |node: Node<'_>| {
                    let content = node.get("result").and_then(|it| it.get("structuredContent"));
                    content.map(|it| (it.len(), it.kind(), it.range(), schema.accepts(it)))
                };
                prop_assert_eq!(of(a), of(b));
            }
            (Err(a), Err(b)) => prop_assert_eq!(a.to_string(), b.to_string()),
            (a, b) => prop_assert!(false, "{:?} against {:?}", a, b),
        }
    }
}

/// R1.7
#[test]
fn what_is_no_json_or_not_kept_is_not_recognised() {
    for text in [
        r#"{"id":1,"state":"open",}"#,
        r#"{"id":1,,"state":"open"}"#,
        r#"{"id":1 "state":"open"}"#,
        r#"{"id":01,"state":"open"}"#,
        r#"{"id":1.0,"state":"open"}"#,
        r#"{"id":1,"id":1,"state":"open"}"#,
        r#"{"id":1,"state":"ajar"}"#,
        r#"{"id":1}"#,
        r#"{"id":1001,"state":"open"}"#,
        r#"{"id":1,"state":"open","name":""}"#,
        r#"{"id":1,"state":"open","name":"abcdefghijklm"}"#,
        r#"{"id":1,"state":"open","tags":["a","b","c","d"]}"#,
        r#"{"id":1,"state":"open","tags":["a",]}"#,
        r#"{"id":1,"state":"open","the longest of all the names":-0.5}"#,
        r#"{"id":1,"state":"open","the longest of all the nameS":1}"#,
        r#"{"id":1,"state":"open","done":tru}"#,
        r#"{"id":1,"state":"open","tags":["\ud800"]}"#,
        "{\"id\":1,\"state\":\"open\",\"tags\":[\"\u{1}\"]}",
        r#"{"id":1,"state":"open","other":1}"#,
        r#"{"id":1,"state":"open""#,
    ] {
        assert!(!recognises(&schema(), text), "{text}");
    }
    assert!(recognises(
        &schema(),
        r#"{"state":"open","tags":["\u00e9"],"id":0,"the longest of all the names":1e3}"#
    ));
}

/// A name that is never written as it is would be taken for the end of another one.
#[test]
fn a_property_whose_name_needs_an_escape_is_not_looked_for() {
    for (name, text) in [("a\"b", r#"{"a"b":1}"#), ("a\\", r#"{"a\":1}"#), ("\n", "{\"\n\":1}")] {
        assert!(!recognises(&json!({"properties": {name: {"type": "integer"}}}), text), "{text}");
    }
}

/// R1.6: values that are recognised without being read count against the limits like all others.
#[test]
fn limits_hold_for_what_is_recognised() {
    let schema = compiled(&json!({"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "integer"}}
    }}));
    let text = message(&format!("{{\"list\":[{}1]}}", "1,".repeat(500)), false);
    let read = |limits: Limits| OwnedDocument::parse_expecting(text.clone(), &limits, schema.expect(&PATH));
    assert!(read(Limits::message()).is_ok());
    assert!(read(Limits::message().with_nodes_max(400)).is_err());
    assert!(read(Limits::message().with_depth_max(3)).is_err());
    assert!(read(Limits::message().with_depth_max(4)).is_ok());
}

#[test]
fn what_one_schema_recognised_is_checked_by_another() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}});
    let (any, small) =
        (compiled(&json!({"type": "object", "properties": {"n": {"type": "integer"}}})), compiled(&schema));
    let source = OwnedDocument::parse(schema.to_string(), &Limits::definition()).unwrap();
    let document = |content: &str| {
        OwnedDocument::parse_expecting(message(content, false), &Limits::message(), any.expect(&PATH))
            .unwrap()
    };
    for (content, kept) in [(r#"{"n":5}"#, true), (r#"{"n":6}"#, false)] {
        let document = document(content);
        let content = document.root().get("result").and_then(|it| it.get("structuredContent")).unwrap();
        assert!(any.accepts(content));
        assert_eq!(small.accepts(content), kept);
        let violations = small.check(source.root(), content).err().map(|it| it.to_string());
        assert_eq!(violations.is_some_and(|it| it.contains("/n")), !kept);
    }
}

proptest! {
    #[test]
    fn digits_end_where_a_look_at_every_byte_says(text in "[0-9]{0,40}([^0-9].{0,12})?", from in 0usize..12) {
        let bytes = text.as_bytes();
        let from = from.min(bytes.len());
        let digits = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        prop_assert_eq!(digits_end(bytes, from), from + digits);
    }
}

#[test]
fn integers_are_recognised_by_their_bounds_however_many_digits_they_have() {
    let natural = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}});
    let small =
        json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": -5, "maximum": 5}}});
    let any = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let is = |schema: &Value, number: &str| recognises(schema, &format!("{{\"n\":{number}}}"));
    for number in ["0", "7", "12345678", "123456789", "999999999999999999", "9223372036854775807"] {
        assert!(is(&natural, number) && is(&any, number), "{number}");
    }
    for number in ["-1", "-12345678", "-999999999999999999"] {
        assert!(!is(&natural, number) && is(&any, number), "{number}");
    }
    for number in ["-5", "0", "5"] {
        assert!(is(&small, number), "{number}");
    }
    for number in ["-6", "6", "12345678", "999999999999999999"] {
        assert!(!is(&small, number), "{number}");
    }
    for number in ["00", "01", "-", "-01", "1x", "+1", "1.", ".5", "1e", "0123456789"] {
        assert!(!is(&any, number), "{number}");
    }
}
