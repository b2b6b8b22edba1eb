//! What changed about a schema. The walk over the two documents yields edits: one place, one
//! reason. Each edit is judged by itself, applied alone to the old document, so that N changes give
//! N findings, each with a whole witness; the verdict on all of them together is asked as well, and
//! overrules: what another change makes good is no break, and a break no edit shows by itself is a
//! finding of its own. No witness, no break: where a break of the definition has no value to show it
//! (a schema that is gone, a header), the finding is on the definition and not on the schema. Of a schema
//! that is unusable only what models read is compared.

mod patch;
mod rename;
mod walk;

use serde_json::Value;
use toolcrib_containment::{Dialect, Prover, SchemaError, Side, Verdict, World};

use crate::change::{Direction, Note};
use crate::definition::{Draft, prose};
use crate::diff::Options;
use crate::level::Level;
use crate::unusable::Sides;

use patch::applied;
pub(crate) use patch::escaped;
use walk::Edit;

/// Integers beyond this are not exact in JavaScript.
const SAFE_INTEGER: i64 = 9_007_199_254_740_991;

/// Where a schema stands and how it is judged.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) direction: Direction,
    pub(crate) key: &'static str,
    pub(crate) options: &'a Options,
    pub(crate) prover: &'a Prover,
    pub(crate) others: &'a [&'a str],
    /// Both sides are usable.
    pub(crate) is_judged: bool,
}

/// The findings on one schema.
pub(crate) fn changes(old: Option<&Value>, new: Option<&Value>, place: &Place<'_>) -> Vec<Draft> {
    let given = |side: Option<&Value>| side.is_some_and(|schema| !schema.is_null());
    let mut draft = match (place.direction, given(old), given(new)) {
        (_, true, true) => return both(old, new, place),
        (_, false, false) => return Vec::new(),
        (Direction::Output, false, true) => Draft::new("output.added", "/outputSchema"),
        (Direction::Output, true, false) => {
            let mut draft = Draft::new("output.removed", "/outputSchema");
            draft.witness = old.and_then(|old| place.no_longer_promised(old));
            draft
        }
        (_, false, true) => Draft::new("input.restored", "/inputSchema"),
        (_, true, false) => Draft::new("input.invalid", "/inputSchema").named("there is no input schema"),
    };
    let is_of_tool = draft.id == "input.invalid" || (draft.id == "output.removed" && draft.witness.is_none());
    draft.direction = if is_of_tool { Direction::Definition } else { place.direction };
    vec![draft.parts(old, new)]
}

fn both(old: Option<&Value>, new: Option<&Value>, place: &Place<'_>) -> Vec<Draft> {
    let (Some(old), Some(new)) = (old, new) else { return Vec::new() };
    let edits = walk::edits(old, new);
    if !place.is_judged {
        let prose = edits.iter().filter(|edit| edit.rule == "text.param");
        return prose.map(|edit| place.directed(place.of_prose(edit))).collect();
    }
    let mut drafts: Vec<Draft> = place.no_object(old, new).into_iter().collect();
    let whole = place.judge(old, new);
    let mut broken = false;
    let mut undecided = false;
    for edit in edits {
        let draft = place.of_edit(old, &edit, &whole);
        // A break that its name lets down explains the whole as well.
        broken |= draft.level == Some(Level::Breaking) || draft.witness.is_some();
        undecided |= draft.level == Some(Level::Unknown);
        drafts.push(place.directed(draft));
    }
    let root = format!("/{}", place.key);
    let rest = match whole {
        Answer::Breaking { witness, refusal } if !broken => {
            let mut draft = Draft::new("schema.combined", root);
            draft.witness = Some(witness);
            draft.notes.push(Note::Refused(refusal));
            Some(draft)
        }
        Answer::Unknown(obstacle) if !undecided && !broken => {
            let mut draft = Draft::new("schema.unknown", root);
            draft.notes.push(Note::Obstacle(obstacle));
            Some(draft)
        }
        Answer::Unusable(sides, fault) => {
            let mut draft = Draft::new("schema.invalid", root).named(fault);
            draft.notes.push(Note::Unusable(sides));
            Some(draft)
        }
        _ => None,
    };
    drafts.extend(rest.map(|draft| place.directed(draft)));
    drafts
}

/// What the prover says of a pair.
#[derive(Clone, Debug)]
enum Answer {
    Compatible,
    Breaking {
        witness: Value,
        refusal: String,
    },
    Unknown(String),
    /// The prover cannot read a side that was admitted.
    Unusable(Sides, String),
}

impl Place<'_> {
    /// Judges two versions in this place's direction.
    fn judge(&self, old: &Value, new: &Value) -> Answer {
        self.judge_with(self.prover, old, new)
    }

    fn judge_with(&self, prover: &Prover, old: &Value, new: &Value) -> Answer {
        let (producer, consumer) = match self.direction {
            Direction::Output => (new, old),
            _ => (old, new),
        };
        match prover.judge_here(producer, consumer, (Dialect::default(), Dialect::default())) {
            Err(error) => self.unusable(&error),
            Ok(judgement) => match judgement.verdict {
                Verdict::Compatible(_) => Answer::Compatible,
                Verdict::Breaking(witness) => {
                    Answer::Breaking { witness: witness.value, refusal: witness.refusal.message }
                }
                Verdict::Unknown(obstacle) => Answer::Unknown(obstacle.to_string()),
            },
        }
    }

    fn unusable(&self, error: &SchemaError) -> Answer {
        let new_side = if self.direction == Direction::Output { Side::Producer } else { Side::Consumer };
        let sides = if error.side == new_side { Sides::New } else { Sides::Old };
        Answer::Unusable(sides, error.fault.to_string())
    }

    /// The specification wants arguments to be an object; whoever keeps to it drops the tool, whatever it accepts.
    fn no_object(&self, old: &Value, new: &Value) -> Option<Draft> {
        let of_object = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("object");
        let lost = self.direction == Direction::Input && of_object(old) && !of_object(new);
        lost.then(|| {
            Draft::new("input.invalid", "/inputSchema/type")
                .parts(old.get("type"), new.get("type"))
                .named("the input schema is not of type object")
        })
    }

    /// An answer that was forbidden as long as there was a schema; structured answers are objects.
    fn no_longer_promised(&self, old: &Value) -> Option<Value> {
        let open = self.prover.in_world(World::Open);
        match self.judge_with(&open, old, &serde_json::json!({"type": "object"})) {
            Answer::Breaking { witness, .. } => Some(witness),
            _ => None,
        }
    }

    /// A finding on the schema, unless it is a break that no value shows.
    fn directed(&self, mut draft: Draft) -> Draft {
        let is_shown = draft.level != Some(Level::Breaking) || draft.witness.is_some();
        draft.direction = if is_shown { self.direction } else { Direction::Definition };
        draft
    }

    fn of_prose(&self, edit: &Edit) -> Draft {
        let path = format!("/{}{}", self.key, edit.pointer);
        prose(edit.rule, path, edit.old.as_ref(), edit.new.as_ref(), self.others)
    }

    fn of_edit(&self, old: &Value, edit: &Edit, whole: &Answer) -> Draft {
        if edit.rule == "text.param" {
            return self.of_prose(edit);
        }
        let path = format!("/{}{}", self.key, edit.pointer);
        let mut draft =
            Draft::new(edit.rule, path).parts(edit.old.as_ref(), edit.new.as_ref()).named(edit.name.as_str());
        if let Some(fixed) = self.fixed_level(edit) {
            draft.level = fixed;
            return draft;
        }
        let changed = applied(old, &edit.patches);
        let answer = match self.judge(old, &changed) {
            // An edit that makes no schema by itself is judged with all the others.
            Answer::Unusable(..) => whole.clone(),
            answer => answer,
        };
        match answer {
            Answer::Compatible => {
                draft.level = Some(Level::Compatible);
                self.advise(&mut draft, edit);
                self.note_open_world(&mut draft, old, &changed);
            }
            Answer::Breaking { .. } if matches!(whole, Answer::Compatible) => {
                draft.level = Some(Level::Compatible);
                draft.notes.push(Note::Absorbed);
            }
            Answer::Breaking { witness, refusal } => {
                draft.level = Some(self.break_level(&mut draft, edit, &witness));
                draft.witness = Some(witness);
                draft.notes.push(Note::Refused(refusal));
            }
            Answer::Unknown(obstacle) => {
                draft.level = Some(Level::Unknown);
                draft.notes.push(Note::Obstacle(obstacle));
            }
            Answer::Unusable(sides, fault) => {
                draft.level = Some(Level::Unknown);
                draft.notes.push(Note::Obstacle(format!("the schema {sides} is unusable: {fault}")));
            }
        }
        draft
    }

    /// Levels that containment has nothing to say about.
    fn fixed_level(&self, edit: &Edit) -> Option<Option<Level>> {
        match edit.rule {
            "annotation.changed" => Some(None),
            "default.changed" => Some(Some(match self.direction {
                Direction::Output => Level::Compatible,
                _ => Level::Dangerous,
            })),
            "format.changed" if !self.options.assert_formats => Some(Some(Level::Dangerous)),
            "header.changed" => {
                Some(Some(if self.options.http { Level::Breaking } else { Level::Compatible }))
            }
            _ => None,
        }
    }

    /// What is contained and still worth a look.
    fn advise(&self, draft: &mut Draft, edit: &Edit) {
        if self.direction != Direction::Input {
            return;
        }
        match edit.rule {
            "property.removed" => {
                draft.id = "property.ignored";
                draft.level = Some(Level::Dangerous);
            }
            "property.renamed" => draft.level = Some(Level::Dangerous),
            "additional.closed" => draft.level = Some(Level::Dangerous),
            _ => {}
        }
    }

    /// A break, unless it has a name that lets it down.
    fn break_level(&self, draft: &mut Draft, edit: &Edit, witness: &Value) -> Level {
        if edit.rule == "bound.changed"
            && edit.new.as_ref().is_some_and(is_safe_bound)
            && beyond_safe(witness)
        {
            draft.id = "bound.js-safe-int";
            return Level::Dangerous;
        }
        let extensible = self.options.extensible_enums || edit.extensible;
        if edit.rule == "enum.value-added" && self.direction == Direction::Output && extensible {
            return Level::Dangerous;
        }
        Level::Breaking
    }

    /// Says so where a verdict holds only for callers that keep to what is declared.
    fn note_open_world(&self, draft: &mut Draft, old: &Value, changed: &Value) {
        if self.options.world != World::Declared {
            return;
        }
        let open = self.prover.in_world(World::Open);
        if let Answer::Breaking { witness, .. } = self.judge_with(&open, old, changed) {
            draft.notes.push(Note::DeclaredWorldOnly(witness));
        }
    }
}

fn is_safe_bound(value: &Value) -> bool {
    value.as_i64().is_some_and(|bound| bound.abs() == SAFE_INTEGER)
        || value.as_f64().is_some_and(|bound| bound.abs() == 9_007_199_254_740_991.0)
}

/// Whether a number beyond the safe integers is what the value shows.
fn beyond_safe(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|number| number.abs() > 9_007_199_254_740_991.0),
        Value::Array(items) => items.iter().any(beyond_safe),
        Value::Object(map) => map.values().any(beyond_safe),
        _ => false,
    }
}
