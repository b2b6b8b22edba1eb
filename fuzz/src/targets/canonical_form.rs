//! Fuzz target for the canonical form: equal for two texts exactly if they are the same JSON, stable, and valid JSON.

use std::time::Duration;

use toolcrib_contract::canonical;
use toolcrib_contract::json::{Document, Kind, Limits, Node};

use crate::mutation::tree::SEPARATOR;
use crate::target::{Memory, Shape, Target};
use crate::targets::vocabulary::JSON;

pub(super) const TARGET: Target = Target {
    name: "canonical_form",
    seeds,
    heavy: Vec::new,
    dictionary: JSON,
    bytes_max: 32 * 1024,
    cpu_max: Duration::from_millis(500),
    memory_max: Memory { factor: 256, constant: 64 * 1024 },
    run,
};

fn seeds() -> Vec<Vec<u8>> {
    [
        "{\"b\":1,\"a\":[1.0,2e1]}\u{1e}{\"a\":[1,20],\"b\":1}",
        "9007199254740993\u{1e}9007199254740992",
        "{\"\u{e9}\":1,\"z\":-0}\u{1e}{\"\\u00e9\":1,\"z\":0}",
        "[0.1,1e21,5e-324]\u{1e}[0.1,1000000000000000000000,5e-324]",
        "18446744073709551616\u{1e}1.8446744073709552e19",
    ]
    .map(|seed| seed.as_bytes().to_vec())
    .to_vec()
}

fn run(input: &[u8]) -> Shape {
    let mut parts = input.splitn(2, |byte| *byte == SEPARATOR);
    let (one, two) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let limits = Limits::message();
    let (Ok(one), second) = (Document::parse(one, &limits), Document::parse(two, &limits)) else {
        return Shape::of(&["unreadable"]);
    };
    let Ok(form) = canonical(one.root()) else { return Shape::of(&["inexact"]) };
    let again = Document::parse(form.as_bytes(), &limits)
        .unwrap_or_else(|error| panic!("the canonical form is not JSON: {error}\n{form}"));
    assert!(same(one.root(), again.root()), "the canonical form says something else: {form}");
    assert_eq!(canonical(again.root()).as_deref(), Ok(form.as_str()), "the canonical form is not stable");
    let Ok(two) = second else { return Shape::of(&["one"]) };
    let Ok(other) = canonical(two.root()) else { return Shape::of(&["second inexact"]) };
    assert_eq!(form == other, same(one.root(), two.root()), "{form} and {other}");
    Shape::of(&["two", if form == other { "same" } else { "different" }])
}

/// Compares JSON without the code under test: keys as sets, numbers by value.
fn same(one: Node<'_>, two: Node<'_>) -> bool {
    match (one.kind(), two.kind()) {
        (Kind::Number, Kind::Number) => Numeral::of(one.raw()) == Numeral::of(two.raw()),
        (Kind::String, Kind::String) => one.as_str() == two.as_str(),
        (Kind::Array, Kind::Array) => {
            one.len() == two.len() && one.elements().zip(two.elements()).all(|(a, b)| same(a, b))
        }
        (Kind::Object, Kind::Object) => {
            one.len() == two.len()
                && one.members().all(|(key, value)| {
                    let key = key.as_str().unwrap_or_default();
                    two.get(&key).is_some_and(|other| same(value, other))
                })
        }
        (a, b) => a == b && one.raw() == two.raw(),
    }
}

/// A decimal numeral by value: sign, digits without zeros at either end, power of ten.
#[derive(Debug, PartialEq, Eq)]
struct Numeral {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Numeral {
    fn of(text: &str) -> Self {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let joined = format!("{whole}{fraction}");
        let digits = joined.trim_start_matches('0').trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: 0 };
        }
        let trailing = joined.len() - joined.trim_end_matches('0').len();
        let length = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let given: i64 = exponent.parse().unwrap_or(i64::MAX / 4);
        let exponent = given - length(fraction.len()) + length(trailing);
        Self { negative, digits, exponent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerals_are_equal_by_value() {
        for (one, two) in [("1.0", "1"), ("20", "2e1"), ("-0", "0.00"), ("0.10", "1E-1"), ("1200e-2", "12")] {
            assert_eq!(Numeral::of(one), Numeral::of(two));
        }
        for (one, two) in [("1", "-1"), ("10", "1"), ("9007199254740993", "9007199254740992")] {
            assert_ne!(Numeral::of(one), Numeral::of(two));
        }
    }
}
