//! Distinct values for `uniqueItems`. A slot with at least as many values as there are slots can always be filled
//! last. The values of the other slots are enumerated completely and matched, so that failing to match is a proof.

use serde_json::Value;

use super::{Outcome, Solver};
use crate::arena::Lit;
use crate::lower::constant;
use crate::obstacle::Obstacle;

/// Maximum slots for which distinct values are searched.
const SLOTS_MAX: usize = 80;

/// Values that satisfy a goal, up to a maximum number.
struct Values {
    values: Vec<Value>,
    /// `true` if there are no others.
    complete: bool,
}

impl Solver<'_> {
    /// Finds a different value for each goal.
    pub(super) fn distinct(&mut self, goals: &[Lit]) -> Result<Option<Vec<Value>>, Obstacle> {
        let count = goals.len();
        if count > SLOTS_MAX {
            return Err(Obstacle::Array);
        }
        let mut domains: Vec<(Lit, Values)> = Vec::new();
        for goal in goals {
            if !domains.iter().any(|(own, _)| own == goal) {
                let values = self.enumerate(*goal, count)?;
                domains.push((*goal, values));
            }
        }
        let domain = |goal: &Lit| domains.iter().find(|(own, _)| own == goal).map(|(_, values)| values);
        // Slots with few values come first; a slot with `count` values always finds a free one.
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|slot| goals.get(*slot).and_then(domain).map_or(0, |values| values.values.len()));
        let lists: Vec<&[Value]> = goals
            .iter()
            .map(|goal| domain(goal).map_or(&[] as &[Value], |own| own.values.as_slice()))
            .collect();
        let complete = goals
            .iter()
            .all(|goal| domain(goal).is_some_and(|own| own.complete || own.values.len() >= count));
        let mut steps = 20_000usize;
        match assign(&lists, &order, &mut Vec::new(), &mut steps) {
            Some(chosen) => {
                let mut values = vec![Value::Null; count];
                for (slot, value) in order.iter().zip(chosen) {
                    if let Some(place) = values.get_mut(*slot) {
                        *place = value;
                    }
                }
                Ok(Some(values))
            }
            None if steps == 0 || !complete => Err(Obstacle::Array),
            None => Ok(None),
        }
    }

    fn enumerate(&mut self, goal: Lit, count: usize) -> Result<Values, Obstacle> {
        let mut values: Vec<Value> = Vec::new();
        let mut goals = vec![goal];
        while values.len() < count {
            match self.solve_all(goals.iter().copied()) {
                Outcome::Found(value) => {
                    let other = !constant(self.arena, &value);
                    goals.push(other);
                    values.push(value);
                }
                Outcome::Nothing => return Ok(Values { values, complete: true }),
                Outcome::Undecided(obstacle) if values.is_empty() => return Err(obstacle),
                Outcome::Undecided(_) => return Ok(Values { values, complete: false }),
            }
        }
        Ok(Values { values, complete: false })
    }
}

fn assign(
    lists: &[&[Value]],
    order: &[usize],
    chosen: &mut Vec<Value>,
    steps: &mut usize,
) -> Option<Vec<Value>> {
    let Some(slot) = order.get(chosen.len()) else { return Some(chosen.clone()) };
    for value in lists.get(*slot).copied().unwrap_or_default() {
        if *steps == 0 {
            return None;
        }
        *steps -= 1;
        if chosen.iter().any(|own| crate::eval::equal(own, value)) {
            continue;
        }
        chosen.push(value.clone());
        if let Some(found) = assign(lists, order, chosen, steps) {
            return Some(found);
        }
        chosen.pop();
    }
    None
}
