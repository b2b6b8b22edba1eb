//! Strategies for random JSON texts. Equal values have many spellings: escapes, exponents, signs of zero, key orders.

use std::collections::BTreeMap;

use proptest::prelude::*;

/// Words for keys and strings; few, so that schemas and instances match.
pub(super) const WORDS: &[&str] = &[
    "",
    "a",
    "b",
    "c",
    "ab",
    "é",
    "e\u{301}",
    "\n",
    "\"",
    "\\",
    "/",
    "\u{0}",
    "😀",
    "10",
    "a\u{2028}b",
    "a long text",
];

const NUMBERS: &[&str] = &[
    "0", "-0", "0.0", "-0.0", "0e10", "1", "1.0", "1e0", "10e-1", "-1", "2", "3", "2.5", "0.5", "5e-1",
    "0.1", "0.3", "100", "1e2", "1E+2",
];

/// Numbers at which doubles, 64-bit integers and their neighbours differ.
const EDGES: &[&str] = &[
    "0.30000000000000004",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "9007199254740992.0",
    "9223372036854775807",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "1e19",
    "123456789012345678901234567890",
    "1e300",
    "-1e300",
    "1e-300",
];

/// Any JSON value as text.
pub(super) fn text() -> BoxedStrategy<String> {
    prop_oneof![12 => nested(scalar()), 1 => (scalar(), 1..60usize, any::<bool>()).prop_map(chain)].boxed()
}

/// A value that is small enough for `enum` or `const`.
pub(super) fn small() -> BoxedStrategy<String> {
    prop_oneof![3 => scalar(), 1 => array(scalar(), 3), 1 => object(scalar(), 3)].boxed()
}

pub(super) fn number() -> BoxedStrategy<String> {
    prop_oneof![
        24 => prop::sample::select(NUMBERS).prop_map(str::to_owned),
        3 => prop::sample::select(EDGES).prop_map(str::to_owned),
        1 => any::<i64>().prop_map(|n| n.to_string()),
        1 => any::<u64>().prop_map(|n| n.to_string()),
        6 => (-40i32..40, 0..3usize).prop_map(|(n, digits)| format!("{:.digits$}", f64::from(n) / 4.0)),
        1 => proptest::num::f64::NORMAL.prop_map(|x| format!("{x:e}")),
    ]
    .boxed()
}

/// A word as a JSON string, each character in one of its spellings.
pub(super) fn string() -> BoxedStrategy<String> {
    (prop::sample::select(WORDS), any::<u64>()).prop_map(|(word, ways)| spelled(word, ways)).boxed()
}

fn scalar() -> BoxedStrategy<String> {
    prop_oneof![
        2 => prop::sample::select(&["null", "true", "false"][..]).prop_map(str::to_owned),
        4 => number(),
        3 => string(),
    ]
    .boxed()
}

fn nested(leaf: BoxedStrategy<String>) -> BoxedStrategy<String> {
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![array(inner.clone().boxed(), 5), object(inner.boxed(), 5)]
    })
    .boxed()
}

fn array(inner: BoxedStrategy<String>, most: usize) -> BoxedStrategy<String> {
    prop::collection::vec(inner, 0..most).prop_map(|items| format!("[{}]", items.join(", "))).boxed()
}

fn object(inner: BoxedStrategy<String>, most: usize) -> BoxedStrategy<String> {
    prop::collection::vec((prop::sample::select(WORDS), any::<u64>(), inner), 0..most)
        .prop_map(|members| {
            let mut seen = BTreeMap::new();
            let mut out = Vec::new();
            for (word, ways, value) in members {
                if seen.insert(word, ()).is_none() {
                    out.push(format!("{}:{value}", spelled(word, ways)));
                }
            }
            format!("{{{}}}", out.join(","))
        })
        .boxed()
}

/// A value nested in many containers.
fn chain((leaf, depth, objects): (String, usize, bool)) -> String {
    (0..depth)
        .fold(leaf, |inner, _| if objects { format!("{{\"a\":{inner}}}") } else { format!("[{inner}]") })
}

fn spelled(word: &str, mut ways: u64) -> String {
    let mut out = String::from("\"");
    for c in word.chars() {
        let way = ways & 3;
        ways = ways.rotate_right(2);
        let short = match c {
            '"' => Some("\\\""),
            '\\' => Some("\\\\"),
            '/' => Some("\\/"),
            '\n' => Some("\\n"),
            _ => None,
        };
        let plain = c >= ' ' && c != '"' && c != '\\';
        match (way, short) {
            (0 | 1, _) if plain => out.push(c),
            (0..=2, Some(short)) => out.push_str(short),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&if way == 3 { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") });
                }
            }
        }
    }
    out.push('"');
    out
}
