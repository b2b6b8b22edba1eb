//! Bad input: named, bounded in time, nothing fetched.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use toolcrib_containment::limits::{
    BATCH_LINE_BYTES_MAX, PROVER_CASES_MAX, PROVER_IN_PLACE_MAX, PROVER_SCHEMA_CONTAINERS_MAX,
    PROVER_SCHEMA_DEPTH_MAX,
};
use toolcrib_containment::{Dialect, Obstacle, Options, Prover, SchemaFault, Side, Verdict, batch};

fn judge(producer: &Value, consumer: &Value) -> Result<Verdict, toolcrib_containment::SchemaError> {
    let dialects = (Dialect::default(), Dialect::default());
    Prover::new(Options::default()).judge(producer, consumer, dialects).map(|judgement| judgement.verdict)
}

/// R1.5: a reference that leads out of the document is refused by name, not fetched.
#[test]
fn remote_references_are_refused_and_not_fetched() {
    for uri in ["http://169.254.169.254/latest", "file:///etc/passwd", "https://schemas.test/x.json"] {
        let error = judge(&json!({"$ref": uri}), &json!({})).unwrap_err();
        assert_eq!(error.side, Side::Producer);
        assert!(matches!(error.fault, SchemaFault::RemoteReference { .. }), "{error}");
    }
}

/// R1.5: unknown dialects, non-schemas, dangling references and broken patterns have their own names.
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

/// R1.6: a chain of `allOf`, each twice the next, costs a plain validator seconds; here no validator runs.
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
    // It is only a way to write `string`: that much can be proved without running it.
    assert!(matches!(judge(&json!({"type": "string"}), &bomb).unwrap(), Verdict::Compatible(_)));
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
}

/// R1.6: nesting and size have limits with names.
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
    // Dropping so deep a value recurses in the library that holds it.
    std::thread::Builder::new().stack_size(64 << 20).spawn(move || drop(deep)).unwrap().join().unwrap();
}

/// R7.3: a search that is not finished in time is unknown, and ends near its deadline.
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

/// R7.1: batch lines come back in order; a bad one is named and the others are still answered.
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

/// R7.3: `unevaluated*` over more combinations than are told apart is unknown, not guessed.
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

/// R7.1: a line over its limit is named and not parsed.
#[test]
fn a_batch_line_over_its_limit_is_refused() {
    let line = " ".repeat(BATCH_LINE_BYTES_MAX) + "{}\n";
    let mut output = Vec::new();
    let faults = batch::run(line.as_bytes(), &mut output, &Prover::default()).unwrap();
    assert!(matches!(faults[0].fault, batch::PairFault::TooLong));
}
