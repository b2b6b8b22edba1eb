//! The prover: searches for a value that satisfies a formula. `P ⊆ C` holds exactly if no value satisfies `P ∧ ¬C`.
//! The search is a tableau: by kind, then by branch, down to conjunctions of atoms of one kind, which the theories of
//! numbers, strings, arrays and objects decide; these search for items, properties and names in turn. There are three
//! answers: *nothing* is a proof, *found* carries a value, *undecided* names the obstacle.
//!
//! Recursion: while a goal is open, the same goal met deeper is answered *nothing*, because a value of least height
//! that satisfies the goal has no part that satisfies it too. Such an answer holds only while the outer goal is open,
//! so it is memoized no longer than that.

mod array;
mod distinct;
mod imply;
mod number;
mod object;
mod search;
mod text;

use std::time::Instant;

use ahash::AHashMap;
use serde_json::Value;

use crate::arena::{Arena, Lit};
use crate::eval::Meaning;
use crate::kind::Kind;
use crate::limits::PROVER_VALUE_DEPTH_MAX;
use crate::obstacle::Obstacle;
use crate::pattern::Patterns;

// Every open goal has one bit in [`Solver::leaned`].
const _: () = assert!(PROVER_VALUE_DEPTH_MAX < 128);

/// Answer to a goal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// Proof that no value satisfies the goal.
    Nothing,
    Found(Value),
    Undecided(Obstacle),
}

/// Collector for the answers of alternatives.
#[derive(Debug, Default)]
struct Alternatives(Option<Obstacle>);

impl Alternatives {
    /// Returns the value of an alternative, or records its obstacle.
    fn take(&mut self, outcome: Outcome) -> Option<Value> {
        match outcome {
            Outcome::Found(value) => Some(value),
            Outcome::Nothing => None,
            Outcome::Undecided(obstacle) => {
                self.0.get_or_insert(obstacle);
                None
            }
        }
    }
    fn exhausted(self) -> Outcome {
        self.0.map_or(Outcome::Nothing, Outcome::Undecided)
    }
}

/// Limits of one search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) deadline: Instant,
    pub(crate) steps_max: u64,
    pub(crate) nodes_max: usize,
    /// Restriction of the values that are searched.
    pub(crate) reach: Reach,
}

/// Set of values that a search considers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All values; an integer written as a float is a value of its own.
    Spelled,
    /// All values; the spelling of a number makes no difference.
    Every,
    /// Only values that every engine reads alike: no line breaks in strings, no `1.0`. Finding nothing is then not a
    /// proof.
    Plain,
}

/// State of one search over an arena.
#[derive(Debug)]
pub(crate) struct Solver<'a> {
    pub(crate) arena: &'a mut Arena,
    pub(crate) patterns: &'a mut Patterns,
    budget: Budget,
    steps: u64,
    spent: bool,
    memo: AHashMap<Lit, Outcome>,
    /// Answers that depend on an open goal, with the depth of the deepest such goal and the depths of all.
    provisional: AHashMap<Lit, (usize, u128, Outcome)>,
    path: Vec<Lit>,
    /// Depths of the open goals that the current answer depends on, one bit each.
    leaned: u128,
}

impl<'a> Solver<'a> {
    pub(crate) fn new(arena: &'a mut Arena, patterns: &'a mut Patterns, budget: Budget) -> Solver<'a> {
        Solver {
            arena,
            patterns,
            budget,
            steps: 0,
            spent: false,
            memo: AHashMap::new(),
            provisional: AHashMap::new(),
            path: Vec::new(),
            leaned: 0,
        }
    }

    fn meaning(&self) -> Meaning<'_> {
        Meaning { arena: self.arena, patterns: self.patterns }
    }

    /// Counts a step; returns `true` once the budget is used up.
    fn over_budget(&mut self) -> bool {
        self.steps += 1;
        if !self.spent
            && (self.steps > self.budget.steps_max
                || self.arena.len() > self.budget.nodes_max
                || (self.steps.is_multiple_of(16) && Instant::now() >= self.budget.deadline))
        {
            self.spent = true;
        }
        self.spent
    }

    /// Searches for a value that satisfies every literal.
    pub(crate) fn solve_all(&mut self, lits: impl IntoIterator<Item = Lit>) -> Outcome {
        let lits: Vec<Lit> = lits.into_iter().map(|lit| self.arena.unfold(lit)).collect();
        let goal = self.arena.all(lits);
        self.solve(goal)
    }

    /// Searches for a value that satisfies the literal.
    pub(crate) fn solve(&mut self, goal: Lit) -> Outcome {
        let goal = self.arena.unfold(goal);
        if goal == Lit::TRUE {
            return Outcome::Found(Value::Null);
        }
        if goal == Lit::FALSE {
            return Outcome::Nothing;
        }
        if let Some(known) = self.memo.get(&goal) {
            return known.clone();
        }
        if let Some((_, leaned, known)) = self.provisional.get(&goal) {
            self.leaned |= leaned;
            return known.clone();
        }
        if let Some(depth) = self.path.iter().position(|open| *open == goal) {
            self.leaned |= 1 << depth;
            return Outcome::Nothing;
        }
        let depth = self.path.len();
        if depth >= PROVER_VALUE_DEPTH_MAX {
            return Outcome::Undecided(Obstacle::Depth);
        }
        if self.over_budget() {
            return Outcome::Undecided(Obstacle::Budget);
        }
        self.path.push(goal);
        let outer = std::mem::take(&mut self.leaned);
        let outcome = self.every_kind(goal);
        self.path.pop();
        self.provisional.retain(|_, (deepest, _, _)| *deepest < depth);
        let leaned = self.leaned & !(1 << depth);
        self.leaned = outer | leaned;
        let certain = leaned == 0 || matches!(outcome, Outcome::Found(_));
        if certain && !self.spent {
            self.memo.insert(goal, outcome.clone());
        } else if !self.spent && leaned != 0 {
            let deepest = 127 - leaned.leading_zeros() as usize;
            self.provisional.insert(goal, (deepest, leaned, outcome.clone()));
        }
        outcome
    }

    fn every_kind(&mut self, goal: Lit) -> Outcome {
        let mut alternatives = Alternatives::default();
        for kind in Kind::EVERY {
            if kind == Kind::WholeFloat && self.budget.reach != Reach::Spelled {
                continue;
            }
            let special = self.arena.specialise(goal, kind);
            if special == Lit::FALSE {
                continue;
            }
            let outcome = self.search(kind, vec![special]);
            if let Some(value) = alternatives.take(outcome) {
                return Outcome::Found(value);
            }
        }
        alternatives.exhausted()
    }

    /// Decides a conjunction of atoms of one kind.
    fn theory(&mut self, kind: Kind, facts: &[Lit]) -> Outcome {
        match kind {
            Kind::Null => Outcome::Found(Value::Null),
            Kind::Boolean => Outcome::Found(Value::Bool(facts.iter().any(|fact| !fact.negated()))),
            Kind::Integer | Kind::WholeFloat | Kind::Fraction => self.number(kind, facts),
            Kind::String => self.text(facts),
            Kind::Array => self.array(facts),
            Kind::Object => self.object(facts),
        }
    }
}
