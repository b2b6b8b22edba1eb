use super::*;
use crate::json::{Document, Limits};
use crate::limits::SCHEMA_EXPANSION_MAX;
use crate::schema::SchemaLimit;

fn contract(text: &str) -> Result<Contract, ContractError> {
    Contract::compile(Definition::parse(text).unwrap(), &SchemaOptions::default(), &SchemaCache::new())
}

fn input(schema: &str) -> Result<Contract, ContractError> {
    contract(&format!(r#"{{"name":"x","inputSchema":{schema}}}"#))
}

fn bomb(keyword: &str) -> String {
    let definitions: Vec<_> = (0..26)
        .map(|i| {
            let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, i + 1);
            format!(r#""d{i}":{{"{keyword}":[{next},{next}]}}"#)
        })
        .collect();
    format!(r##"{{"type":"object","$ref":"#/$defs/d0","$defs":{{{},"d26":{{}}}}}}"##, definitions.join(","))
}

/// R1.6: the reference bomb of 26 definitions and its variants are refused with the limit's name.
#[test]
fn reference_bombs_are_refused_by_name() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let Err(ContractError::Input(SchemaError::Limit { limit, .. })) = input(&bomb(keyword)) else {
            panic!("{keyword}: not refused by a limit")
        };
        assert_eq!(limit, SchemaLimit::Expansion);
        assert_eq!((limit.name(), limit.max()), ("SCHEMA_EXPANSION_MAX", SCHEMA_EXPANSION_MAX));
    }
}

/// R1.6: refusing the bomb takes work proportional to its text.
#[test]
fn reference_bomb_is_refused_in_linear_work() {
    let started = std::time::Instant::now();
    for _ in 0..100 {
        assert!(input(&bomb("allOf")).is_err());
    }
    // Expanding 2^26 applications would take seconds each; the bound allows 100 ms per refusal on the slowest
    // machine.
    assert!(started.elapsed().as_secs() < 10);
}

/// R1.7: equal schemas share one compiled check, however they are written.
#[test]
fn equal_schemas_are_compiled_once() {
    let cache = SchemaCache::new();
    let make = |text: &str| {
        Contract::compile(Definition::parse(text).unwrap(), &SchemaOptions::default(), &cache).unwrap()
    };
    let a = make(r#"{"name":"a","inputSchema":{"type":"object","required":["q"]}}"#);
    let b = make(r#"{"name":"b","inputSchema":{"required":["q"], "type":"object"}}"#);
    let c = make(r#"{"name":"c","inputSchema":{"type":"object"}}"#);
    assert!(Arc::ptr_eq(a.input(), b.input()));
    assert!(!Arc::ptr_eq(a.input(), c.input()));
    assert_eq!(cache.len(), 2);
    drop((a, b, c));
    assert!(cache.is_empty());
}

/// R1.5: each fault of a schema has its own error, which names the place in the definition.
#[test]
fn faults_are_told_apart_and_placed() {
    let refuse = |text: &str| contract(text).unwrap_err().to_string();
    assert_eq!(refuse(r#"{"name":"x"}"#), "/inputSchema: a tool that is served has an input schema");
    assert_eq!(
        refuse(r#"{"name":"x","inputSchema":null}"#),
        "/inputSchema: a tool that is served has an input schema"
    );
    assert_eq!(
        refuse(r#"{"name":"x","inputSchema":{}}"#),
        "/inputSchema/type: the input schema has \"type\": \"object\" at its root"
    );
    assert_eq!(
        refuse(r#"{"name":"x","inputSchema":{"type":"object","$schema":"urn:mine"}}"#),
        "invalid input schema: /inputSchema/$schema: unknown dialect \"urn:mine\" (known: draft-04, draft-06, draft-07, 2019-09, 2020-12)"
    );
    assert_eq!(
        refuse(r##"{"name":"x","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}}"##),
        "invalid input schema: /inputSchema/properties/a/$ref: \"#/$defs/b\" resolves to nothing in this schema, and nothing outside it is read"
    );
    assert_eq!(
        refuse(r#"{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"objekt"}}"#),
        "invalid output schema: /outputSchema/type: not a valid schema: \"objekt\" is not valid under any of the schemas listed in the 'anyOf' keyword"
    );
    assert_eq!(
        refuse(r#"{"name":"a b","inputSchema":{"type":"object"}}"#),
        "/name: ' ' at character 1 may not stand in a tool name (allowed: A-Z a-z 0-9 _ . -)"
    );
    assert!(matches!(
        contract(r#"{"name":"x","inputSchema":{"type":"object","x":0.1234567890123456789}}"#),
        Err(ContractError::Canonical(_))
    ));
}

/// R1.4: hints change nothing about a check; only the schema decides.
#[test]
fn hints_never_change_a_check() {
    let schema = r#""inputSchema":{"type":"object","required":["a"]}"#;
    for annotations in
        ["{}", r#"{"readOnlyHint":true}"#, r#"{"destructiveHint":false,"idempotentHint":true}"#]
    {
        let made = contract(&format!(r#"{{"name":"x",{schema},"annotations":{annotations}}}"#)).unwrap();
        let good = Document::parse(br#"{"a":1}"#, &Limits::message()).unwrap();
        let bad = Document::parse(b"{}", &Limits::message()).unwrap();
        assert!(made.check_input(good.root()).is_ok());
        assert!(made.check_input(bad.root()).is_err());
    }
}

#[test]
fn answers_are_checked_only_where_a_schema_says_so() {
    let made = contract(r#"{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"integer"}}"#)
        .unwrap();
    let text = Document::parse(b"\"7\"", &Limits::message()).unwrap();
    assert_eq!(
        made.check_output(text.root()).unwrap_err().one_line(),
        "(root): expected an integer; got \"7\""
    );
    let free = contract(r#"{"name":"x","inputSchema":{"type":"object"}}"#).unwrap();
    assert!(free.check_output(text.root()).is_ok());
}
