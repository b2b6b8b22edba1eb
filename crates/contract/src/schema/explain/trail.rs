//! Path from the root of a value to the part under inspection, as a linked list on the stack without allocations.

use crate::json::{Node, Pointer};
use crate::limits::VIOLATION_PATH_BYTES_MAX;

/// One step of the path, linked to the step before it.
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

    /// Extends the path by the member with this key.
    pub(super) const fn member(&'t self, key: Node<'t>) -> Self {
        Self { before: Some(self), step: Step::Member(key) }
    }

    /// Extends the path by the element at `index`.
    pub(super) const fn element(&'t self, index: usize) -> Self {
        Self { before: Some(self), step: Step::Element(index) }
    }

    /// Returns the path without its last step.
    pub(super) fn before(&self) -> &Trail<'t> {
        self.before.unwrap_or(&Self::ROOT)
    }

    /// Returns the path as a pointer, cut after [`VIOLATION_PATH_BYTES_MAX`] bytes.
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
