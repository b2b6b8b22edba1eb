//! Lint rules for names and text.

use super::Found;
use crate::definition::Definition;
use crate::json::{Kind, Node, Pointer};
use crate::name::ToolName;
use crate::text::{Hidden, hidden as hides};

pub(super) fn name_invalid(definition: &Definition, found: &mut Vec<Found>) {
    if let Err(error) = ToolName::new(definition.name()) {
        found.push((Pointer::root().join("name"), error.to_string()));
    }
}

pub(super) fn description_missing(definition: &Definition, found: &mut Vec<Found>) {
    if definition.description().is_none_or(|text| text.trim().is_empty()) {
        found.push((Pointer::root().join("description"), "the tool has no description".to_owned()));
    }
}

/// Finds hidden characters, at most one per string, in every string: keys, prose, enum values, examples.
pub(super) fn hidden(definition: &Definition, found: &mut Vec<Found>) {
    walk(definition.root(), &mut Pointer::root(), found);
}

fn walk(node: Node<'_>, pointer: &mut Pointer, found: &mut Vec<Found>) {
    match node.kind() {
        Kind::String => judge(&node.as_str().unwrap_or_default(), pointer, found),
        Kind::Array => {
            for (i, element) in node.elements().enumerate() {
                pointer.push(&i.to_string());
                walk(element, pointer, found);
                pointer.pop();
            }
        }
        Kind::Object => {
            for (key, value) in node.members() {
                let key = key.as_str().unwrap_or_default();
                pointer.push(&key);
                judge(&key, pointer, found);
                walk(value, pointer, found);
                pointer.pop();
            }
        }
        Kind::Null | Kind::Boolean | Kind::Number => {}
    }
}

fn judge(text: &str, pointer: &Pointer, found: &mut Vec<Found>) {
    let Some((at, c, kind)) = text.chars().enumerate().find_map(|(at, c)| {
        // Emoji are written with a variation selector after a visible character.
        let emoji = ('\u{fe00}'..='\u{fe0f}').contains(&c) && at > 0;
        hides(c).filter(|_| !emoji && c != '\r').map(|kind| (at, c, kind))
    }) else {
        return;
    };
    let what = match kind {
        Hidden::Control if c == '\u{1b}' => "an ANSI escape",
        Hidden::Control => "a control character",
        Hidden::Bidi => "a character that reorders text",
        Hidden::ZeroWidth => "an invisible character",
        Hidden::Tag => "an invisible tag character",
    };
    let shown = Pointer::from_escaped(crate::text::escaped(pointer.as_str()));
    found.push((shown, format!("{what}, U+{:04X}, at character {at}", c as u32)));
}
