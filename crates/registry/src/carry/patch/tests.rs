use proptest::prelude::*;
use serde_json::Value as Json;
use toolcrib_contract::json::{Document, Limits};

use super::*;

fn with<T>(text: &str, then: impl FnOnce(Node<'_>) -> T) -> T {
    then(Document::parse(text.as_bytes(), &Limits::file()).unwrap().root())
}

/// Applies the patch from `a` to `b` to `on`.
fn through(a: &str, b: &str, on: &str) -> (String, Vec<Pointer>) {
    let patch = with(a, |from| with(b, |to| diff(from, to)));
    let mut left = Vec::new();
    let made = match patch {
        Some(patch) => with(on, |on| with(&patch, |patch| apply(on, patch, &mut left))),
        None => on.to_owned(),
    };
    (made, left)
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(Json::from),
        "[a-c\\\\\"é]{0,3}".prop_map(Json::String),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::Array),
            prop::collection::vec(("[a-d]", inner), 0..5).prop_map(|m| Json::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    /// R6.3: a patch from any value to any other produces exactly that other value, key order included.
    #[test]
    fn a_patch_makes_the_other_value(a in json(), b in json()) {
        let (a, b) = (a.to_string(), b.to_string());
        let (made, left) = through(&a, &b, &a);
        prop_assert_eq!(made, b);
        prop_assert!(left.is_empty());
    }

    /// R6.3: applied to an edited document, a patch never fails and never changes an edited scalar.
    #[test]
    fn an_edit_is_never_overruled(a in json(), b in json(), edited in json()) {
        let edited = serde_json::json!({"k": edited, "edit": "mine"}).to_string();
        let a = serde_json::json!({"k": a, "edit": "was"}).to_string();
        let b = serde_json::json!({"k": b, "edit": "other"}).to_string();
        let (made, left) = through(&a, &b, &edited);
        let made: Json = serde_json::from_str(&made).unwrap();
        prop_assert_eq!(&made["edit"], "mine");
        prop_assert!(left.iter().any(|place| place.as_str() == "/edit"));
    }
}

#[test]
fn numbers_and_strings_keep_their_spelling() {
    let (a, b) = (r#"{"x":{"a":1}}"#, r#"{"x":{"a":1.00,"b":9007199254740993,"c":"\u00e9"}}"#);
    assert_eq!(through(a, b, a).0, b);
}

#[test]
fn an_array_that_was_edited_is_left_alone() {
    let (a, b) = (r#"{"env":[{"n":1},{"n":2}]}"#, r#"{"env":[{"n":1,"choices":["x"]},{"n":2}]}"#);
    let (made, left) = through(a, b, r#"{"env":[{"n":0},{"n":1},{"n":2}]}"#);
    assert_eq!(made, r#"{"env":[{"n":0},{"n":1},{"n":2}]}"#);
    assert_eq!(left, [Pointer::root().join("env")]);
}

#[test]
fn a_small_change_is_a_small_patch() {
    let long = "x".repeat(1_000);
    let a = format!(r#"{{"long":"{long}","deep":{{"a":1,"b":2}}}}"#);
    let b = format!(r#"{{"long":"{long}","deep":{{"a":1,"b":3}}}}"#);
    let patch = with(&a, |from| with(&b, |to| diff(from, to))).unwrap();
    assert!(patch.len() < 80, "{patch}");
}
