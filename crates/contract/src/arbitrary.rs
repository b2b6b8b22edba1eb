//! Proptest strategies for JSON values.

use proptest::prelude::*;
use serde_json::{Number, Value};

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u64>().prop_map(|n| Value::Number(n.into())),
        any::<i64>().prop_map(|n| Value::Number(n.into())),
        (-1000i64..1000).prop_map(|n| Value::Number(n.into())),
        ((1u64 << 53) - 4..(1u64 << 53) + 4).prop_map(|n| Value::Number(n.into())),
        proptest::num::f64::NORMAL.prop_filter_map("finite", |x| Number::from_f64(x).map(Value::Number)),
        (-8i32..8).prop_filter_map("finite", |n| Number::from_f64(f64::from(n) / 4.0).map(Value::Number)),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,2}", "\\PC{0,6}", any::<String>().prop_map(|s| s.chars().take(6).collect())]
}

/// Any JSON value.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number(),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((text(), inner), 0..6).prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// Values from a small domain, so that two of them are often equal.
pub(crate) fn near() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        (0i64..3).prop_map(|n| Value::Number(n.into())),
        (0u32..3).prop_filter_map("finite", |n| Number::from_f64(f64::from(n)).map(Value::Number)),
        ((1u64 << 53) - 1..(1u64 << 53) + 3).prop_map(|n| Value::Number(n.into())),
        ((1u64 << 53) - 1..(1u64 << 53) + 3)
            .prop_filter_map("finite", |n| Number::from_f64(n as f64).map(Value::Number)),
        "[ab]?".prop_map(Value::String),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..2).prop_map(Value::Array),
            prop::collection::vec(("[ab]", inner), 0..3).prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// JSON equality by an independent definition: numbers as exact decimals, objects without order.
pub(crate) fn equal_json(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => exact(a) == exact(b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal_json(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| equal_json(v, w)))
        }
        _ => a == b,
    }
}

/// Exact value of a number: an integral double as the integer that its decimal text spells, any other double as its
/// bits.
fn exact(n: &Number) -> (i128, u64) {
    if let Some(n) = n.as_i64() {
        return (i128::from(n), 0);
    }
    if let Some(n) = n.as_u64() {
        return (i128::from(n), 0);
    }
    let x = n.as_f64().unwrap_or(f64::NAN);
    // `{x}` prints the shortest digits and then zeros: the value of the JSON text, not of the bits.
    match format!("{x}").parse() {
        Ok(whole) => (whole, 0),
        Err(_) => (0, x.to_bits()),
    }
}
