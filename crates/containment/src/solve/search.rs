//! Boolean search: flattens conjunctions, propagates facts and branches on disjunctions.

use super::{Alternatives, Outcome, Solver};
use crate::arena::{Lit, Node};
use crate::kind::Kind;
use crate::obstacle::Obstacle;

/// Maximum branches of a negated `oneOf`, of which every pair is tried.
const BRANCHES_MAX: usize = 300;

impl Solver<'_> {
    /// Searches for a value of one kind that satisfies all of `queue`, whose literals are specialised to the kind.
    pub(super) fn search(&mut self, kind: Kind, queue: Vec<Lit>) -> Outcome {
        self.extend(kind, queue, Vec::new(), Vec::new())
    }

    fn extend(
        &mut self,
        kind: Kind,
        mut queue: Vec<Lit>,
        mut facts: Vec<Lit>,
        mut open: Vec<Lit>,
    ) -> Outcome {
        if self.over_budget() {
            return Outcome::Undecided(Obstacle::Budget);
        }
        loop {
            while let Some(lit) = queue.pop() {
                match (self.arena.node(lit), lit.negated()) {
                    (Node::True, false) => {}
                    (Node::True, true) => return Outcome::Nothing,
                    (Node::All(children), false) => queue.extend(children.iter()),
                    (Node::All(_), true) | (Node::One(_), _) => open.push(lit),
                    _ => match facts.binary_search(&lit) {
                        Ok(_) => {}
                        Err(_) if facts.binary_search(&!lit).is_ok() => return Outcome::Nothing,
                        Err(at) => facts.insert(at, lit),
                    },
                }
            }
            open.sort_unstable();
            open.dedup();
            let before = std::mem::take(&mut open);
            let mut changed = false;
            for lit in before {
                let reduced = self.reduce(lit, &facts);
                if reduced == Lit::FALSE {
                    return Outcome::Nothing;
                }
                let disjunctive = matches!(
                    (self.arena.node(reduced), reduced.negated()),
                    (Node::All(_), true) | (Node::One(_), _)
                );
                if disjunctive {
                    open.push(reduced);
                } else if reduced != Lit::TRUE {
                    queue.push(reduced);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let Some(chosen) = self.smallest(&open) else { return self.theory(kind, &facts) };
        if matches!(kind, Kind::Integer | Kind::Fraction | Kind::WholeFloat | Kind::String)
            && self.theory(kind, &facts) == Outcome::Nothing
        {
            return Outcome::Nothing;
        }
        if let (Node::One(children), true) = (self.arena.node(chosen), chosen.negated())
            && children.len() > BRANCHES_MAX
        {
            return Outcome::Undecided(Obstacle::Cases("oneOf"));
        }
        open.retain(|lit| *lit != chosen);
        let mut alternatives = Alternatives::default();
        for branch in self.branches(chosen) {
            let outcome = self.extend(kind, branch, facts.clone(), open.clone());
            if let Some(value) = alternatives.take(outcome) {
                return Outcome::Found(value);
            }
        }
        alternatives.exhausted()
    }

    fn smallest(&self, open: &[Lit]) -> Option<Lit> {
        open.iter().copied().min_by_key(|lit| match self.arena.node(*lit) {
            Node::All(children) => children.len(),
            Node::One(children) if lit.negated() => children.len() * children.len(),
            Node::One(children) => children.len() + 1,
            _ => usize::MAX,
        })
    }

    /// Returns the ways to satisfy a disjunction; later ways exclude an earlier one that is an atom.
    fn branches(&self, lit: Lit) -> Vec<Vec<Lit>> {
        match (self.arena.node(lit), lit.negated()) {
            (Node::All(children), true) => {
                let mut order: Vec<Lit> = children.to_vec();
                order.sort_by_key(|child| self.arena.node(*child).kinds().is_none());
                let mut earlier: Vec<Lit> = Vec::new();
                let mut branches = Vec::with_capacity(order.len());
                for child in order {
                    let mut branch = earlier.clone();
                    branch.push(!child);
                    branches.push(branch);
                    if self.arena.node(child).kinds().is_some() {
                        earlier.push(child);
                    }
                }
                branches
            }
            (Node::One(children), false) => (0..children.len())
                .map(|at| {
                    children
                        .iter()
                        .enumerate()
                        .map(|(other, lit)| if other == at { *lit } else { !*lit })
                        .collect()
                })
                .collect(),
            (Node::One(children), true) => {
                let mut branches = vec![children.iter().map(|lit| !*lit).collect()];
                for (at, first) in children.iter().enumerate() {
                    for second in children.iter().skip(at + 1) {
                        branches.push(vec![*first, *second]);
                    }
                }
                branches
            }
            _ => vec![vec![lit]],
        }
    }

    /// Simplifies the literal by everything that the facts decide.
    fn reduce(&mut self, lit: Lit, facts: &[Lit]) -> Lit {
        let positive = if lit.negated() { !lit } else { lit };
        let reduced = match self.arena.node(positive) {
            Node::All(children) => {
                let children = children.clone();
                let mut reduced = Vec::with_capacity(children.len());
                for child in children {
                    reduced.push(self.reduce(child, facts));
                }
                self.arena.all(reduced)
            }
            Node::One(children) => {
                let children = children.clone();
                let mut reduced = Vec::with_capacity(children.len());
                for child in children {
                    reduced.push(self.reduce(child, facts));
                }
                self.arena.one(reduced)
            }
            Node::True => positive,
            _ => match self.implied(positive, facts) {
                Some(true) => Lit::TRUE,
                Some(false) => Lit::FALSE,
                None => positive,
            },
        };
        if lit.negated() { !reduced } else { reduced }
    }
}
