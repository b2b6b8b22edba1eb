//! Canonical form: RFC 8785, except that 64-bit integers keep every digit (R1.9).
//!
//! Guarantees, for every accepted text: equal JSON gives equal bytes whatever the key order and white space, and
//! different JSON gives different bytes (9007199254740993 and 9007199254740992 do not collide).
//!
//! Refuses numbers that the form cannot carry exactly: literals that are neither a 64-bit integer nor the decimal that
//! their nearest double prints as.

mod number;

use std::cmp::Ordering;

use crate::json::{Kind, Node, Pointer, write_string};

/// Reason why a value has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// A number that is neither a 64-bit integer nor exactly a double.
    #[error(
        "{pointer}: the number {literal} cannot be carried exactly (neither a 64-bit integer nor a double)"
    )]
    InexactNumber { pointer: Pointer, literal: String },
}

/// Returns the canonical text of a value.
///
/// # Errors
/// A number that cannot be carried exactly.
pub fn canonical(node: Node<'_>) -> Result<String, CanonicalError> {
    let mut out = String::with_capacity(node.raw().len());
    write(node, &mut out, Numbers::Canonical).map_err(|number| inexact(node, number))?;
    Ok(out)
}

/// Returns the canonical text with every number as it is written: 1 and 1.0 differ. A digest of it binds a decision to
/// the exact digits that were shown.
#[must_use]
pub fn canonical_verbatim(node: Node<'_>) -> String {
    let mut out = String::with_capacity(node.raw().len());
    // Only numbers can fail, and they are copied here.
    let _ = write(node, &mut out, Numbers::Verbatim);
    out
}

/// Spelling of numbers in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Canonical,
    Verbatim,
}

/// Returns the canonical text of an object, with only the members that `keep` accepts.
pub(crate) fn canonical_members(
    node: Node<'_>,
    keep: impl Fn(&str) -> bool,
) -> Result<String, CanonicalError> {
    let mut out = String::with_capacity(node.raw().len());
    write_object(node, &mut out, Numbers::Canonical, keep).map_err(|number| inexact(node, number))?;
    Ok(out)
}

/// Builds the error. The pointer is searched for only now, because the common path does not need it.
fn inexact(root: Node<'_>, number: Node<'_>) -> CanonicalError {
    CanonicalError::InexactNumber { pointer: root.pointer_to(number), literal: number.raw().to_owned() }
}

fn write<'a>(node: Node<'a>, out: &mut String, numbers: Numbers) -> Result<(), Node<'a>> {
    match node.kind() {
        Kind::Null | Kind::Boolean => out.push_str(node.raw()),
        Kind::String => write_text(node, out),
        Kind::Number if numbers == Numbers::Verbatim => out.push_str(node.raw()),
        Kind::Number => number::write(node.raw(), out).map_err(|number::Inexact| node)?,
        Kind::Array => {
            out.push('[');
            for (i, element) in node.elements().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(element, out, numbers)?;
            }
            out.push(']');
        }
        Kind::Object => write_object(node, out, numbers, |_| true)?,
    }
    Ok(())
}

fn write_text(node: Node<'_>, out: &mut String) {
    // A literal without a backslash is already minimal: unescaped control characters were refused when it was read.
    match node.plain_str() {
        Some(_) => out.push_str(node.raw()),
        None => write_string(out, &node.as_str().unwrap_or_default()),
    }
}

fn write_object<'a>(
    node: Node<'a>,
    out: &mut String,
    numbers: Numbers,
    keep: impl Fn(&str) -> bool,
) -> Result<(), Node<'a>> {
    let mut members: Vec<_> = node
        .members()
        .filter_map(|(key, value)| key.as_str().map(|text| (text, key, value)))
        .filter(|(text, ..)| keep(text))
        .collect();
    if !members.is_sorted_by(|a, b| by_utf16(&a.0, &b.0).is_lt()) {
        members.sort_unstable_by(|a, b| by_utf16(&a.0, &b.0));
    }
    out.push('{');
    for (i, (_, key, value)) in members.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_text(key, out);
        out.push(':');
        write(value, out, numbers)?;
    }
    out.push('}');
    Ok(())
}

/// Orders keys by UTF-16 code units, as RFC 8785 requires. Byte order agrees unless a character is above U+D7FF.
fn by_utf16(a: &str, b: &str) -> Ordering {
    let high = |text: &str| text.bytes().any(|byte| byte >= 0xEE);
    if high(a) || high(b) { a.encode_utf16().cmp(b.encode_utf16()) } else { a.cmp(b) }
}

#[cfg(test)]
mod tests;
