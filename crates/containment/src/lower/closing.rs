//! Closing of a producer for the declared world, in which only declared properties are sent. An object schema that
//! declares properties, itself or through the branches that a value satisfies, admits no others. A schema that
//! declares none stays a free-form map, and so does one with its own rule for other properties. Branches are never
//! closed separately, and nothing under `not`, `if`, `contains` or `propertyNames` is closed, hence close(A) ⊆ A.

use serde_json::{Map, Value};

use super::evaluated::Aspect;
use super::{Lowering, Place, Stop};
use crate::arena::Lit;

impl Lowering<'_> {
    /// Returns the constraint that closing adds to a schema object.
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
