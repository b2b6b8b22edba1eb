//! Lint rules for annotations.

use super::Found;
use crate::annotations::{Audience, Hint};
use crate::definition::Definition;
use crate::json::{Node, Pointer};

fn place(key: &str) -> Pointer {
    Pointer::root().join("annotations").join(key)
}

/// Finds a hint whose two spellings disagree, and a read-only tool that claims to be destructive or not idempotent.
pub(super) fn contradictory(definition: &Definition, found: &mut Vec<Found>) {
    let Some(annotations) = definition.get("annotations") else { return };
    let said = |key: &str| annotations.get(key).and_then(Node::as_bool);
    for hint in Hint::ALL {
        if let (Some(spec), Some(bare)) = (said(hint.spec_name()), said(hint.bare_name()))
            && spec != bare
        {
            let message = format!("{} is {spec} but {} is {bare}", hint.spec_name(), hint.bare_name());
            found.push((place(hint.bare_name()), message));
        }
    }
    let any = |hint: Hint| said(hint.spec_name()).or_else(|| said(hint.bare_name()));
    if any(Hint::ReadOnly) == Some(true) {
        if any(Hint::Destructive) == Some(true) {
            found.push((place("destructiveHint"), "the tool is read-only and destructive".to_owned()));
        }
        if any(Hint::Idempotent) == Some(false) {
            found.push((place("idempotentHint"), "the tool is read-only but not idempotent".to_owned()));
        }
    }
}

/// Finds members whose value counts as absent because its type is wrong.
pub(super) fn wrong_type(definition: &Definition, found: &mut Vec<Found>) {
    let Some(annotations) = definition.get("annotations") else { return };
    if !annotations.is_object() {
        let message = format!("annotations are an object, this is {}", annotations.kind().name());
        found.push((Pointer::root().join("annotations"), message));
        return;
    }
    for (key, value) in annotations.members() {
        let key = key.as_str().unwrap_or_default();
        let is_hint = Hint::ALL.iter().any(|h| h.spec_name() == key || h.bare_name() == key);
        let wanted = match key.as_ref() {
            _ if is_hint && value.as_bool().is_none() => "a boolean",
            "title" if value.as_str().is_none() => "a string",
            "priority" if value.as_i64().is_none() => "an integer",
            "audience" if value.as_str().and_then(|name| Audience::from_name(&name)).is_none() => {
                "\"user\", \"assistant\" or \"system\""
            }
            _ => continue,
        };
        found.push((place(&key), format!("{key} is {wanted}, this is {}", value.to_compact())));
    }
}
