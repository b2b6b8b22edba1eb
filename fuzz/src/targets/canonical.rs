//! Canonical form: its own canonical form, the same for every spelling of a value, and still that value.

use toolcrib_contract::json::{Document, Limits, Node};
use toolcrib_contract::{CanonicalError, Digest, canonical};

use crate::target::{Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "canonical",
    seeds,
    dictionary: &[
        "9007199254740993",
        "1e21",
        "1e-7",
        "-0.0",
        "0.1",
        "\"\\ufb33\":",
        "\"\\ud83d\\ude00\":",
        "5e-324",
        "\"b\":",
    ],
    bytes_max: 2_048,
    run,
};

fn seeds() -> Vec<Vec<u8>> {
    [
        r#"{"b":1,"a":[9007199254740993,1.0,1e2,-0,0.1],"\u00e9":"\u0001\/"}"#,
        r#"{"😀":0,"\ufb33":0,"z":{"y":1,"x":2}}"#,
        "[1e400,1E-400,0.10000000000000000001,123456789012345678901234567890]",
        "[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001]",
        "[18446744073709551615,18446744073709551616,-9223372036854775808,-9223372036854775809]",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect()
}

fn run(input: &[u8]) -> Shape {
    let Ok(document) = Document::parse(input, &Limits::message()) else { return Shape::of(&["unread"]) };
    let root = document.root();
    match canonical(root) {
        Ok(text) => {
            assert_eq!(of(&text), Ok(text.clone()), "not its own canonical form");
            assert_eq!(of(&root.to_compact()), Ok(text.clone()), "white space changed it");
            if survives_a_tree(root) {
                assert_eq!(of(&root.to_value().to_string()), Ok(text.clone()), "another spelling changed it");
            }
            assert_eq!(Digest::of(root), Ok(Digest::of_bytes(text.as_bytes())));
            Shape::of(&["canonical", root.kind().name(), &root.len().to_string(), &marks(&text)])
        }
        Err(CanonicalError::InexactNumber { pointer, literal }) => {
            let number = root.pointer(&pointer).unwrap_or_else(|| panic!("{pointer} is no place"));
            assert_eq!(number.raw(), literal, "another number is at the place");
            Shape::of(&["inexact", &pointer.tokens().count().to_string()])
        }
        Err(other) => panic!("a new error: {other}"),
    }
}

/// What a double or a 64-bit integer cannot carry was refused, so a tree of values has the same form, but for integers
/// such as `900719925474099310e1`, of which a tree makes doubles.
fn survives_a_tree(node: Node<'_>) -> bool {
    let doubled = node.as_number().is_some_and(|number| {
        number.text().contains(['.', 'e', 'E']) && number.as_f64().abs() > 9_007_199_254_740_992.0
    });
    !doubled && node.elements().chain(node.members().map(|(_, value)| value)).all(survives_a_tree)
}

fn of(text: &str) -> Result<String, CanonicalError> {
    let document = Document::parse(text.as_bytes(), &Limits::message());
    canonical(document.unwrap_or_else(|error| panic!("{error}: {text}")).root())
}

/// Which rare things stand in the text.
fn marks(text: &str) -> String {
    ["\\u", "\\\"", ".", "e+", "e-", "-"]
        .iter()
        .map(|mark| if text.contains(mark) { '1' } else { '0' })
        .collect()
}
