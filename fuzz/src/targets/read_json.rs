//! Fuzz target for the strict JSON parser, compared with `serde_json`: an accepted text has the same meaning there; a
//! refused text is refused there too, or for a reason that only the strict parser has.

use std::time::Duration;

use serde_json::Value;
use toolcrib_contract::json::{Document, Limits, ReadErrorKind};

use crate::target::{Memory, Shape, Target};
use crate::targets::vocabulary::JSON;

pub(super) const TARGET: Target = Target {
    name: "read_json",
    seeds,
    heavy,
    dictionary: JSON,
    bytes_max: 128 * 1024,
    cpu_max: Duration::from_millis(500),
    memory_max: Memory { factor: 256, constant: 64 * 1024 },
    run,
};

/// Depth limit of the comparison, because `serde_json` recurses and has a limit of its own.
const COMPARED_DEPTH_MAX: usize = 100;

fn seeds() -> Vec<Vec<u8>> {
    [
        r#"{"a":[1,2.5,-0,1e3,true,false,null],"b":{"c":"\u00e9\ud83d\ude00\n"}}"#,
        r#"[9007199254740993,18446744073709551615,-9223372036854775808,0.1]"#,
        "  \"text\"  ",
        r#"{"a":1,"a":2}"#,
        "[[[[[[[[[[]]]]]]]]]]",
    ]
    .map(|seed| seed.as_bytes().to_vec())
    .to_vec()
}

fn heavy() -> Vec<Vec<u8>> {
    let members: Vec<String> = (0..7_000).map(|n| format!("\"k{n}\":1")).collect();
    let part = |text: &str| text.repeat(64_000 / text.len()).into_bytes();
    vec![
        format!("{{{}}}", members.join(",")).into_bytes(),
        part("["),
        part("1,"),
        part("\\\""),
        format!("\"{}\"", "\\u00e9".repeat(10_000)).into_bytes(),
        format!("[{}1]", "1,".repeat(30_000)).into_bytes(),
    ]
}

fn run(input: &[u8]) -> Shape {
    let limits = Limits::message().with_depth_max(COMPARED_DEPTH_MAX);
    let other = serde_json::from_slice::<Value>(input);
    match Document::parse(input, &limits) {
        Ok(document) => {
            let other = other.unwrap_or_else(|error| panic!("only the strict reader accepts this: {error}"));
            assert!(means_the_same(&document.root().to_value(), &other), "read differently");
            let compact = document.root().to_compact();
            let again = Document::parse(compact.as_bytes(), &limits)
                .unwrap_or_else(|error| panic!("its own compact form is refused: {error}"));
            assert_eq!(again.root().to_compact(), compact, "the compact form is not stable");
            Shape::of(&["read", kind(&other), &document.root().len().min(8).to_string()])
        }
        Err(error) => {
            let strict = matches!(
                error.kind,
                ReadErrorKind::DuplicateKey { .. }
                    | ReadErrorKind::Depth { .. }
                    | ReadErrorKind::Nodes { .. }
            );
            assert!(strict || other.is_err(), "only the strict reader refuses this: {error}");
            assert!(error.offset <= input.len(), "the place is outside the text");
            let message = error.kind.to_string();
            Shape::of(&["refused", message.split(['"', '\'', '\\', '+', ':']).next().unwrap_or_default()])
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns `true` if both are equal, apart from the last digit of a double, which `serde_json` does not guarantee.
fn means_the_same(ours: &Value, other: &Value) -> bool {
    match (ours, other) {
        (Value::Number(a), Value::Number(b)) => {
            a == b
                || (a.is_f64() && b.is_f64())
                    .then(|| a.as_f64().zip(b.as_f64()))
                    .flatten()
                    .is_some_and(|(a, b)| a.to_bits().abs_diff(b.to_bits()) <= 2)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| means_the_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && means_the_same(a, b))
        }
        (a, b) => a == b,
    }
}
