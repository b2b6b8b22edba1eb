//! Strategies for random schemas as text, over the keywords of a dialect.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::Union;
use toolcrib_contract::Dialect;

use super::instance::{WORDS, number, small, string};

type Text = BoxedStrategy<String>;
type Keyword = BoxedStrategy<(&'static str, String)>;

const TYPES: &[&str] = &["null", "boolean", "integer", "number", "string", "array", "object"];
const PATTERNS: &[&str] =
    &["^a", "b$", "^$", "[0-9]+", "^\\d+$", ".", "^.$", "é", "\\n", "^[^a-c]*$", "a|😀"];

/// A whole schema with definitions that its parts can refer to, one of them recursive.
pub(super) fn root(dialect: Dialect) -> Text {
    let defs = if dialect == Dialect::Draft7 { "definitions" } else { "$defs" };
    let part = schema(dialect, defs);
    (part.clone(), schema(dialect, ""), part)
        .prop_map(move |(root, plain, tree)| {
            let recursive = format!(
                r##"{{"anyOf":[{tree},{{"type":"array"}}],"properties":{{"a":{{"$ref":"#/{defs}/tree"}}}},"items":{{"$ref":"#/{defs}/tree"}}}}"##
            );
            format!(r#"{{"{defs}":{{"plain":{plain},"tree":{recursive}}},"allOf":[{root}]}}"#)
        })
        .boxed()
}

/// A subschema that can refer to the definitions under `defs`, unless `defs` is empty.
fn schema(dialect: Dialect, defs: &'static str) -> Text {
    let leaf = object_of(keywords_of_scalars());
    let leaf = match defs {
        "" => leaf,
        defs => prop_oneof![
            8 => leaf,
            1 => Just(format!(r##"{{"$ref":"#/{defs}/plain"}}"##)),
            1 => prop::sample::select(&["properties", "patternProperties"][..])
                .prop_map(move |by| format!(r##"{{"{by}":{{"a":{{"$ref":"#/{defs}/tree"}}}}}}"##)),
        ]
        .boxed(),
    };
    let leaf = prop_oneof![1 => Just("true".to_owned()), 1 => Just("false".to_owned()), 10 => leaf];
    leaf.prop_recursive(3, 16, 3, move |inner| {
        let mut keywords = keywords_of_scalars();
        keywords.extend(keywords_of_containers(dialect, &inner.boxed()));
        object_of(keywords)
    })
    .boxed()
}

fn object_of(keywords: Vec<(u32, Keyword)>) -> Text {
    prop::collection::vec(Union::new_weighted(keywords), 1..4)
        .prop_map(|keywords| {
            let members: BTreeMap<&str, String> = keywords.into_iter().collect();
            let members: Vec<String> =
                members.into_iter().map(|(keyword, value)| format!("\"{keyword}\":{value}")).collect();
            format!("{{{}}}", members.join(","))
        })
        .boxed()
}

fn keyword(name: &'static str, value: impl Strategy<Value = String> + 'static) -> Keyword {
    value.prop_map(move |value| (name, value)).boxed()
}

fn small_count() -> impl Strategy<Value = String> {
    (0u8..4).prop_map(|n| n.to_string())
}

fn list(inner: Text, least: usize, most: usize) -> Text {
    prop::collection::vec(inner, least..most).prop_map(|items| format!("[{}]", items.join(","))).boxed()
}

/// An object with words as keys and values from `inner`.
fn by_word(inner: Text) -> Text {
    by(WORDS, inner)
}

fn by(keys: &'static [&'static str], inner: Text) -> Text {
    prop::collection::btree_map(prop::sample::select(keys), inner, 0..3)
        .prop_map(|map| {
            let members: Vec<String> =
                map.into_iter().map(|(key, value)| format!("{}:{value}", serde_json::json!(key))).collect();
            format!("{{{}}}", members.join(","))
        })
        .boxed()
}

/// One to three different values; some meta-schemas require the values of `enum` to differ.
fn distinct() -> Text {
    (number(), string(), small(), 1..8u8)
        .prop_map(|(number, string, other, which)| {
            let mut values = Vec::new();
            if which & 1 != 0 {
                values.push(number);
            }
            if which & 2 != 0 {
                values.push(string);
            }
            if values.is_empty() || (which & 4 != 0 && other.starts_with(['[', '{', 'n', 't', 'f'])) {
                values.push(other);
            }
            format!("[{}]", values.join(","))
        })
        .boxed()
}

/// Distinct words as an array of strings.
fn words() -> Text {
    prop::collection::btree_set(prop::sample::select(WORDS), 0..3)
        .prop_map(|words| serde_json::json!(words).to_string())
        .boxed()
}

fn keywords_of_scalars() -> Vec<(u32, Keyword)> {
    let types = prop_oneof![
        prop::sample::select(TYPES).prop_map(|name| format!("\"{name}\"")),
        prop::sample::subsequence(TYPES, 1..5).prop_map(|names| serde_json::json!(names).to_string()),
    ];
    let steps = prop::sample::select(&["1", "2", "0.5", "0.1", "1e-1", "1.5", "0.01", "100"][..]);
    vec![
        (4, keyword("type", types)),
        (2, keyword("const", small())),
        (2, keyword("enum", distinct())),
        (1, keyword("minimum", number())),
        (1, keyword("maximum", number())),
        (1, keyword("exclusiveMinimum", number())),
        (1, keyword("exclusiveMaximum", number())),
        (1, keyword("multipleOf", steps.prop_map(str::to_owned))),
        (1, keyword("minLength", small_count())),
        (1, keyword("maxLength", small_count())),
        (
            1,
            keyword("pattern", prop::sample::select(PATTERNS).prop_map(|p| serde_json::json!(p).to_string())),
        ),
        (1, keyword("minItems", small_count())),
        (1, keyword("maxItems", small_count())),
        (2, keyword("uniqueItems", Just("true".to_owned()))),
        (1, keyword("minProperties", small_count())),
        (1, keyword("maxProperties", small_count())),
        (2, keyword("required", words())),
        (1, keyword("title", string())),
    ]
}

fn keywords_of_containers(dialect: Dialect, inner: &Text) -> Vec<(u32, Keyword)> {
    let inner = || inner.clone();
    let mut keywords = vec![
        (2, keyword("allOf", list(inner(), 1, 3))),
        (2, keyword("anyOf", list(inner(), 1, 3))),
        (2, keyword("oneOf", list(inner(), 1, 3))),
        (1, keyword("not", inner())),
        (1, keyword("if", inner())),
        (1, keyword("then", inner())),
        (1, keyword("else", inner())),
        (3, keyword("properties", by_word(inner()))),
        (2, keyword("patternProperties", by(PATTERNS, inner()))),
        (2, keyword("additionalProperties", inner())),
        (2, keyword("propertyNames", inner())),
        (3, keyword("items", inner())),
        (2, keyword("contains", inner())),
    ];
    if dialect == Dialect::Draft7 {
        keywords.extend([
            (2, keyword("items", list(inner(), 1, 3))),
            (2, keyword("additionalItems", inner())),
            (2, keyword("dependencies", by_word(prop_oneof![inner(), words()].boxed()))),
        ]);
    } else {
        keywords.extend([
            (2, keyword("prefixItems", list(inner(), 1, 3))),
            (1, keyword("minContains", small_count())),
            (1, keyword("maxContains", small_count())),
            (1, keyword("dependentRequired", by_word(words()))),
            (1, keyword("dependentSchemas", by_word(inner()))),
            (2, keyword("unevaluatedProperties", inner())),
            (2, keyword("unevaluatedItems", inner())),
        ]);
    }
    keywords
}
