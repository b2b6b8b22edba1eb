//! Reading: what is accepted is what `serde_json` reads, and comes back from print and parse as it was.

use serde_json::Value;
use toolcrib_contract::json::{Document, Limits, ReadErrorKind};

use crate::target::{Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "json",
    seeds,
    dictionary: &[
        "{\"a\":",
        "[[",
        "]]",
        "\"\\u00e9\"",
        "\\ud83d\\ude00",
        "1.5e-3",
        "-0",
        "false",
        ",\"b\":[]",
        " \n\t\r",
    ],
    bytes_max: 4_096,
    run,
};

/// `serde_json` gives up a little before this reader does.
const TREE_DEPTH_MAX: usize = 120;

fn seeds() -> Vec<Vec<u8>> {
    [
        r#"{"a":[1,-0,1.50,1e2,"é\u00e9\n"],"b":{"":null},"c":true}"#,
        r#"[[],{},"",0,false]"#,
        r#"{"a":1,"\u0061":2}"#,
        r#""\ud800""#,
        "[9007199254740993,18446744073709551615,1e309]",
        "01",
        "\u{feff}{}",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .chain([b"\"\xff\"".to_vec(), "[".repeat(130).into_bytes()])
    .collect()
}

fn run(input: &[u8]) -> Shape {
    // Few nodes, so that this limit is met as well.
    let limits = Limits::message().with_nodes_max(512);
    let tree = serde_json::from_slice::<Value>(input);
    match Document::parse(input, &limits) {
        Ok(document) => {
            let root = document.root();
            let compact = root.to_compact();
            assert!(compact.len() <= input.len(), "print added something");
            let again = Document::parse(compact.as_bytes(), &limits);
            let again = again.unwrap_or_else(|error| panic!("what was printed is refused: {error}"));
            assert_eq!(again.root().to_compact(), compact, "print and parse do not end");
            assert_eq!(again.root().raw(), compact, "a compact text is not its own compact form");
            assert_eq!(again.root().to_value(), root.to_value(), "print changed the value");
            if root.depth() < TREE_DEPTH_MAX {
                let tree = tree.unwrap_or_else(|error| panic!("read here, but not elsewhere: {error}"));
                assert_eq!(root.to_value(), tree, "read as another value");
            }
            Shape::of(&["read", root.kind().name(), &root.depth().to_string(), &root.len().to_string()])
        }
        Err(error) => {
            assert!(error.offset <= input.len(), "a place outside the text");
            let stricter = matches!(
                error.kind,
                ReadErrorKind::DuplicateKey { .. }
                    | ReadErrorKind::Nodes { .. }
                    | ReadErrorKind::Depth { .. }
                    | ReadErrorKind::Bytes { .. }
            );
            assert!(stricter || tree.is_err(), "read elsewhere, but not here: {error}");
            Shape::of(&["refused", &super::variant(&error.kind), &error.pointer.tokens().count().to_string()])
        }
    }
}
