//! The declared world: a producer closed to the properties its schema declares. An object node that
//! declares properties, by itself or through the branches a value satisfies, admits no other ones;
//! one that declares none stays a free-form map, and so does one that says itself what other
//! properties may be. Branches are never closed by themselves, nothing under `not`, `if`, `contains`
//! or `propertyNames` is, hence close(A) ⊆ A.

use serde_json::{Map, Value};

use super::evaluated::Aspect;
use super::{Lowering, Place, Stop};
use crate::arena::Lit;

impl Lowering<'_> {
    /// What closing adds to a node.
    pub(super) fn closing<'r>(&mut self, map: &'r Map<String, Value>, here: &Place<'r>) -> Result<Lit, Stop> {
        let speaks = ["additionalProperties", "unevaluatedProperties", "patternProperties"];
        if speaks.iter().any(|keyword| map.contains_key(*keyword)) {
            return Ok(Lit::TRUE);
        }
        let cases = self.cases(map, here, Aspect::Properties, true)?;
        let mut lits = Vec::with_capacity(cases.len());
        for case in cases {
            let seen = &case.seen;
            let free = seen.everything || !seen.patterns.is_empty() || seen.names.is_empty();
            let own = if free { Lit::TRUE } else { self.remaining_fields(seen, Lit::FALSE) };
            lits.push(self.arena.all([case.condition, own]));
        }
        Ok(self.arena.any(lits))
    }
}
