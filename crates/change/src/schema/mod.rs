//! Comparison of two versions of a schema. A walk over both documents yields edits, each with one place and one
//! reason. Each edit is applied alone to the old document and judged, so that N changes give N findings, each with
//! its own witness. The verdict on all edits together overrules: an edit that another one compensates does not break,
//! and a break that no single edit shows is a finding of its own. A break without a witness (a removed schema, a
//! header) is a finding on the definition and not on the schema. In an unusable schema, only the text that models
//! read is compared.

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

/// Largest integer that is exact in JavaScript.
const SAFE_INTEGER: i64 = 9_007_199_254_740_991;

/// Location of a schema and the means to judge it.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) direction: Direction,
    pub(crate) key: &'static str,
    pub(crate) options: &'a Options,
    pub(crate) prover: &'a Prover,
    pub(crate) others: &'a [&'a str],
    /// `true` if both sides are usable.
    pub(crate) is_judged: bool,
}

/// Returns the findings on one schema.
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
        // A break under a milder rule also explains the break of the whole schema.
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

/// Verdict of the prover on a pair.
#[derive(Clone, Debug)]
enum Answer {
    Compatible,
    Breaking {
        witness: Value,
        refusal: String,
    },
    Unknown(String),
    /// The prover cannot read a side, although admission accepted it.
    Unusable(Sides, String),
}

impl Place<'_> {
    /// Judges two versions in the direction of this place.
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

    /// Finds an input schema that is no longer of type object. The specification requires that type, so a strict
    /// client drops the tool whatever the schema accepts.
    fn no_object(&self, old: &Value, new: &Value) -> Option<Draft> {
        let of_object = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("object");
        let lost = self.direction == Direction::Input && of_object(old) && !of_object(new);
        lost.then(|| {
            Draft::new("input.invalid", "/inputSchema/type")
                .parts(old.get("type"), new.get("type"))
                .named("the input schema is not of type object")
        })
    }

    /// Returns an object that the old output schema forbids and that is allowed once there is no output schema.
    fn no_longer_promised(&self, old: &Value) -> Option<Value> {
        let open = self.prover.in_world(World::Open);
        match self.judge_with(&open, old, &serde_json::json!({"type": "object"})) {
            Answer::Breaking { witness, .. } => Some(witness),
            _ => None,
        }
    }

    /// Sets the direction: that of the schema, unless the draft is a break without a witness.
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
            // An edit that alone yields an invalid schema is judged together with all others.
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

    /// Returns the level of an edit on which containment has no bearing; the inner `None` leaves it to the rule.
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

    /// Raises the level of an input change that is contained but still needs review.
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

    /// Breaking, unless a milder named rule applies.
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

    /// Adds a note if the verdict holds only for callers that send declared properties.
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

/// `true` if the value contains a number beyond the safe integers of JavaScript.
fn beyond_safe(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|number| number.abs() > 9_007_199_254_740_991.0),
        Value::Array(items) => items.iter().any(beyond_safe),
        Value::Object(map) => map.values().any(beyond_safe),
        _ => false,
    }
}
