//! Steps between neighbouring formats, each with what it must carry along:
//!
//! ```text
//! ToolHive file ⇄ upstream file ⇄ server.json ⇄ tools/list
//!                 ToolHive entry ⇄ server.json
//! ```
//!
//! A step from A to B takes out of A what B once left there, maps, puts that back in, maps the result back, and leaves
//! in B what the way back would lose. Any conversion is a walk along these steps.

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

/// `document` without what it carries under `key`; itself, unread and uncopied, where it carries nothing.
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

/// `derived` with the patch of `payload` applied, if it has one; what no longer fits is noted.
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

/// What must be carried so that `derived` becomes `wanted` again.
pub(crate) fn to_carry(derived: &str, wanted: Node<'_>) -> Result<Option<String>, Issue> {
    read(derived, |derived| patch::diff(derived, wanted))
}

/// A payload of the members that there are.
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

/// `text` as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::new();
    toolcrib_contract::json::write_string(&mut out, text);
    out
}

/// The member `key`, if it is an object.
pub(crate) fn object<'d>(node: Node<'d>, key: &'static str) -> Result<Node<'d>, Issue> {
    match node.get(key) {
        Some(value) if value.is_object() => Ok(value),
        Some(value) => Err(kind(Pointer::root().join(key), "an object", value)),
        None => Err(Issue::new(Pointer::root(), Fault::Missing { member: key })),
    }
}

/// Another type than the format has at this place.
pub(crate) fn kind(pointer: Pointer, expected: &'static str, found: Node<'_>) -> Issue {
    Issue::new(pointer, Fault::Kind { expected, found: found.kind().name() })
}
