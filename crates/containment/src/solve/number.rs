//! Numbers. Integers, in either spelling, form a lattice, and so do numbers under `multipleOf`; any other fraction is
//! in an interval, which negated steps never exhaust. A lattice is searched point by point over a whole period or
//! interval, so that finding nothing is a proof.

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::imply::number_holds;
use super::{Outcome, Solver};
use crate::arena::{Lit, Node};
use crate::kind::Kind;
use crate::obstacle::Obstacle;
use crate::rational::{self, Rational};

/// Maximum lattice points that are tried.
const POINTS_MAX: u64 = 4_000;

#[derive(Default)]
struct Bounds {
    low: Option<(Rational, bool)>,
    high: Option<(Rational, bool)>,
}

impl Bounds {
    fn raise(&mut self, bound: &Rational, strict: bool) {
        let tighter =
            self.low.as_ref().is_none_or(|(own, held)| bound > own || (bound == own && strict && !held));
        if tighter {
            self.low = Some((bound.clone(), strict));
        }
    }
    fn lower(&mut self, bound: &Rational, strict: bool) {
        let tighter =
            self.high.as_ref().is_none_or(|(own, held)| bound < own || (bound == own && strict && !held));
        if tighter {
            self.high = Some((bound.clone(), strict));
        }
    }
    fn admits(&self, value: &Rational) -> bool {
        let low = self.low.as_ref().is_none_or(|(low, strict)| value > low || (!strict && value == low));
        low && self.high.as_ref().is_none_or(|(high, strict)| value < high || (!strict && value == high))
    }
}

impl Solver<'_> {
    pub(super) fn number(&self, kind: Kind, facts: &[Lit]) -> Outcome {
        let mut bounds = Bounds::default();
        let mut step: Option<Rational> = (kind != Kind::Fraction).then(rational::one);
        let mut barred: Vec<Rational> = (kind == Kind::Fraction).then(rational::one).into_iter().collect();
        let mut excluded = 0u64;
        let mut set: Option<&[Rational]> = None;
        for fact in facts {
            match (self.arena.node(*fact), fact.negated()) {
                (Node::Least(bound), false) => bounds.raise(bound, false),
                (Node::Above(bound), false) => bounds.raise(bound, true),
                (Node::Least(bound), true) => bounds.lower(bound, true),
                (Node::Above(bound), true) => bounds.lower(bound, false),
                (Node::Multiple(own), false) => {
                    step = Some(step.map_or_else(|| own.clone(), |step| rational::lcm(&step, own)));
                }
                (Node::Multiple(own), true) => barred.push(own.clone()),
                (Node::NumberIn(own), false) => set = Some(own),
                (Node::NumberIn(own), true) => excluded += own.len() as u64,
                _ => {}
            }
        }
        let float = kind == Kind::WholeFloat;
        let fits = |value: &Rational| {
            (value.is_integer() != (kind == Kind::Fraction))
                && facts.iter().all(|fact| {
                    number_holds(self.arena.node(*fact), value).is_none_or(|holds| holds != fact.negated())
                })
        };
        if let Some(set) = set {
            let fitting: Vec<&Rational> = set.iter().filter(|value| fits(value)).collect();
            return written(&fitting, float);
        }
        match step {
            Some(step) => lattice(&step, &bounds, &barred, excluded, float, fits),
            None => dense(&bounds, fits),
        }
    }
}

fn written(values: &[&Rational], float: bool) -> Outcome {
    if values.is_empty() {
        return Outcome::Nothing;
    }
    match values.iter().find_map(|value| rational::json(value, float)) {
        Some(value) => Outcome::Found(value),
        None => Outcome::Undecided(Obstacle::Number),
    }
}

fn lattice(
    step: &Rational,
    bounds: &Bounds,
    barred: &[Rational],
    excluded: u64,
    float: bool,
    fits: impl Fn(&Rational) -> bool,
) -> Outcome {
    if barred.iter().any(|own| rational::divides(own, step)) {
        return Outcome::Nothing;
    }
    let first = bounds.low.as_ref().map(|(low, _)| (low / step).ceil().to_integer());
    let last = bounds.high.as_ref().map(|(high, _)| (high / step).floor().to_integer());
    // The pattern of excluded points repeats after this many points.
    let period = barred
        .iter()
        .map(|own| (rational::lcm(step, own) / step).to_integer())
        .fold(BigInt::one(), |period, own| num_integer::Integer::lcm(&period, &own));
    let enough = period.to_u64().and_then(|period| period.checked_mul(excluded + 2));
    let (start, direction, available) = match (&first, &last) {
        (Some(first), Some(last)) if first > last => return Outcome::Nothing,
        (Some(first), Some(last)) if first.is_positive() || last.is_negative() => {
            let from = if first.is_positive() { first } else { last };
            (from.clone(), if first.is_positive() { 1 } else { -1 }, (last - first + 1u8).to_u64())
        }
        (Some(first), Some(last)) => (BigInt::zero(), 0, (last - first + 1u8).to_u64()),
        (Some(first), None) if first.is_positive() => (first.clone(), 1, None),
        (None, Some(last)) if last.is_negative() => (last.clone(), -1, None),
        _ => (BigInt::zero(), 0, None),
    };
    // Searches outwards from zero in both directions, else away from the bound nearest to zero.
    let limit = available.unwrap_or(u64::MAX).min(enough.unwrap_or(u64::MAX));
    let looked = limit.saturating_mul(2).saturating_add(2).min(POINTS_MAX);
    let mut beyond = false;
    for offset in 0..looked {
        let signed = match direction {
            0 if offset % 2 == 1 => BigInt::from(offset.div_ceil(2)),
            0 => -BigInt::from(offset / 2),
            direction => BigInt::from(offset) * direction,
        };
        let value = Rational::from_integer(&start + signed) * step;
        if bounds.admits(&value) && fits(&value) {
            match rational::json(&value, float) {
                Some(value) => return Outcome::Found(value),
                None => beyond = true,
            }
        }
    }
    let complete = looked > limit.saturating_mul(2);
    if complete && !beyond { Outcome::Nothing } else { Outcome::Undecided(Obstacle::Number) }
}

fn dense(bounds: &Bounds, fits: impl Fn(&Rational) -> bool) -> Outcome {
    let (low, high) = match (&bounds.low, &bounds.high) {
        (Some((low, low_strict)), Some((high, high_strict))) => {
            if low > high || (low == high && (*low_strict || *high_strict)) {
                return Outcome::Nothing;
            }
            if low == high {
                return written(&[low].into_iter().filter(|value| fits(value)).collect::<Vec<_>>(), false);
            }
            (low.clone(), high.clone())
        }
        (Some((low, _)), None) => (low.clone(), low + rational::whole(2)),
        (None, Some((high, _))) => (high - rational::whole(2), high.clone()),
        (None, None) => (rational::whole(0), rational::whole(2)),
    };
    // An interval of positive width contains more numbers than steps and exclusions can remove.
    let mut scale = BigInt::from(2);
    for round in 0..24 {
        let scaled = (&low * Rational::from_integer(scale.clone())).ceil().to_integer();
        for offset in 0..16 {
            let value = Rational::new(&scaled + BigInt::from(offset), scale.clone());
            if value > high {
                break;
            }
            if bounds.admits(&value)
                && fits(&value)
                && let Some(value) = rational::json(&value, false)
            {
                return Outcome::Found(value);
            }
        }
        scale *= if round == 0 { 5 } else { 10 };
    }
    Outcome::Undecided(Obstacle::Number)
}
