//! Fuzz target for parsing an answer with an expected schema, compared with parsing it without: values, refusals with
//! their places, and results of the check are equal.

use std::time::Duration;

use std::sync::LazyLock;

use toolcrib_contract::json::{Limits, Node, OwnedDocument};
use toolcrib_contract::{Schema, SchemaOptions};

use crate::target::{Memory, Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "expected_answer",
    seeds,
    heavy: Vec::new,
    dictionary: DICTIONARY,
    bytes_max: 2_048,
    cpu_max: Duration::from_millis(250),
    memory_max: Memory { factor: 512, constant: 2 * 1024 * 1024 },
    run,
};

const DICTIONARY: &[&str] = &[
    "\"result\":{",
    "\"structuredContent\":{",
    "\"id\":",
    "\"a longer name than that\":",
    "\"state\":\"open\"",
    "\"tags\":[\"a\",\"b\"]",
    "\"inner\":{\"x\":0.5}",
    "\"\\u0061\"",
    "\\\"",
    "1e5",
    "-0",
    "null",
    ", ",
];

static SCHEMA: LazyLock<Option<Schema>> = LazyLock::new(|| {
    let text = r#"{"type":"object","required":["id"],"additionalProperties":false,"properties":{
        "id":{"type":"integer","minimum":0,"maximum":99},
        "a longer name than that":{"type":["string","null"],"maxLength":5},
        "state":{"enum":["open","closed"]},
        "tags":{"type":"array","maxItems":3,"items":{"type":"string","minLength":1}},
        "inner":{"type":"object","properties":{"x":{"type":"number","maximum":1.5},"y":true}}}}"#;
    let document = OwnedDocument::parse(text, &Limits::message()).ok()?;
    Schema::compile(document.root(), &SchemaOptions::default()).ok()
});

fn seeds() -> Vec<Vec<u8>> {
    [
        r#"{"id":1}"#,
        r#"{"id":7,"a longer name than that":"é","state":"open","tags":["a","b"],"inner":{"x":0.5,"y":true}}"#,
        "{ \"state\" : \"closed\",\n\t\"inner\": {\"x\": -1}, \"tags\": [ ], \"id\": 99 }",
        r#"{"id":7,"tags":["a\"\u00e9"],"a longer name than that":null}"#,
    ]
    .map(|content| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"structuredContent":{content},"x":[{{}}]}}}}"#).into_bytes()
    })
    .to_vec()
}

fn run(input: &[u8]) -> Shape {
    let (Some(schema), Ok(text)) = (&*SCHEMA, std::str::from_utf8(input)) else {
        return Shape::of(&["no text"]);
    };
    let read = |expected| OwnedDocument::parse_expecting(text.to_owned(), &Limits::message(), expected);
    match (read(None), read(schema.expect(&["result", "structuredContent"]))) {
        (Ok(plain), Ok(expected)) => {
            let (a, b) = (plain.root(), expected.root());
            assert_eq!(content(b).map(|it| schema.accepts(it)), content(a).map(|it| schema.accepts(it)));
            assert_eq!(b.to_compact(), a.to_compact(), "another text");
            assert_eq!(b.to_value(), a.to_value(), "another value");
            assert_eq!(b.depth(), a.depth(), "another depth");
            let kept = content(a).map_or("none", |it| if schema.accepts(it) { "kept" } else { "not kept" });
            Shape::of(&["read", kept, &content(a).map_or(0, Node::len).to_string()])
        }
        (Err(a), Err(b)) => {
            assert_eq!(b.to_string(), a.to_string(), "refused for another reason");
            Shape::of(&["refused", a.kind.to_string().split(['"', '\'']).next().unwrap_or_default()])
        }
        (a, b) => panic!("read in one way alone: {:?} and {:?}", a.err(), b.err()),
    }
}

fn content(message: Node<'_>) -> Option<Node<'_>> {
    message.get("result")?.get("structuredContent")
}
