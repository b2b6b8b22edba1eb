//! Comparison of safety hints; an absent hint has its default. A change of `destructive` or `idempotent` is
//! cosmetic if the tool is read-only on both sides.

use serde_json::{Value, json};
use toolcrib_contract::{Definition, Hint};

use crate::definition::Draft;

/// Returns the findings on one tool's hints.
pub(crate) fn changes(old: &Definition, new: &Definition) -> Vec<Draft> {
    let (before, after) = (old.annotations().hints, new.annotations().hints);
    let read_only = before.or_default(Hint::ReadOnly) && after.or_default(Hint::ReadOnly);
    let mut drafts = Vec::new();
    for hint in Hint::ALL {
        let (was, is) = (before.get(hint), after.get(hint));
        if was == is {
            continue;
        }
        let (from, to) = (before.or_default(hint), after.or_default(hint));
        let silent = read_only && matches!(hint, Hint::Destructive | Hint::Idempotent);
        let id = if from == to || silent { "safety.cosmetic" } else { rule(hint, to) };
        let shown = |said: Option<bool>| said.map(Value::Bool);
        let mut draft = Draft::new(id, format!("/annotations/{}", hint.spec_name()));
        draft.name = hint.spec_name().to_owned();
        draft.old = shown(was).or_else(|| (id != "safety.cosmetic").then(|| json!(from)));
        draft.new = shown(is).or_else(|| (id != "safety.cosmetic").then(|| json!(to)));
        drafts.push(draft);
    }
    drafts
}

fn rule(hint: Hint, now: bool) -> &'static str {
    match (hint, now) {
        (Hint::ReadOnly, false) => "safety.readonly-lost",
        (Hint::ReadOnly, true) => "safety.readonly-claimed",
        (Hint::Destructive, true) => "safety.destructive-gained",
        (Hint::Destructive, false) => "safety.destructive-dropped",
        (Hint::Idempotent, false) => "safety.idempotent-lost",
        (Hint::Idempotent, true) => "safety.idempotent-gained",
        (Hint::OpenWorld, true) => "safety.openworld-gained",
        (Hint::OpenWorld, false) => "safety.openworld-dropped",
    }
}
