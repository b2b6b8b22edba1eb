//! Conversion steps between neighbouring formats, each with the payload that it carries along (R6.3):
//!
//! ```text
//! ToolHive file ⇄ upstream file ⇄ server.json ⇄ tools/list
//!                 ToolHive entry ⇄ server.json
//! ```
//!
//! A step from A to B removes the payload that B left in A, maps A, applies that payload to the result, maps the result
//! back, and carries in B what the way back would lose. Every conversion is a sequence of these steps.

pub(crate) mod entry;
pub(crate) mod file;
pub(crate) mod single;
pub(crate) mod tools;

use toolcrib_contract::json::{Document, Limits, Node, ObjectWriter, Pointer};

use crate::carry::patch;
use crate::carry::slot::Slot;
use crate::issue::{Fault, Issue, Report};

/// Reads text that this crate wrote or has read before.
pub(crate) fn read<T>(text: &str, then: impl FnOnce(Node<'_>) -> T) -> Result<T, Issue> {
    match Document::parse(text.as_bytes(), &Limits::file()) {
        Ok(document) => Ok(then(document.root())),
        Err(error) => Err(Issue::new(error.pointer.clone(), Fault::Schema { rule: error.to_string() })),
    }
}

/// Calls `then` with `document` without the payload under `key`; with `document` itself, not copied, if it has none.
pub(crate) fn plainly<T>(
    slot: Slot,
    document: Node<'_>,
    key: &str,
    then: impl FnOnce(Node<'_>) -> T,
) -> Result<T, Issue> {
    if slot.carried(document, key).is_none() {
        return Ok(then(document));
    }
    read(&slot.without(document, key), then)
}

/// Applies the patch in `payload`, if any, to `derived`. Parts that no longer apply are noted.
pub(crate) fn restored(
    derived: String,
    payload: Option<Node<'_>>,
    report: &mut Report,
) -> Result<String, Issue> {
    let Some(own) = payload.and_then(|payload| payload.get("patch")) else { return Ok(derived) };
    let mut left = Vec::new();
    let text = read(&derived, |node| patch::apply(node, own, &mut left))?;
    for place in left {
        report.note(place, Fault::CarryLeftOut);
    }
    Ok(text)
}

/// Returns the patch that turns `derived` into `wanted`, or `None` if they are equal.
pub(crate) fn to_carry(derived: &str, wanted: Node<'_>) -> Result<Option<String>, Issue> {
    read(derived, |derived| patch::diff(derived, wanted))
}

/// Returns an object of the members that are present, or `None` without any.
pub(crate) fn payload<const N: usize>(members: [(&str, Option<String>); N]) -> Option<String> {
    let mut out = ObjectWriter::new();
    let mut any = false;
    for (key, value) in members {
        if let Some(value) = value {
            out.raw(key, &value);
            any = true;
        }
    }
    any.then(|| out.finish())
}

/// Returns `text` as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::new();
    toolcrib_contract::json::write_string(&mut out, text);
    out
}

/// Returns the member `key`, which must be an object.
pub(crate) fn object<'d>(node: Node<'d>, key: &'static str) -> Result<Node<'d>, Issue> {
    match node.get(key) {
        Some(value) if value.is_object() => Ok(value),
        Some(value) => Err(kind(Pointer::root().join(key), "an object", value)),
        None => Err(Issue::new(Pointer::root(), Fault::Missing { member: key })),
    }
}

/// Returns the issue of a value that has another type than the format requires.
pub(crate) fn kind(pointer: Pointer, expected: &'static str, found: Node<'_>) -> Issue {
    Issue::new(pointer, Fault::Kind { expected, found: found.kind().name() })
}
