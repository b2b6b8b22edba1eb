//! `uniqueItems` over the tape: elements are hashed, and only elements with equal hashes are compared.
//!
//! Guarantees: 16 bytes of memory per element, and time proportional to the text, because the hash has a random key
//! and unequal elements collide only by chance. Equality is JSON Schema's: numbers by value, members in any order.

use std::hash::{BuildHasher, Hasher, RandomState};

use super::meter::{spend, text_steps};
use super::node::{Kind, Node};
use super::number::Number;

/// Steps charged per value for comparing it with all others of an array; measured.
pub(crate) const DISTINCT_STEPS: u64 = 6;

/// `true` if no two elements of `array` are equal.
pub(super) fn are_distinct(array: Node<'_>) -> bool {
    if array.len() < 2 {
        return true;
    }
    if !spend(array.slot_count() as u64 * DISTINCT_STEPS + text_steps(array.raw_len())) {
        return false;
    }
    let keys = RandomState::new();
    let mut seen: Vec<(u64, Node<'_>)> =
        array.elements().map(|element| (hash(&keys, element), element)).collect();
    seen.sort_unstable_by_key(|(hash, _)| *hash);
    let mut groups = seen.chunk_by(|(a, _), (b, _)| a == b).filter(|group| group.len() > 1);
    // A group of equal hashes almost always has two equal elements, so the pairwise comparison ends at once.
    !groups.any(|group| {
        group.iter().enumerate().any(|(at, (_, one))| {
            let value = one.to_value();
            let mut others = group.iter().skip(at + 1);
            others.any(|(_, other)| jsonschema_value::cmp::equal(&value, &other.to_value()))
        })
    })
}

/// Hash of a value; equal for equal values.
fn hash(keys: &RandomState, node: Node<'_>) -> u64 {
    let mut hasher = keys.build_hasher();
    match node.kind() {
        Kind::Null => hasher.write_u8(0),
        Kind::Boolean => hasher.write_u8(1 + u8::from(node.as_bool() == Some(true))),
        Kind::Number => {
            hasher.write_u8(3);
            hasher.write_u64(node.as_number().map_or(0, number));
        }
        Kind::String => {
            hasher.write_u8(4);
            hasher.write(node.as_str().unwrap_or_default().as_bytes());
        }
        Kind::Array => {
            hasher.write_u8(5);
            node.elements().for_each(|element| hasher.write_u64(hash(keys, element)));
        }
        Kind::Object => {
            hasher.write_u8(6);
            // Member hashes are summed because their order does not matter.
            let sum = node.members().fold(0u64, |sum, (name, value)| {
                let mut member = keys.build_hasher();
                member.write(name.as_str().unwrap_or_default().as_bytes());
                member.write_u64(hash(keys, value));
                sum.wrapping_add(member.finish())
            });
            hasher.write_u64(sum);
        }
    }
    hasher.finish()
}

/// Hash input of a number; equal for equal numbers. 64-bit integers keep every digit, so that many of them never
/// share one hash.
fn number(number: Number<'_>) -> u64 {
    const INTEGERS: std::ops::Range<f64> = -9.2e18..9.2e18;
    if let Some(integer) = number.as_i64() {
        return integer.cast_unsigned();
    }
    if let Some(integer) = number.as_u64() {
        return integer;
    }
    let double = number.as_f64();
    if double.fract() == 0.0 && INTEGERS.contains(&double) {
        (double as i64).cast_unsigned()
    } else {
        double.to_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Document, Limits};

    #[test]
    fn equal_elements_are_found_however_they_are_written() {
        for (text, distinct) in [
            ("[]", true),
            ("[1]", true),
            ("[1,2,3]", true),
            ("[1,1.0]", false),
            ("[0,-0.0]", false),
            ("[1,true,\"1\",null,[],{},[null]]", true),
            (r#"["a","\u0061"]"#, false),
            (r#"[{"a":1,"b":[2]},{"b":[2.0],"a":1e0}]"#, false),
            (r#"[{"a":1,"b":2},{"a":2,"b":1}]"#, true),
            ("[9007199254740993,9007199254740992]", true),
            ("[9007199254740992,9007199254740992.0]", false),
            ("[18446744073709551615,18446744073709551614]", true),
            ("[[1,2],[2,1]]", true),
        ] {
            let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
            assert_eq!(are_distinct(document.root()), distinct, "{text}");
        }
    }
}
