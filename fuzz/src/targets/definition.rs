//! Definitions: nothing is lost, whatever else is asked of them (digests, wire form, lint, signature, contract).

use toolcrib_contract::{
    Contract, Definition, Digests, SchemaCache, SchemaOptions, ToolName, lint, signature,
};

use crate::target::{Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "definition",
    seeds,
    dictionary: &[
        "\"name\":\"x\"",
        "\"inputSchema\":",
        "\"outputSchema\":",
        "\"annotations\":",
        "\"readOnlyHint\":true",
        "\"readOnly\":",
        "\"title\":",
        "\"description\":",
        "\"type\":\"object\"",
        "\"properties\":{",
        "\"required\":[",
        "\"x-mcp-header\":",
        "null",
    ],
    bytes_max: 2_048,
    run,
};

fn seeds() -> Vec<Vec<u8>> {
    [
        r#"{"name":"x"}"#,
        r#"{"name":"get","title":"Get","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string","description":"d"},"b":{"enum":[1,"c"]}},"required":["a"]},"annotations":{"readOnly":true,"title":"T","audience":"user","priority":3}}"#,
        r##"{"name":"n","inputSchema":{"type":"object","properties":{"next":{"$ref":"#"},"list":{"type":"array","items":{"anyOf":[{"type":"null"},{"const":1.0}]}}}},"outputSchema":{"type":"object","additionalProperties":{"type":"number"}}}"##,
        r#"{"name":"h","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"}}},"outputSchema":null,"x":1e2}"#,
        r#"{"name":""}"#,
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect()
}

fn run(input: &[u8]) -> Shape {
    let definition = match Definition::parse(input) {
        Ok(definition) => definition,
        Err(error) => return Shape::of(&["refused", &super::variant(&error)]),
    };
    let again =
        Definition::parse(definition.text()).unwrap_or_else(|error| panic!("printed, but refused: {error}"));
    assert_eq!(again.text(), definition.text());
    let wire = Definition::parse(definition.wire_text().as_bytes());
    let wire = wire.unwrap_or_else(|error| panic!("on the wire it is no definition: {error}"));
    assert_eq!(wire.wire_text(), wire.text(), "the wire form has a wire form of its own");
    assert_eq!(wire.annotations(), definition.annotations(), "the wire form means something else");
    let shown = signature(&definition);
    assert!(ToolName::new(definition.name()).is_err() || shown.starts_with(definition.name()), "{shown}");
    let found = lint::lint(&definition).findings.len();
    let digests = Digests::of(&definition);
    let outcome = match Contract::compile(definition, &SchemaOptions::default(), &SchemaCache::new()) {
        Ok(contract) => {
            assert_eq!(Ok(contract.digests()), digests.as_ref());
            "served".to_owned()
        }
        Err(error) => super::variant(&error),
    };
    Shape::of(&[
        "definition",
        &outcome,
        if digests.is_ok() { "digest" } else { "no digest" },
        &found.to_string(),
    ])
}
