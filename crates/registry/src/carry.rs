//! What one format cannot say is carried along in the other and comes back (R6.3).
//!
//! A conversion maps A to B with a plain mapping, maps that back, and compares: the difference between what came back
//! and A is a *patch*, and only the patch is carried, in a slot that B's own schema allows. The way back applies it.
//! So a mapping never has to be reversible, and A → B → A is the same document by construction.
//!
//! A patch never overrules an edit: what it replaces or drops it names by digest, and where the document was edited
//! meanwhile the edit stays and the patch's part is left out, with a note.

pub(crate) mod patch;
pub(crate) mod slot;
