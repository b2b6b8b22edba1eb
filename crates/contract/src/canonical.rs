//! Canonical form: RFC 8785 with one difference, integers of 64 bits keep every digit (R1.9).
//!
//! Guarantees, for the texts it accepts: equal JSON gives equal bytes, different JSON gives different bytes
//! (9007199254740993 and 9007199254740992 do not collide), whatever the order of keys and the white space.
//!
//! Refuses numbers that the form cannot carry exactly: their literal is neither a 64-bit integer nor the
//! decimal that its nearest double prints as.

mod number;

use std::cmp::Ordering;

use crate::json::{Kind, Node, Pointer, write_string};

/// Why a text has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// A number that cannot be carried exactly.
    #[error(
        "{pointer}: the number {literal} cannot be carried exactly (neither a 64-bit integer nor a double)"
    )]
    InexactNumber { pointer: Pointer, literal: String },
}

/// The canonical bytes of a value, as UTF-8 text.
///
/// # Errors
/// A number that cannot be carried exactly.
pub fn canonical(node: Node<'_>) -> Result<String, CanonicalError> {
    let mut out = String::with_capacity(node.raw().len());
    write(node, &mut out, Numbers::Canonical).map_err(|number| inexact(node, number))?;
    Ok(out)
}

/// The canonical text with every number as it is written: 1 and 1.0 differ. Binds a decision to the very digits that were
/// shown.
#[must_use]
pub fn canonical_verbatim(node: Node<'_>) -> String {
    let mut out = String::with_capacity(node.raw().len());
    // Only numbers can fail, and these are copied.
    let _ = write(node, &mut out, Numbers::Verbatim);
    out
}

/// How numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Canonical,
    Verbatim,
}

/// The canonical text of an object without those of its members that `keep` refuses.
pub(crate) fn canonical_members(
    node: Node<'_>,
    keep: impl Fn(&str) -> bool,
) -> Result<String, CanonicalError> {
    let mut out = String::with_capacity(node.raw().len());
    write_object(node, &mut out, Numbers::Canonical, keep).map_err(|number| inexact(node, number))?;
    Ok(out)
}

/// The place is looked for only now that something is wrong there.
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
    // Without a backslash the literal is already minimal: control characters are never unescaped.
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

/// RFC 8785 sorts by UTF-16 code units; bytes agree with that unless a character is beyond U+D7FF.
fn by_utf16(a: &str, b: &str) -> Ordering {
    let high = |text: &str| text.bytes().any(|byte| byte >= 0xEE);
    if high(a) || high(b) { a.encode_utf16().cmp(b.encode_utf16()) } else { a.cmp(b) }
}

#[cfg(test)]
mod tests;
