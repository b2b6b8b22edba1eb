//! Carries what the target format cannot express, so that it comes back (R6.3).
//!
//! A conversion maps A to B, maps that back, and compares. The difference between the result and A is a *patch*. Only
//! the patch is carried, in a slot that B's own schema allows, and the way back applies it. So a mapping need not be
//! reversible, and A → B → A is the same document by construction.
//!
//! A patch never overrules an edit: it names by digest each value that it replaces or drops. If the document was edited
//! in between, the edit stays and that part of the patch is left out, with a note.

pub(crate) mod patch;
pub(crate) mod slot;
