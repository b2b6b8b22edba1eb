//! Arrays. Positions in the longest prefix are distinguished; all later ones are alike. A negated `items` is a debt
//! that some position must pay. `contains` requires a number of positions, and its upper bound counts every position
//! that is not proved outside. A negated `uniqueItems` makes two positions equal. No more positions than prefix,
//! debts and minimum length together are needed: a longer array stays a solution if one of its other late items is
//! dropped.

use serde_json::Value;

use super::{Alternatives, Outcome, Solver};
use crate::arena::{Lit, Node};
use crate::obstacle::Obstacle;

/// Maximum length of an array that is constructed item by item.
const SLOTS_MAX: u64 = 64;
/// Maximum upper bounds of `contains` that are distinguished.
const BOUNDS_MAX: usize = 6;
/// Maximum length of an array that is filled up.
const ITEMS_MAX: u64 = 2_000;

#[derive(Clone, Debug, Default)]
struct Shape {
    affirmed: Vec<(Box<[Lit]>, Lit)>,
    denied: Vec<(Box<[Lit]>, Lit)>,
    has: Vec<(Lit, u64)>,
    at_most: Vec<(Lit, u64)>,
    min: u64,
    max: Option<u64>,
    unique: bool,
    repeated: bool,
}

/// Array under construction: the constraint of each position, and a pair of positions that must be equal.
#[derive(Clone, Debug)]
struct Row {
    slots: Vec<Lit>,
    prefix: usize,
    touched: Vec<bool>,
    twins: Option<(usize, usize)>,
}

/// Constraint that some position must still satisfy.
#[derive(Clone, Debug)]
enum Debt {
    Violate(Box<[Lit]>, Lit),
    Contain(Lit, u64),
    Twins,
}

fn at(prefix: &[Lit], rest: Lit, position: usize) -> Lit {
    prefix.get(position).copied().unwrap_or(rest)
}

impl Solver<'_> {
    pub(super) fn array(&mut self, facts: &[Lit]) -> Outcome {
        let shape = self.array_shape(facts);
        if shape.max.is_some_and(|max| max < shape.min) || (shape.unique && shape.repeated) {
            return Outcome::Nothing;
        }
        let prefix =
            shape.affirmed.iter().chain(&shape.denied).map(|(prefix, _)| prefix.len()).max().unwrap_or(0);
        let asked: u64 = shape.has.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
        let debts = (shape.denied.len() as u64 + 2 * u64::from(shape.repeated)).saturating_add(asked);
        let longest = shape.min.max((prefix as u64).saturating_add(debts));
        let longest = shape.max.map_or(longest, |max| max.min(longest));
        let mut alternatives = Alternatives::default();
        // Every position with a constraint of its own is among these; the rest is padding.
        let special = (prefix as u64).saturating_add(debts);
        for length in shape.min..=longest {
            if self.over_budget() {
                return Outcome::Undecided(Obstacle::Budget);
            }
            let outcome = if length > SLOTS_MAX {
                self.padded(&shape, prefix, special, length)
            } else {
                self.of_length(&shape, prefix, length)
            };
            if let Some(value) = alternatives.take(outcome) {
                return Outcome::Found(value);
            }
        }
        alternatives.exhausted()
    }

    fn array_shape(&mut self, facts: &[Lit]) -> Shape {
        let mut shape = Shape::default();
        for fact in facts {
            match (self.arena.node(*fact), fact.negated()) {
                (Node::Items { prefix, rest }, false) => shape.affirmed.push((prefix.clone(), *rest)),
                (Node::Items { prefix, rest }, true) => shape.denied.push((prefix.clone(), *rest)),
                (Node::Has { item, count }, false) => shape.has.push((*item, *count)),
                (Node::Has { item, count: 1 }, true) => {
                    shape.affirmed.push((Box::default(), !*item));
                }
                (Node::Has { item, count }, true) => shape.at_most.push((*item, count.saturating_sub(1))),
                (Node::ItemsMin(min), false) => shape.min = shape.min.max(*min),
                (Node::ItemsMin(min), true) => {
                    let max = min.saturating_sub(1);
                    shape.max = Some(shape.max.map_or(max, |own| own.min(max)));
                }
                (Node::Unique, false) => shape.unique = true,
                (Node::Unique, true) => shape.repeated = true,
                _ => {}
            }
        }
        shape
    }

    fn slot(&mut self, shape: &Shape, position: usize) -> Lit {
        let lits: Vec<Lit> = shape
            .affirmed
            .iter()
            .map(|(prefix, rest)| self.arena.unfold(at(prefix, *rest, position)))
            .collect();
        self.arena.all(lits)
    }

    /// Builds a long array: the special positions are constructed, then one filler is repeated.
    fn padded(&mut self, shape: &Shape, prefix: usize, special: u64, length: u64) -> Outcome {
        if !shape.at_most.is_empty() || shape.unique || special > SLOTS_MAX || length > ITEMS_MAX {
            return Outcome::Undecided(Obstacle::Array);
        }
        let head = self.of_length(shape, prefix, special.max(prefix as u64));
        let Outcome::Found(Value::Array(mut items)) = head else { return head };
        let rest = self.slot(shape, prefix);
        match self.solve(rest) {
            Outcome::Found(filler) => {
                while (items.len() as u64) < length {
                    items.push(filler.clone());
                }
                Outcome::Found(Value::Array(items))
            }
            other => other,
        }
    }

    fn of_length(&mut self, shape: &Shape, prefix: usize, length: u64) -> Outcome {
        let Ok(count) = usize::try_from(length) else { return Outcome::Undecided(Obstacle::Array) };
        let mut slots = Vec::with_capacity(count);
        for position in 0..count {
            let slot = self.slot(shape, position);
            if self.solve(slot) == Outcome::Nothing {
                return Outcome::Nothing;
            }
            slots.push(slot);
        }
        let mut debts: Vec<Debt> =
            shape.denied.iter().map(|(prefix, rest)| Debt::Violate(prefix.clone(), *rest)).collect();
        debts.extend(shape.has.iter().map(|(item, count)| Debt::Contain(*item, *count)));
        if shape.repeated {
            debts.push(Debt::Twins);
        }
        let row = Row { touched: vec![false; slots.len()], slots, prefix, twins: None };
        self.settle(shape, &debts, row, 0)
    }

    /// Returns the positions to try from `from` on. Untouched late positions are alike, so only the first is tried.
    fn candidates(row: &Row, from: usize) -> Vec<usize> {
        let mut fresh = false;
        (from..row.slots.len())
            .filter(|position| {
                if *position < row.prefix || row.touched.get(*position).copied().unwrap_or(true) {
                    return true;
                }
                !std::mem::replace(&mut fresh, true)
            })
            .collect()
    }

    fn settle(&mut self, shape: &Shape, debts: &[Debt], row: Row, from: usize) -> Outcome {
        if self.over_budget() {
            return Outcome::Undecided(Obstacle::Budget);
        }
        let Some((debt, later)) = debts.split_first() else {
            return self.bounded(shape, &row, 0, &[]);
        };
        let mut alternatives = Alternatives::default();
        match debt {
            Debt::Violate(prefix, rest) => {
                for position in Self::candidates(&row, 0) {
                    let lit = !at(prefix, *rest, position);
                    if let Some(next) = self.placed(&row, position, lit) {
                        let outcome = self.settle(shape, later, next, 0);
                        if let Some(value) = alternatives.take(outcome) {
                            return Outcome::Found(value);
                        }
                    }
                }
            }
            Debt::Contain(_, 0) => return self.settle(shape, later, row, 0),
            Debt::Contain(item, count) => {
                // Positions ascend, so that every choice of positions is tried once.
                let mut rest = vec![Debt::Contain(*item, count - 1)];
                rest.extend_from_slice(later);
                for position in from..row.slots.len() {
                    if let Some(next) = self.placed(&row, position, *item) {
                        let outcome = self.settle(shape, &rest, next, position + 1);
                        if let Some(value) = alternatives.take(outcome) {
                            return Outcome::Found(value);
                        }
                    }
                }
            }
            Debt::Twins => {
                for first in 0..row.slots.len() {
                    for second in first + 1..row.slots.len() {
                        let lit = row.slots.get(second).copied().unwrap_or(Lit::FALSE);
                        let Some(mut next) = self.placed(&row, first, lit) else { continue };
                        let joined = next.slots.get(first).copied().unwrap_or(Lit::FALSE);
                        if let Some(slot) = next.slots.get_mut(second) {
                            *slot = joined;
                        }
                        next.twins = Some((first, second));
                        let outcome = self.settle(shape, later, next, 0);
                        if let Some(value) = alternatives.take(outcome) {
                            return Outcome::Found(value);
                        }
                    }
                }
            }
        }
        alternatives.exhausted()
    }

    fn placed(&mut self, row: &Row, position: usize, lit: Lit) -> Option<Row> {
        let own = *row.slots.get(position)?;
        let lits = [self.arena.unfold(own), self.arena.unfold(lit)];
        let joined = self.arena.all(lits);
        if self.solve(joined) == Outcome::Nothing {
            return None;
        }
        let mut next = row.clone();
        *next.slots.get_mut(position)? = joined;
        *next.touched.get_mut(position)? = true;
        Some(next)
    }

    /// Enforces the upper bounds of `contains`: each position is outside of a bound's schema, or counted.
    fn bounded(&mut self, shape: &Shape, row: &Row, position: usize, counted: &[u64]) -> Outcome {
        let mut counted = counted.to_vec();
        counted.resize(shape.at_most.len(), 0);
        if shape.at_most.len() > BOUNDS_MAX {
            return Outcome::Undecided(Obstacle::Cases("maxContains"));
        }
        if shape.at_most.is_empty() || position >= row.slots.len() {
            return self.values(shape, row);
        }
        if self.over_budget() {
            return Outcome::Undecided(Obstacle::Budget);
        }
        let mut alternatives = Alternatives::default();
        // One bit per bound: 0 is outside, 1 is inside and counted.
        for choice in 0..1u32 << shape.at_most.len() {
            let mut lits = vec![row.slots.get(position).copied().unwrap_or(Lit::FALSE)];
            let mut tally = counted.clone();
            for (at, ((item, limit), count)) in shape.at_most.iter().zip(&mut tally).enumerate() {
                if choice >> at & 1 == 0 {
                    lits.push(!*item);
                } else {
                    *count += 1;
                    if *count > *limit {
                        lits.push(Lit::FALSE);
                    }
                }
            }
            let lits: Vec<Lit> = lits.into_iter().map(|lit| self.arena.unfold(lit)).collect();
            let joined = self.arena.all(lits);
            if self.solve(joined) == Outcome::Nothing {
                continue;
            }
            let mut next = row.clone();
            if let Some(slot) = next.slots.get_mut(position) {
                *slot = joined;
            }
            if let Some((first, second)) = next.twins {
                let other = if first == position { second } else { first };
                if (first == position || second == position) && other > position {
                    if let Some(slot) = next.slots.get_mut(other) {
                        *slot = joined;
                    }
                } else if second == position {
                    // The earlier twin was constrained before; both must satisfy the same constraint.
                    if let Some(slot) = next.slots.get_mut(first) {
                        *slot = joined;
                    }
                }
            }
            let outcome = self.bounded(shape, &next, position + 1, &tally);
            if let Some(value) = alternatives.take(outcome) {
                return Outcome::Found(value);
            }
        }
        alternatives.exhausted()
    }

    fn values(&mut self, shape: &Shape, row: &Row) -> Outcome {
        if shape.unique {
            return match self.distinct(&row.slots) {
                Ok(Some(values)) => Outcome::Found(Value::Array(values)),
                Ok(None) => Outcome::Nothing,
                Err(obstacle) => Outcome::Undecided(obstacle),
            };
        }
        let mut items = Vec::with_capacity(row.slots.len());
        for slot in &row.slots {
            match self.solve(*slot) {
                Outcome::Found(value) => items.push(value),
                other => return other,
            }
        }
        if let Some((first, second)) = row.twins
            && let Some(value) = items.get(first).cloned()
            && let Some(twin) = items.get_mut(second)
        {
            *twin = value;
        }
        Outcome::Found(Value::Array(items))
    }
}
