//! Fuzz target for a definition from an unknown server: everything that is parsed from it, displayed and generated.

use std::time::Duration;

use toolcrib_contract::{Contract, Definition, Digests, SchemaCache, SchemaOptions, lint, signature};

use crate::target::{Memory, Shape, Target};
use crate::targets::vocabulary::DEFINITION;

pub(super) const TARGET: Target = Target {
    name: "definition",
    seeds,
    heavy: Vec::new,
    dictionary: DEFINITION,
    bytes_max: 4_096,
    cpu_max: Duration::from_secs(2),
    memory_max: Memory { factor: 4_096, constant: 16 * 1024 * 1024 },
    run,
};

fn seeds() -> Vec<Vec<u8>> {
    [
        r#"{"name":"x"}"#,
        r#"{"name":"get_weather","description":"Weather","inputSchema":{"type":"object","properties":{"location":{"type":"string"},"units":{"enum":["c","f"]}},"required":["location"]},"outputSchema":{"type":"object","properties":{"temperature":{"type":"number"}}},"annotations":{"readOnlyHint":true,"priority":3,"audience":"user"}}"#,
        r##"{"name":"tree","inputSchema":{"type":"object","properties":{"node":{"$ref":"#/$defs/node"}},"$defs":{"node":{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}},"annotations":{"readOnly":true,"destructive":true},"_meta":{"vendor/x":1.50}}"##,
    ]
    .map(|seed| seed.as_bytes().to_vec())
    .to_vec()
}

fn run(input: &[u8]) -> Shape {
    let definition = match Definition::parse(input) {
        Ok(definition) => definition,
        Err(error) => return Shape::of(&["refused", &head(&error)]),
    };
    let text = definition.text().to_owned();
    let again = Definition::parse(&text).unwrap_or_else(|error| panic!("its own text is refused: {error}"));
    assert_eq!(again.text(), text, "the stored text is not stable");
    let wire = definition.wire_text().into_owned();
    let wired =
        Definition::parse(&wire).unwrap_or_else(|error| panic!("its wire text is refused: {error}\n{wire}"));
    assert_eq!(wired.annotations(), definition.annotations(), "the wire says something else: {wire}");
    assert_eq!(wired.wire_text(), wire, "the wire text is not stable");
    let shown = signature(&definition);
    assert!(!shown.chars().any(char::is_control), "a control character is shown: {shown:?}");
    let findings = lint::lint(&definition);
    drop(findings);
    let digests = Digests::of(&definition);
    match Contract::compile(definition, &SchemaOptions::default(), &SchemaCache::new()) {
        Ok(contract) => {
            assert_eq!(Ok(contract.digests()), digests.as_ref(), "two digests for one definition");
            Shape::of(&["contract", &format!("{:?}", contract.effect())])
        }
        Err(error) => Shape::of(&["no contract", &head(&error)]),
    }
}

/// Returns the words of a message before the first value in it.
fn head(error: &dyn std::error::Error) -> String {
    let message = error.to_string();
    message
        .split(['"', '/', '\'', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
        .next()
        .unwrap_or_default()
        .to_owned()
}
