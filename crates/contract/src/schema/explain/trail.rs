//! The way from the root of a value to the part that is being looked at, without an allocation per step.

use crate::json::{Node, Pointer};
use crate::limits::VIOLATION_PATH_BYTES_MAX;

/// One step of the way, and those before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trail<'t> {
    before: Option<&'t Trail<'t>>,
    step: Step<'t>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'t> {
    Root,
    Member(Node<'t>),
    Element(usize),
}

impl<'t> Trail<'t> {
    pub(super) const ROOT: Self = Self { before: None, step: Step::Root };

    /// Goes on to the member with this key.
    pub(super) const fn member(&'t self, key: Node<'t>) -> Self {
        Self { before: Some(self), step: Step::Member(key) }
    }

    /// Goes on to the element at `index`.
    pub(super) const fn element(&'t self, index: usize) -> Self {
        Self { before: Some(self), step: Step::Element(index) }
    }

    /// The way without its last step.
    pub(super) fn before(&self) -> &Trail<'t> {
        self.before.unwrap_or(&Self::ROOT)
    }

    /// The pointer to the part, cut behind [`VIOLATION_PATH_BYTES_MAX`] bytes.
    pub(super) fn pointer(&self) -> Pointer {
        let mut pointer = match self.before {
            Some(before) => before.pointer(),
            None => return Pointer::root(),
        };
        if pointer.as_str().len() > VIOLATION_PATH_BYTES_MAX {
            return pointer;
        }
        match self.step {
            Step::Root => {}
            Step::Element(index) => pointer.push(&index.to_string()),
            Step::Member(key) => {
                let name = key.as_str().unwrap_or_default();
                match name.char_indices().nth(VIOLATION_PATH_BYTES_MAX) {
                    Some((end, _)) => pointer.push(&format!("{}…", name.get(..end).unwrap_or_default())),
                    None => pointer.push(&name),
                }
            }
        }
        if pointer.as_str().len() > VIOLATION_PATH_BYTES_MAX {
            pointer.push("…");
        }
        pointer
    }
}
