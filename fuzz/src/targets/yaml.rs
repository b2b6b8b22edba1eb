//! Fuzz target for YAML catalogues.
//!
//! Property: accepted YAML becomes JSON, and that JSON parsed as YAML becomes the same text.

use std::time::Duration;

use toolcrib_contract::json::{Document, Limits, ReadErrorKind};
use toolcrib_registry::yaml::{YamlErrorKind, to_json};

use crate::target::{Memory, Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "yaml",
    seeds,
    heavy,
    dictionary: DICTIONARY,
    bytes_max: 64 * 1024,
    cpu_max: Duration::from_secs(1),
    memory_max: Memory { factor: 512, constant: 256 * 1024 },
    run,
};

const DICTIONARY: &[&str] = &[
    ": ",
    "- ",
    "? ",
    "\n",
    "\n  ",
    "|\n  ",
    ">-\n  ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "'",
    "\"",
    "#",
    "---\n",
    "...\n",
    "&a ",
    "*a",
    "!!int ",
    "<<: ",
    "~",
    "null",
    "true",
    "yes",
    "0x1F",
    "0o17",
    ".5",
    "1.",
    "+1",
    "007",
    ".inf",
    ".nan",
    "1e400",
    "\\x41",
    "\\u00e9",
    "\\U0001F600",
    "\\/",
    "\t",
    "%YAML 1.2\n",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "name: a\n",
];

fn seeds() -> Vec<Vec<u8>> {
    [
        "name: osv\nstars: 9007199254740993\nratio: 1.50\ntools: [a, 'b c', \"1\"]\nnested:\n  - x: ~\n    y: yes\n  - true\nempty: {}\n",
        "text: |\n  two\n  lines\nfolded: >-\n  one\n  line\n",
        "[0x1F, +1, .5, 1., 007, 1.0.0, 0o17, -.5]",
        "{\"a\": [1, \"x\\u00e9\\n\", null, {\"b\": false}]}",
        "a: &x 1\nb: *x\n",
        "? [a]\n: 1\n",
        "a: 1\n---\nb: 2\n",
        "\"\\x41\\U0001F600\\/\": 'it''s'\n",
        "- - - a\n    - b\n- {c: [d, e], }\n",
    ]
    .map(|seed| seed.as_bytes().to_vec())
    .to_vec()
}

fn heavy() -> Vec<Vec<u8>> {
    [
        "[", "- ", "a: ", "? ", "'", "\"\\n", "#", "{a: ", "- a\n", " ", "a", "|\n", "[a, ", "\n", "*",
        "&a ", "!",
    ]
    .map(|part| part.repeat(30_000 / part.len()).into_bytes())
    .to_vec()
}

fn run(input: &[u8]) -> Shape {
    let Ok(text) = std::str::from_utf8(input) else { return Shape::of(&["no text"]) };
    let json = match to_json(text) {
        Ok(json) => json,
        Err(error) => {
            assert!(
                error.line <= text.lines().count() + 2,
                "line {} of {}",
                error.line,
                text.lines().count()
            );
            let kind = match &error.kind {
                YamlErrorKind::Number(_) => "number".to_owned(),
                kind => kind.to_string(),
            };
            return Shape::of(&["refused", &kind]);
        }
    };
    match Document::parse(json.as_bytes(), &Limits::file()) {
        Ok(document) => {
            let root = document.root();
            assert_eq!(root.to_compact(), json, "not compact");
            match to_json(&json) {
                Ok(again) => assert_eq!(again, json, "read as YAML the JSON is another one"),
                // YAML requires a key and its colon within 1024 characters.
                Err(error) => assert!(json.len() > 1_024, "its own JSON is refused: {error}: {json}"),
            }
            Shape::of(&[
                "read",
                root.kind().name(),
                &root.len().min(8).to_string(),
                &root.depth().to_string(),
            ])
        }
        Err(error) => {
            assert!(matches!(error.kind, ReadErrorKind::DuplicateKey { .. }), "no JSON: {error}: {json}");
            Shape::of(&["duplicate"])
        }
    }
}
