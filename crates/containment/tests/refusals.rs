//! Bad input is refused by name and in bounded time, and nothing is fetched.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use toolcrib_containment::limits::{
    BATCH_LINE_BYTES_MAX, PROVER_CASES_MAX, PROVER_EXPANSION_MAX, PROVER_FORMULAS_MAX, PROVER_IN_PLACE_MAX,
    PROVER_PAIR_MS_MAX, PROVER_SCHEMA_CONTAINERS_MAX, PROVER_SCHEMA_DEPTH_MAX, PROVER_STEPS_MAX,
    PROVER_VALUE_DEPTH_MAX,
};
use toolcrib_containment::{
    Dialect, Limits, Obstacle, Options, Proof, Prover, SchemaFault, Side, Verdict, batch,
};

fn judge(producer: &Value, consumer: &Value) -> Result<Verdict, toolcrib_containment::SchemaError> {
    let dialects = (Dialect::default(), Dialect::default());
    Prover::new(Options::default()).judge(producer, consumer, dialects).map(|judgement| judgement.verdict)
}

/// R1.5: a reference that leads out of the document is refused by name and not fetched.
#[test]
fn remote_references_are_refused_and_not_fetched() {
    for uri in ["http://169.254.169.254/latest", "file:///etc/passwd", "https://schemas.test/x.json"] {
        let error = judge(&json!({"$ref": uri}), &json!({})).unwrap_err();
        assert_eq!(error.side, Side::Producer);
        assert!(matches!(error.fault, SchemaFault::RemoteReference { .. }), "{error}");
    }
}

/// R1.5: unknown dialects, non-schemas, dangling references and malformed patterns have their own errors.
#[test]
fn unusable_schemas_are_named() {
    let fault = |schema: Value| judge(&json!({}), &schema).unwrap_err().fault;
    assert!(matches!(
        fault(json!({"$schema": "https://schemas.test/mine"})),
        SchemaFault::UnknownDialect { .. }
    ));
    assert!(matches!(fault(json!({"type": "strin"})), SchemaFault::NotASchema { .. }));
    assert!(matches!(fault(json!(12)), SchemaFault::NotASchema { .. }));
    assert!(matches!(fault(json!({"$ref": "#/$defs/none"})), SchemaFault::UnresolvedReference { .. }));
    assert!(matches!(
        fault(json!({"pattern": "("})),
        SchemaFault::NotASchema { .. } | SchemaFault::InvalidPattern { .. }
    ));
}

/// R1.6: a chain of `allOf` in which each schema applies the next twice would cost a plain validator seconds, so no
/// validator is run.
#[test]
fn a_schema_bomb_is_bounded() {
    let mut defs = Map::new();
    for at in 0..26 {
        let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        defs.insert(format!("d{at}"), json!({"allOf": [next, next]}));
    }
    defs.insert("d26".to_owned(), json!({"type": "string"}));
    let bomb = json!({"$ref": "#/$defs/d0", "$defs": defs});
    let start = Instant::now();
    let verdict = judge(&json!({}), &bomb).unwrap();
    let limit = PROVER_IN_PLACE_MAX;
    assert!(
        matches!(verdict, Verdict::Unknown(Obstacle::Limit { limit: own, .. }) if own == limit),
        "{verdict:?}"
    );
    // The chain is equivalent to `string`, which is proved without running a validator.
    assert!(matches!(judge(&json!({"type": "string"}), &bomb).unwrap(), Verdict::Compatible(_)));
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
}

/// R1.6: depth and size of a schema have named limits.
#[test]
fn deep_and_large_schemas_are_unknown_by_the_name_of_the_limit() {
    let mut deep = json!({"type": "string"});
    for _ in 0..PROVER_SCHEMA_DEPTH_MAX * 30 {
        deep = json!({"items": deep});
    }
    let verdict = judge(&json!({}), &deep).unwrap();
    assert!(matches!(verdict, Verdict::Unknown(Obstacle::Limit { what: "schema depth", .. })), "{verdict:?}");
    let wide: Vec<Value> = (0..=PROVER_SCHEMA_CONTAINERS_MAX).map(|at| json!({"minimum": at})).collect();
    let verdict = judge(&json!({}), &json!({"anyOf": wide})).unwrap();
    assert!(matches!(verdict, Verdict::Unknown(Obstacle::Limit { what: "schema size", .. })), "{verdict:?}");
    // Dropping so deep a value recurses in `serde_json`.
    std::thread::Builder::new().stack_size(64 << 20).spawn(move || drop(deep)).unwrap().join().unwrap();
}

/// R7.3: a search that does not finish in time is unknown, and ends near its deadline.
#[test]
fn the_timeout_yields_unknown_and_no_hang() {
    let branch = |seed: usize| {
        let fields: Map<String, Value> = (0..12)
            .map(|at| {
                (
                    format!("p{}", (at * 7 + seed) % 40),
                    json!({"oneOf": [{"minimum": at}, {"maxLength": seed}]}),
                )
            })
            .collect();
        json!({"properties": fields, "dependentRequired": {format!("p{seed}"): [format!("p{}", seed + 1)]}})
    };
    let old = json!({"oneOf": (0..14).map(branch).collect::<Vec<_>>(), "unevaluatedProperties": {"type": "object"}});
    let new = json!({"oneOf": (1..16).map(branch).collect::<Vec<_>>()});
    let prover = Prover::new(Options { timeout: Duration::from_millis(50), ..Options::default() });
    let start = Instant::now();
    let judgement = prover.judge(&old, &new, (Dialect::default(), Dialect::default())).unwrap();
    assert!(start.elapsed() < Duration::from_millis(1_500), "{:?} {judgement:?}", start.elapsed());
}

/// R7.1: batch answers keep the order of the lines; a bad line is named and the others are still answered.
#[test]
fn bad_batch_lines_are_named_and_the_others_answered() {
    let input = concat!(
        "{\"id\":1,\"old\":{\"type\":\"string\"},\"new\":{},\"direction\":\"input\"}\n",
        "nonsense\n",
        "{\"id\":\"x\",\"old\":{},\"new\":{\"type\":\"string\"},\"direction\":\"output\"}\n",
        "{\"id\":3,\"old\":{},\"new\":{\"type\":\"string\"},\"direction\":\"input\",\"dialect\":\"draft7\"}\n",
        "{\"id\":4,\"old\":{},\"new\":{},\"direction\":\"input\",\"dialect\":\"draft99\"}\n",
        "{\"id\":5,\"old\":{\"$ref\":\"http://x.test/y\"},\"new\":{},\"direction\":\"input\"}\n",
    );
    let mut output = Vec::new();
    let faults = batch::run(input.as_bytes(), &mut output, &Prover::default()).unwrap();
    let lines: Vec<Value> =
        String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verdicts: Vec<&str> = lines.iter().map(|line| line["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["compatible", "unknown", "compatible", "breaking", "unknown", "unknown"]);
    assert_eq!(lines[3]["witness"], json!(null));
    assert_eq!(lines[3]["id"], json!(3));
    assert!(lines.iter().all(|line| line["micros"].is_u64()));
    assert_eq!(faults.iter().map(|fault| fault.line).collect::<Vec<_>>(), [2, 5, 6]);
    assert!(lines[5]["reason"].as_str().unwrap().contains("remote reference"));
}

/// R7.3: `unevaluated*` with more cases than `PROVER_CASES_MAX` is unknown.
#[test]
fn too_many_unevaluated_cases_are_unknown() {
    let branches = |count: usize| -> Vec<Value> {
        (0..count).map(|at| json!({"properties": {format!("p{at}"): {"type": "string"}}})).collect()
    };
    let schema = |count| json!({"anyOf": branches(count), "unevaluatedProperties": false});
    let within = PROVER_CASES_MAX.ilog2() as usize;
    let verdict = judge(&schema(within), &schema(within)).unwrap();
    assert!(matches!(verdict, Verdict::Compatible(_)), "{verdict:?}");
    let verdict = judge(&schema(within + 1), &schema(within + 1)).unwrap();
    assert!(matches!(verdict, Verdict::Unknown(Obstacle::Cases(_))), "{verdict:?}");
}

/// R7.1: a batch line over its limit is named and not parsed.
#[test]
fn a_batch_line_over_its_limit_is_refused() {
    let line = " ".repeat(BATCH_LINE_BYTES_MAX) + "{}\n";
    let mut output = Vec::new();
    let faults = batch::run(line.as_bytes(), &mut output, &Prover::default()).unwrap();
    assert!(matches!(faults[0].fault, batch::PairFault::TooLong));
}

/// R1.5: a subschema that declares another dialect is unknown, unless it is a resource of its own; as a resource it
/// is read in its own dialect, including the meaning of `1.0`.
#[test]
fn an_embedded_dialect_needs_a_resource_of_its_own() {
    let part = json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"});
    let verdict = judge(&json!({}), &json!({"items": part})).unwrap();
    assert!(matches!(verdict, Verdict::Unknown(Obstacle::EmbeddedDialect)), "{verdict:?}");
    let own = json!({"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://schema.test/own", "type": "integer"});
    let consumer = json!({"items": {"$ref": "http://schema.test/own"}, "$defs": {"own": own}});
    let verdict = judge(&json!({"items": {"type": "integer"}}), &consumer);
    assert!(!matches!(verdict, Ok(Verdict::Compatible(_))), "{verdict:?}");
}

/// R7.3: time, steps and formulas of a search have limits (`PROVER_PAIR_MS_MAX`, `PROVER_STEPS_MAX`,
/// `PROVER_FORMULAS_MAX`); a search that exceeds one is unknown.
#[test]
fn a_search_over_its_time_steps_or_formulas_is_unknown() {
    let defaults = Options::default();
    assert_eq!(defaults.timeout, Duration::from_millis(PROVER_PAIR_MS_MAX));
    assert_eq!(
        (defaults.limits.steps_max, defaults.limits.nodes_max),
        (PROVER_STEPS_MAX, PROVER_FORMULAS_MAX)
    );
    // Every property is a separate question: two adjacent ranges against their union.
    let object = |value: &dyn Fn(usize) -> Value| {
        let fields: Map<String, Value> = (0..40).map(|at| (format!("p{at}"), value(at))).collect();
        json!({"type": "object", "properties": fields})
    };
    let half = |from: usize| json!({"type": "number", "minimum": from, "maximum": from + 1});
    let old = object(&|at| json!({"anyOf": [half(at), half(at + 1)]}));
    let new = object(&|at| json!({"type": "number", "minimum": at, "maximum": at + 2}));
    let judge = |options: Options| {
        let dialects = (Dialect::default(), Dialect::default());
        Prover::new(options).judge(&old, &new, dialects).unwrap().verdict
    };
    assert!(matches!(judge(defaults), Verdict::Compatible(Proof::Exhausted)));
    let late = judge(Options { timeout: Duration::ZERO, ..defaults });
    assert!(matches!(late, Verdict::Unknown(Obstacle::Budget)), "{late:?}");
    // The canonical engine may still prove it in the remaining time.
    for limits in [Limits { steps_max: 2, ..defaults.limits }, Limits { nodes_max: 2, ..defaults.limits }] {
        let verdict = judge(Options { limits, ..defaults });
        assert!(
            matches!(verdict, Verdict::Compatible(Proof::Canonical) | Verdict::Unknown(Obstacle::Budget)),
            "{limits:?}: {verdict:?}"
        );
    }
}

/// R1.6: a resource that is entered in many dynamic scopes expands once in each; over `PROVER_EXPANSION_MAX` schema
/// objects the answer is unknown.
#[test]
fn a_document_over_prover_expansion_max_is_unknown() {
    let document = |side: usize| {
        let fields: Map<String, Value> =
            (0..side).map(|at| (format!("p{at}"), json!({"minimum": at}))).collect();
        let shared = json!({"$id": "https://schemas.test/shared", "properties": fields,
            "items": {"$dynamicRef": "#any"}, "$defs": {"any": {"$dynamicAnchor": "any"}}});
        let mut defs = Map::from_iter([("shared".to_owned(), shared)]);
        let scope = |at: usize| format!("https://schemas.test/scope{at}");
        for at in 0..side {
            let own = json!({"$id": scope(at), "$ref": "https://schemas.test/shared"});
            defs.insert(format!("scope{at}"), own);
        }
        let all: Vec<Value> = (0..side).map(|at| json!({"$ref": scope(at)})).collect();
        json!({"$id": "https://schemas.test/root", "allOf": all, "$defs": defs})
    };
    let side = PROVER_EXPANSION_MAX.isqrt();
    let is_over = |side: usize| {
        let verdict = judge(&json!({}), &document(side)).unwrap();
        matches!(verdict, Verdict::Unknown(Obstacle::Limit { what: "schema expansion", limit })
            if limit == PROVER_EXPANSION_MAX as u64)
    };
    assert!(!is_over(side * 9 / 10));
    assert!(is_over(side * 11 / 10));
}

/// R7.3: values nested deeper than `PROVER_VALUE_DEPTH_MAX` are not searched.
#[test]
fn values_nested_over_prover_value_depth_max_are_not_searched() {
    let chain = |depth: usize, leaf: Value| {
        let mut defs = Map::new();
        for at in 0..depth {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            defs.insert(
                format!("d{at}"),
                json!({"type": "object", "required": ["a"], "properties": {"a": next}}),
            );
        }
        defs.insert(format!("d{depth}"), leaf);
        json!({"$ref": "#/$defs/d0", "$defs": defs})
    };
    let verdict =
        |depth| judge(&chain(depth, json!({"type": "integer"})), &chain(depth, json!({"minimum": 0})));
    let within = verdict(PROVER_VALUE_DEPTH_MAX - 1).unwrap();
    assert!(matches!(within, Verdict::Breaking(_)), "{within:?}");
    let over = verdict(PROVER_VALUE_DEPTH_MAX).unwrap();
    assert!(matches!(over, Verdict::Unknown(Obstacle::Depth)), "{over:?}");
}
