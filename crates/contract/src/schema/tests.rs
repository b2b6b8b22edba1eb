use serde_json::json;

use super::*;
use crate::json::{Document, Limits, OwnedDocument};

fn compile(schema: &Value) -> Result<Schema, SchemaError> {
    compile_with(schema, &SchemaOptions::default())
}

fn compile_with(schema: &Value, options: &SchemaOptions) -> Result<Schema, SchemaError> {
    let document = OwnedDocument::parse(schema.to_string(), &Limits::definition()).unwrap();
    Schema::compile(document.root(), options)
}

fn accepts(schema: &Schema, value: &Value) -> bool {
    let text = value.to_string();
    schema.accepts(Document::parse(text.as_bytes(), &Limits::message()).unwrap().root())
}

/// R1.5: the dialect is the one that `$schema` names, or 2020-12 without `$schema`.
#[test]
fn dialect_decides_what_a_keyword_means() {
    let tuple = |uri: Option<&str>| {
        let mut schema = json!({"items": [{"type": "string"}]});
        if let Some(uri) = uri {
            schema["$schema"] = uri.into();
        }
        compile(&schema)
    };
    let draft7 = tuple(Some("http://json-schema.org/draft-07/schema")).unwrap();
    assert_eq!(draft7.admission().dialect, Dialect::Draft7);
    assert!(accepts(&draft7, &json!(["a", 1])) && !accepts(&draft7, &json!([1])));
    assert!(
        matches!(tuple(None), Err(SchemaError::Invalid { .. })),
        "an array of items is no 2020-12 schema"
    );
    let draft4 = compile(&json!({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true})).unwrap();
    assert!(!accepts(&draft4, &json!(1)));
    let newer = compile(
        &json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "#/$defs/s", "$defs": {"s": {}}}),
    );
    assert!(newer.is_ok());
}

/// R1.5: nothing outside the schema is ever read.
#[test]
fn remote_and_file_references_are_refused() {
    for reference in
        ["http://127.0.0.1:1/x", "https://example.com/s.json", "file:///etc/passwd", "other.json", "../x#/y"]
    {
        let error = compile(&json!({"$ref": reference})).unwrap_err();
        assert!(matches!(error, SchemaError::UnresolvableRef { .. }), "{reference}: {error}");
        assert_eq!(error.pointer().as_str(), "/$ref");
    }
}

/// R1.5: local references, anchors, embedded resources and dynamic references resolve.
#[test]
fn local_references_resolve() {
    for (schema, good, bad) in [
        (json!({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"type": "string"}}}), json!("x"), json!(1)),
        (
            json!({"$ref": "#here", "$defs": {"a": {"$anchor": "here", "type": "string"}}}),
            json!("x"),
            json!(1),
        ),
        (
            json!({"$id": "https://e.example/root", "$ref": "item", "$defs": {"i": {"$id": "item", "type": "string"}}}),
            json!("x"),
            json!(1),
        ),
        (
            json!({"$dynamicRef": "#node", "$defs": {"n": {"$dynamicAnchor": "node", "type": "string"}}}),
            json!("x"),
            json!(1),
        ),
        (
            json!({"properties": {"kids": {"items": {"$ref": "#"}}, "v": {"type": "string"}}}),
            json!({"kids": [{"v": "x"}]}),
            json!({"kids": [{"v": 1}]}),
        ),
        (json!({"$ref": "#/x-mine/deep", "x-mine": {"deep": {"type": "string"}}}), json!("x"), json!(1)),
    ] {
        let compiled = compile(&schema).unwrap_or_else(|e| panic!("{schema}: {e}"));
        assert!(accepts(&compiled, &good), "{schema} refuses {good}");
        assert!(!accepts(&compiled, &bad), "{schema} accepts {bad}");
    }
}

/// R1.5: `format` is an annotation by default in every dialect, an assertion by option.
#[test]
fn format_is_asserted_only_on_request() {
    for dialect in Dialect::ALL {
        let schema = json!({"$schema": dialect.uri(), "format": "date"});
        assert!(accepts(&compile(&schema).unwrap(), &json!("no date")), "{dialect:?}");
        let strict = compile_with(&schema, &SchemaOptions::default().asserting_formats(true)).unwrap();
        assert!(!accepts(&strict, &json!("no date")), "{dialect:?}");
    }
}

/// R1.6: each limit refuses by its own name and place.
#[test]
fn limits_refuse_by_name_and_place() {
    use crate::limits::*;
    let nested = (0..=SCHEMA_DEPTH_MAX).fold(json!({}), |inner, _| json!({"not": inner}));
    let wide = json!({"anyOf": vec![json!({}); SCHEMA_SUBSCHEMAS_MAX + 1]});
    let long = json!({"properties": {"a": {"pattern": "a".repeat(SCHEMA_PATTERN_BYTES_MAX + 1)}}});
    let many: serde_json::Map<_, _> =
        (0..=SCHEMA_PATTERNS_MAX).map(|i| (format!("p{i}"), json!({"pattern": "^a$"}))).collect();
    let fat = json!({"description": "x".repeat(SCHEMA_BYTES_MAX)});
    let greedy = json!({"properties": {"a": {"pattern": "(?:[a-z]{999}){999}"}}});
    let pattern = "/properties/a/pattern".to_owned();
    for (schema, name, max, place) in [
        (nested, "SCHEMA_DEPTH_MAX", SCHEMA_DEPTH_MAX, "/not".repeat(65)),
        (wide, "SCHEMA_SUBSCHEMAS_MAX", SCHEMA_SUBSCHEMAS_MAX, "/anyOf/4999".to_owned()),
        (long, "SCHEMA_PATTERN_BYTES_MAX", SCHEMA_PATTERN_BYTES_MAX, pattern.clone()),
        (
            json!({"properties": many}),
            "SCHEMA_PATTERNS_MAX",
            SCHEMA_PATTERNS_MAX,
            "/properties/p256/pattern".to_owned(),
        ),
        (fat, "SCHEMA_BYTES_MAX", SCHEMA_BYTES_MAX, String::new()),
        (greedy, "SCHEMA_PATTERN_COMPILED_BYTES_MAX", SCHEMA_PATTERN_COMPILED_BYTES_MAX, pattern),
    ] {
        match compile(&schema).unwrap_err() {
            SchemaError::Limit { limit, pointer, .. } => {
                assert_eq!((limit.name(), limit.max()), (name, max));
                assert_eq!(pointer.as_str(), place);
            }
            other => panic!("{name}: {other}"),
        }
    }
}

/// R1.6: `SCHEMA_PATTERNS_COMPILED_BYTES_MAX`: patterns that are each within their limit are refused together, at the
/// first that does not fit, before any is compiled.
#[test]
fn patterns_over_schema_patterns_compiled_bytes_max_are_refused_together() {
    let pattern = |i: usize| format!(r"^(\p{{L}}{{2}}|\p{{Lu}}{{3}}\p{{N}}{{2}}|p{i})$");
    let of = |count: usize| {
        let properties: serde_json::Map<_, _> =
            (0..count).map(|i| (format!("p{i}"), json!({"pattern": pattern(i)}))).collect();
        json!({"properties": properties})
    };
    let alone = compile(&of(1)).unwrap().weight();
    assert!(alone.patterns <= limits::SCHEMA_PATTERNS_COMPILED_BYTES_MAX, "{alone:?}");
    match compile(&of(250)).unwrap_err() {
        SchemaError::Limit { limit, pointer, found } => {
            assert_eq!(limit.name(), "SCHEMA_PATTERNS_COMPILED_BYTES_MAX");
            assert!(found > limit.max() && found <= limit.max() + 2 * alone.patterns, "{found}");
            assert!(pointer.as_str().starts_with("/properties/p"), "{pointer}");
        }
        other => panic!("{other}"),
    }
    let common: serde_json::Map<_, _> = (0..50)
        .map(|i| (format!("p{i}"), json!({"pattern": format!("^[a-z]+(-[a-z0-9]+)*-{i}$")})))
        .collect();
    compile(&json!({"properties": common})).expect("patterns that are commonly used");
}

/// R1.6: an equal pattern is compiled once, so it counts once.
#[test]
fn an_equal_pattern_counts_once() {
    let one = json!({"pattern": "^[a-z]+-[0-9]+$"});
    let weight = |count: usize| {
        let properties: serde_json::Map<_, _> = (0..count).map(|i| (format!("p{i}"), one.clone())).collect();
        compile(&json!({"properties": properties})).unwrap().weight().patterns
    };
    assert_eq!(weight(1), weight(4));
}

/// R1.6: patterns that cannot run in linear time are refused, with place and reason.
#[test]
fn patterns_outside_the_linear_class_are_refused() {
    let refuse =
        |pattern: &str| compile(&json!({"properties": {"a": {"pattern": pattern}}})).unwrap_err().to_string();
    assert_eq!(
        refuse("^(?=a)"),
        "/properties/a/pattern: the pattern \"^(?=a)\" looks around, which cannot run in linear time"
    );
    assert_eq!(
        refuse(r"(a)\1"),
        "/properties/a/pattern: the pattern \"(a)\\\\1\" refers back to a group, which cannot run in linear time"
    );
    assert_eq!(refuse("("), "/properties/a/pattern: the pattern \"(\" is no regular expression");
    assert!(compile(&json!({"patternProperties": {"(?!x)": {}}})).is_err());
}

/// R1.6: a reference bomb behind members or behind a recursion is refused too; a wide but harmless schema is admitted.
#[test]
fn expansion_counts_what_one_value_can_meet() {
    let chain = |body: &dyn Fn(Value) -> Value| {
        let defs: serde_json::Map<_, _> = (0..26)
            .map(|i| (format!("d{i}"), body(json!({"$ref": format!("#/$defs/d{}", i + 1)}))))
            .chain([("d26".to_owned(), json!({}))])
            .collect();
        json!({"$ref": "#/$defs/d0", "$defs": defs})
    };
    let same_member =
        chain(&|next| json!({"allOf": [{"properties": {"a": next.clone()}}, {"properties": {"a": next}}]}));
    let pattern_and_member =
        chain(&|next| json!({"properties": {"a": next.clone()}, "patternProperties": {"^a": next}}));
    for schema in [same_member, pattern_and_member] {
        assert!(matches!(compile(&schema), Err(SchemaError::Limit { limit: SchemaLimit::Expansion, .. })));
    }
    let siblings = chain(&|next| json!({"properties": {"left": next.clone(), "right": next}}));
    let admitted = compile(&siblings).unwrap().admission();
    assert!(admitted.expansion < 100, "{admitted:?}");
}

/// R1.6: a multiplying recursion is admitted, because the check memoizes results, and a deep failure stays cheap.
#[test]
fn multiplying_recursion_is_checked_and_explained_in_bounded_time() {
    let schema = json!({"$ref": "#/$defs/e", "$defs": {"e": {"oneOf": [
        {"type": "object", "required": ["and"], "properties": {"and": {"$ref": "#/$defs/e"}}, "additionalProperties": false},
        {"type": "object", "required": ["or"], "properties": {"and": {"$ref": "#/$defs/e"}, "or": {"$ref": "#/$defs/e"}}, "additionalProperties": false},
        {"type": "string"}
    ]}}});
    let compiled = compile(&schema).unwrap();
    let nest = |leaf: Value| (0..60).fold(leaf, |inner, _| json!({"and": inner}));
    assert!(accepts(&compiled, &nest(json!("x"))));
    let text = nest(json!(1)).to_string();
    let bad = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
    let source = OwnedDocument::parse(schema.to_string(), &Limits::definition()).unwrap();
    let violations = compiled.check(source.root(), bad.root()).unwrap_err();
    assert!(violations.one_line().contains("one of 3 alternatives to match, none does"), "{violations}");
}

/// R1.5: a reference out of the schema is refused at its place even if its dialect ignores it.
#[test]
fn hidden_references_are_refused_at_their_place() {
    let schema = json!({"$schema": Dialect::Draft7.uri(), "definitions": {"s": {}},
        "properties": {"a": {"$ref": "#/definitions/s", "not": {"$ref": "https://example.com/x#y"}}}});
    let error = compile(&schema).unwrap_err();
    assert!(matches!(error, SchemaError::UnresolvableRef { .. }), "{error}");
    assert_eq!(error.pointer().as_str(), "/properties/a/not/$ref");
}

/// R1.5: two parts of a schema with one identifier are refused, because references to them would be ambiguous.
#[test]
fn identifiers_that_are_taken_are_refused_at_their_place() {
    let schema = json!({"$ref": "r#x", "$defs": {
        "a": {"$id": "r", "$anchor": "x"},
        "b": {"$id": "./r", "$anchor": "y"}}});
    let error = compile(&schema).unwrap_err();
    assert!(matches!(error, SchemaError::Invalid { .. }), "{error}");
    assert_eq!(error.pointer().as_str(), "/$defs/b/$id");
}

/// R1.5: an identifier that is not a URI is reported as such, and not as an unresolvable reference.
#[test]
fn identifiers_that_are_no_uri_are_refused_at_their_place() {
    for (schema, place) in [
        (
            json!({"$id": "https://e.e}}x/r", "$ref": "b#y", "$defs": {"b": {"$id": "b", "$anchor": "y"}}}),
            "/$id",
        ),
        (json!({"$id": "https://e.e}}x/r"}), "/$id"),
        (json!({"properties": {"a": {"$id": "a b"}}}), "/properties/a/$id"),
    ] {
        let error = compile(&schema).unwrap_err();
        assert!(matches!(error, SchemaError::Invalid { .. }), "{error}");
        assert_eq!(error.pointer().as_str(), place);
    }
}

#[test]
fn references_that_never_move_are_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#"}]}}}),
    ] {
        assert!(matches!(compile(&schema), Err(SchemaError::ReferenceLoop { .. })), "{schema}");
    }
}

#[test]
fn keywords_beside_a_reference_count_by_dialect() {
    let schema = |uri: &str| json!({"$schema": uri, "$ref": "#/definitions/s", "maxLength": 1, "definitions": {"s": {"type": "string"}}});
    assert!(accepts(&compile(&schema(Dialect::Draft7.uri())).unwrap(), &json!("long")));
    assert!(!accepts(&compile(&schema(Dialect::Draft202012.uri())).unwrap(), &json!("long")));
}

#[test]
fn what_is_no_schema_is_told_with_its_place() {
    let error = compile(&json!({"properties": {"a": 7}})).unwrap_err();
    assert_eq!(error.to_string(), "/properties/a: a schema is an object or a boolean, this is number");
    assert_eq!(
        compile(&json!([])).unwrap_err().to_string(),
        "(root): a schema is an object or a boolean, this is array"
    );
}

/// `CHECK_PATTERN_PAIRS_MAX`: a pattern of a thousand states against texts of any length.
#[test]
fn patterns_of_many_states_end_within_the_budget_of_a_check() {
    let schema = compile(&json!({"items": {"pattern": "^(a|b)*a(a|b){900}$"}})).unwrap();
    assert!(schema.admission().pattern_states > 900, "{:?}", schema.admission());
    let judged = |value: &Value| {
        let text = value.to_string();
        let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
        let begun = std::time::Instant::now();
        let verdict = schema.judge(document.root(), Effort::Full);
        (verdict, begun.elapsed())
    };
    let verdict = |text: &str| judged(&json!([text])).0;
    // Matching is charged by its CPU time, so a text that needs many states may exceed the budget of a debug build.
    assert!(matches!(verdict(&"a".repeat(901)), Ok(true) | Err(Exhausted::Steps)));
    assert_eq!(verdict(&"b".repeat(100)), Ok(false));
    assert_eq!(verdict(&"a".repeat(1_000_000)), Err(Exhausted::Pattern));
    let longest =
        "a".repeat(limits::CHECK_PATTERN_PAIRS_MAX as usize / schema.admission().pattern_states - 2);
    let (one, took_one) = judged(&json!([longest]));
    let (many, took_many) = judged(&json!(vec!["a".repeat(1_000); 500]));
    assert!(matches!(one, Ok(true) | Err(Exhausted::Steps)), "{one:?}");
    assert_eq!(many, Err(Exhausted::Steps));
    println!("one text: {took_one:?}, many: {took_many:?}");
    // A release build takes 50 ms. A debug build on a busy machine takes longer, but far less than without the bound.
    assert!(took_one.as_secs() < 10 && took_many.as_secs() < 10, "{took_one:?} {took_many:?}");
    let brief = OwnedDocument::parse(json!([longest]).to_string(), &Limits::message()).unwrap();
    assert_eq!(schema.judge(brief.root(), Effort::Brief), Err(Exhausted::Steps));
}

/// Once the budget is used up, no text is matched any more.
#[test]
fn an_exhausted_budget_hands_out_no_more_text() {
    let patterns: Vec<Value> =
        (0..200).map(|at| json!({"pattern": format!("[a-m]{{{}}}z$", at % 9 + 1)})).collect();
    let schema = compile(&json!({"anyOf": patterns})).unwrap();
    let text = json!("a".repeat(4_000_000)).to_string();
    let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
    let budget = Budget::plain(1_000);
    let begun = std::time::Instant::now();
    assert_eq!(meter::within(budget, || schema.validator.is_valid(document.root())), Err(Exhausted::Steps));
    assert!(begun.elapsed().as_millis() < 500, "{:?}", begun.elapsed());
}

/// `CHECK_STEPS_MAX`: many patterns against the names of many members.
#[test]
fn names_that_are_matched_against_many_patterns_end_within_the_budget() {
    let patterns: serde_json::Map<String, Value> =
        (0..256).map(|number| (format!("^[a-z]+_{number}_[0-9]+$"), json!({"type": "string"}))).collect();
    let schema =
        compile(&json!({"patternProperties": patterns, "additionalProperties": {"type": "integer"}}))
            .unwrap();
    assert_eq!(schema.admission().name_patterns, 256);
    let members = |count: usize| {
        let members: Vec<String> = (0..count).map(|number| format!("\"k{number}\":1")).collect();
        OwnedDocument::parse(format!("{{{}}}", members.join(",")), &Limits::message()).unwrap()
    };
    assert_eq!(schema.judge(members(100).root(), Effort::Full), Ok(true));
    let begun = std::time::Instant::now();
    assert_eq!(schema.judge(members(80_000).root(), Effort::Full), Err(Exhausted::Steps));
    // A release build takes 20 ms; without the bound a debug build takes half a minute.
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}
