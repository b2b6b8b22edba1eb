//! Syntax of a variable's value: the text before it, the characters it may contain, and how many.

use super::parse::Variable;
use super::uri::{STRAY, Unit, units};
use super::{Modifier, Operator, UriTemplate};

/// Syntax of a variable's value in a URI.
pub(super) struct Value {
    /// Text before the value: `,` or `&name=`.
    pub(super) lead: Vec<Unit>,
    /// `;name` may stand for an empty value, as `;name=` does.
    may_omit_sign: bool,
    pub(super) min: usize,
    pub(super) max: usize,
    /// Set of ASCII characters that end the value, by bit.
    excluded: u128,
}

impl Value {
    pub(super) fn new(template: &UriTemplate, variable: Variable, is_begun: bool) -> Self {
        let Variable { operator, modifier, .. } = variable;
        let is_exploded = modifier == Modifier::Explode;
        let mut lead = Vec::new();
        let before = if is_begun { Some(operator.separator()) } else { operator.opening() };
        lead.extend(before.map(Unit::from));
        let is_named = operator.is_named() && !is_exploded;
        if is_named {
            lead.extend(units(variable.name.of(&template.text)).map(|(unit, _)| unit));
            lead.push(Unit::from(b'='));
        }
        Self {
            lead,
            may_omit_sign: is_named && operator == Operator::Parameter,
            min: usize::from(!operator.is_optional() || (operator.is_named() && is_exploded)),
            max: match modifier {
                Modifier::Prefix(length) => usize::from(length),
                _ => usize::MAX,
            },
            excluded: excluded(operator, is_exploded, template.is_delimited),
        }
    }

    /// Returns the lead without its `=`, if an empty value may be written so.
    pub(super) fn bare_name(&self) -> Option<&[Unit]> {
        let (_, name) = self.lead.split_last().filter(|_| self.may_omit_sign)?;
        Some(name)
    }

    pub(super) fn takes(&self, unit: Unit) -> bool {
        if unit < 128 { (self.excluded >> unit) & 1 == 0 } else { unit != STRAY }
    }
}

/// Returns the ASCII characters that end a value. An exploded value contains its own separators.
fn excluded(operator: Operator, is_exploded: bool, is_delimited: bool) -> u128 {
    let ends = if is_delimited { "?#" } else { "" };
    let (always, own) = match operator {
        Operator::Reserved | Operator::Fragment => ("", ""),
        Operator::Simple | Operator::Label => ("/", ""),
        Operator::Path => ("", "/"),
        Operator::Parameter => ("/?#", ";"),
        Operator::Query | Operator::More => ("#", "&"),
    };
    let ends = match operator {
        Operator::Simple | Operator::Label | Operator::Path => ends,
        _ => "",
    };
    let own = if is_exploded { "" } else { own };
    [always, own, ends].iter().flat_map(|set| set.bytes()).fold(0, |set, byte| set | 1 << byte)
}
