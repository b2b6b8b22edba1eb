//! Canonical numbers are ECMAScript's: the shortest text that other printers choose for a double is accepted.

use proptest::prelude::*;
use toolcrib_contract::canonical;
use toolcrib_contract::json::{Document, Limits};

fn form(text: &str) -> Option<String> {
    canonical(Document::parse(text.as_bytes(), &Limits::message()).unwrap().root()).ok()
}

/// Doubles of every magnitude, and doubles half-way between two shortest decimals.
fn doubles() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |x| x.is_finite()),
        ((1u64 << 46)..(1 << 52), 0u32..7).prop_map(|(n, bits)| n as f64 / f64::from(1u32 << bits)),
        (any::<u32>(), -30i32..30).prop_map(|(n, power)| f64::from(n) * 10f64.powi(power)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_096, failure_persistence: None, ..ProptestConfig::default() })]

    /// R1.9: the shortest text of a double, as other printers choose it, has a canonical form with the same value.
    #[test]
    fn what_others_print_for_a_double_has_a_canonical_form(x in doubles()) {
        let printed = serde_json::to_string(&x).unwrap();
        let form = form(&printed);
        prop_assert!(form.is_some(), "{} is refused", printed);
        let form = form.unwrap_or_default();
        prop_assert_eq!(form.parse::<f64>().unwrap(), x, "{}", form);
        // A 64-bit integer keeps every digit of its literal; any other number is written as ECMAScript does.
        prop_assert!(form.len() <= 25 && !form.contains("e0") && !form.ends_with(".0"), "{}", form);
    }
}

/// R1.9: texts and their ECMAScript output, from the appendix of RFC 8785 (as decimals) and beyond.
#[test]
fn forms_of_numbers_are_those_of_ecmascript() {
    for (text, expected) in [
        ("5e-324", "5e-324"),
        ("-5e-324", "-5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("-1.7976931348623157e308", "-1.7976931348623157e+308"),
        ("295147905179352830000", "295147905179352830000"),
        ("9.999999999999997e22", "9.999999999999997e+22"),
        ("1e23", "1e+23"),
        ("1.0000000000000001e23", "1.0000000000000001e+23"),
        ("999999999999999700000", "999999999999999700000"),
        ("999999999999999900000", "999999999999999900000"),
        ("1e21", "1e+21"),
        ("9.999999999999997e-7", "9.999999999999997e-7"),
        ("0.000001", "0.000001"),
        ("333333333.3333332", "333333333.3333332"),
        ("333333333.33333325", "333333333.33333325"),
        ("333333333.3333333", "333333333.3333333"),
        ("333333333.3333334", "333333333.3333334"),
        ("333333333.33333343", "333333333.33333343"),
        ("-0.0000033333333333333333", "-0.0000033333333333333333"),
        ("1424953923781206.2", "1424953923781206.2"),
    ] {
        assert_eq!(form(text).as_deref(), Some(expected));
    }
}
