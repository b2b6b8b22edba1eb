use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::arbitrary;
use crate::json::{Document, Limits};

fn form(text: &str) -> Result<String, CanonicalError> {
    canonical(Document::parse(text.as_bytes(), &Limits::message()).unwrap().root())
}

/// R1.9: the example of RFC 8785 has the RFC's output: keys in order of UTF-16 code units, minimal strings.
#[test]
fn rfc_8785_example_holds() {
    let text = r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
        "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#;
    // The RFC's 333333333.33333329 differs from the decimal that its double prints as, so it is refused here.
    assert!(matches!(form(text), Err(CanonicalError::InexactNumber { .. })));
    let text = text.replace("333333333.33333329", "333333333.3333333");
    assert_eq!(
        form(&text).unwrap(),
        "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
    );
}

/// R1.9: RFC 8785, section 3.2.3: sorting by UTF-16 code units.
#[test]
fn keys_sort_by_utf16_code_units() {
    let text = r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#;
    assert_eq!(
        form(text).unwrap(),
        "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}"
    );
}

/// R4.5: a decision is bound to the digits that were confirmed; only numbers distinguish verbatim forms.
#[test]
fn verbatim_numbers_differ_by_their_digits_and_nothing_else_does() {
    let verbatim =
        |text: &str| canonical_verbatim(Document::parse(text.as_bytes(), &Limits::message()).unwrap().root());
    assert_ne!(verbatim("9007199254740993"), verbatim("9007199254740993.0"));
    assert_ne!(verbatim("[1]"), verbatim("[1e0]"));
    assert_eq!(
        verbatim(r#"{"b": 333333333.33333329, "a": "\u0041"}"#),
        r#"{"a":"A","b":333333333.33333329}"#
    );
}

/// R1.9: integers of 64 bits keep every digit.
#[test]
fn neighbouring_64_bit_integers_do_not_collide() {
    assert_ne!(form("9007199254740993").unwrap(), form("9007199254740992").unwrap());
    for n in ["18446744073709551615", "-9223372036854775808", "9007199254740993", "1000000000000000001"] {
        assert_eq!(form(n).unwrap(), n);
    }
    assert_eq!(form("9007199254740993.0").unwrap(), "9007199254740993");
    assert_eq!(form("900719925474099.3e1").unwrap(), "9007199254740993");
}

/// R1.9: between two shortest decimals that are equally near to a double, ECMAScript prints the even one.
#[test]
fn ties_go_to_the_even_digit() {
    for (even, odd) in [("90071992547400.12", "90071992547400.13"), ("5e-324", "3e-324")] {
        assert_eq!(form(even).unwrap(), even);
        assert!(matches!(form(odd), Err(CanonicalError::InexactNumber { .. })), "{odd}");
    }
}

/// R1.9: equal numbers have equal bytes, however they are written.
#[test]
fn equal_numbers_are_written_alike() {
    for same in
        [["1", "1.0", "10e-1"], ["100", "1e2", "1.00E+2"], ["0", "-0", "0.0e5"], ["0.1", "1e-1", "0.100"]]
    {
        let forms: Vec<_> = same.iter().map(|n| form(n).unwrap()).collect();
        assert!(forms.iter().all(|f| *f == forms[0]), "{same:?} gave {forms:?}");
    }
    assert_eq!(form("1e21").unwrap(), "1e+21");
    assert_eq!(form("18446744073709552000").unwrap(), "18446744073709552000");
    assert_eq!(form("1e-7").unwrap(), "1e-7");
    assert_eq!(form("-1.5e-9").unwrap(), "-1.5e-9");
    assert_eq!(form("0.000001").unwrap(), "0.000001");
}

/// R1.9: numbers that cannot round-trip are refused, with their place.
#[test]
fn numbers_that_cannot_round_trip_are_refused() {
    for n in [
        "18446744073709551616",
        "0.1234567890123456789",
        "1e-400",
        "-9223372036854775809",
        "123456789012345678901234567890",
    ] {
        assert!(form(n).is_err(), "{n}");
    }
    let error = form(r#"{"a":[1,{"b":0.30000000000000004441}]}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "/a/1/b: the number 0.30000000000000004441 cannot be carried exactly (neither a 64-bit integer nor a double)"
    );
}

fn shuffled(value: &Value, seed: u64) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(|v| shuffled(v, seed)).collect()),
        Value::Object(members) => {
            let mut entries: Vec<_> = members.iter().map(|(k, v)| (k.clone(), shuffled(v, seed))).collect();
            entries.sort_by_key(|(k, _)| {
                k.bytes().fold(seed, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b)).rotate_left(7))
            });
            Value::Object(entries.into_iter().collect())
        }
        other => other.clone(),
    }
}

proptest! {
    /// R1.9: equal JSON gives equal bytes, whatever key order and white space.
    #[test]
    fn stable_across_key_order_and_white_space(value in arbitrary::json(), seed: u64) {
        let plain = form(&value.to_string());
        let pretty = form(&serde_json::to_string_pretty(&shuffled(&value, seed)).unwrap());
        prop_assert_eq!(plain, pretty);
    }

    /// R1.9: injective on accepted input: equal bytes only for equal JSON.
    #[test]
    fn injective_on_accepted_input(a in arbitrary::json(), b in arbitrary::near(), c in arbitrary::near()) {
        for (x, y) in [(&a, &b), (&b, &c)] {
            if let (Ok(fx), Ok(fy)) = (form(&x.to_string()), form(&y.to_string())) {
                prop_assert_eq!(fx == fy, arbitrary::equal_json(x, y), "{} and {}", x, y);
            }
        }
    }

    /// R1.9: the canonical form is JSON for the same value, and its own canonical form.
    #[test]
    fn canonical_form_reads_back(value in arbitrary::json()) {
        if let Ok(text) = form(&value.to_string()) {
            let back: Value = serde_json::from_str(&text).unwrap();
            prop_assert!(arbitrary::equal_json(&back, &value));
            prop_assert_eq!(form(&text).unwrap(), text);
        }
    }

    /// R1.9: for numbers that RFC 8785 and this form both carry exactly, the bytes are ECMAScript's.
    #[test]
    fn doubles_are_written_as_they_round_trip(x in proptest::num::f64::NORMAL) {
        let text = form(&serde_json::to_string(&x).unwrap()).unwrap();
        prop_assert_eq!(text.parse::<f64>().unwrap(), x);
    }
}
