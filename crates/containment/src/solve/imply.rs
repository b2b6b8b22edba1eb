//! Implications between atoms of the same kind.

use serde_json::Value;

use super::Solver;
use crate::arena::{Lit, Node};
use crate::rational::Rational;

impl Solver<'_> {
    /// Returns the truth of a positive atom, if the facts decide it.
    pub(super) fn implied(&self, atom: Lit, facts: &[Lit]) -> Option<bool> {
        if facts.binary_search(&atom).is_ok() {
            return Some(true);
        }
        if facts.binary_search(&!atom).is_ok() {
            return Some(false);
        }
        facts.iter().find_map(|fact| self.implied_by(*fact, atom))
    }

    fn implied_by(&self, fact: Lit, atom: Lit) -> Option<bool> {
        let affirmed = !fact.negated();
        match (self.arena.node(fact), self.arena.node(atom)) {
            (Node::TextIn(set), _) if affirmed => {
                self.agree(atom, set.iter().map(|text| Value::String(text.to_string())))
            }
            (Node::NumberIn(set), node) if affirmed => {
                let truths: Option<Vec<bool>> = set.iter().map(|value| number_holds(node, value)).collect();
                same(&truths?)
            }
            (Node::TextIn(excluded), Node::TextIn(set)) => {
                set.iter().all(|text| excluded.binary_search(text).is_ok()).then_some(false)
            }
            (Node::NumberIn(excluded), Node::NumberIn(set)) => {
                set.iter().all(|value| excluded.binary_search(value).is_ok()).then_some(false)
            }
            (Node::LengthMin(known), Node::LengthMin(asked))
            | (Node::ItemsMin(known), Node::ItemsMin(asked))
            | (Node::PropertiesMin(known), Node::PropertiesMin(asked)) => match affirmed {
                true => (asked <= known).then_some(true),
                false => (asked >= known).then_some(false),
            },
            (Node::Least(known), Node::Least(asked)) => match affirmed {
                true => (asked <= known).then_some(true),
                false => (asked >= known).then_some(false),
            },
            (Node::Least(known), Node::Above(asked)) => match affirmed {
                true => (asked < known).then_some(true),
                false => (asked >= known).then_some(false),
            },
            (Node::Above(known), Node::Least(asked)) => match affirmed {
                true => (asked <= known).then_some(true),
                false => (asked > known).then_some(false),
            },
            (Node::Above(known), Node::Above(asked)) => match affirmed {
                true => (asked <= known).then_some(true),
                false => (asked >= known).then_some(false),
            },
            _ => None,
        }
    }

    fn agree(&self, atom: Lit, values: impl Iterator<Item = Value>) -> Option<bool> {
        let truths: Option<Vec<bool>> = values.map(|value| self.meaning().holds(atom, &value)).collect();
        same(&truths?)
    }
}

/// Evaluates a numeric atom on a number; `None` for other atoms.
pub(super) fn number_holds(node: &Node, value: &Rational) -> Option<bool> {
    Some(match node {
        Node::Least(bound) => value >= bound,
        Node::Above(bound) => value > bound,
        Node::Multiple(step) => crate::rational::divides(step, value),
        Node::NumberIn(set) => set.binary_search(value).is_ok(),
        _ => return None,
    })
}

/// Returns the common truth value. An empty set decides nothing; the theory refutes it.
fn same(truths: &[bool]) -> Option<bool> {
    let first = *truths.first()?;
    truths.iter().all(|truth| *truth == first).then_some(first)
}
