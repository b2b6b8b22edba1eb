//! Strings. Finite sets are tested member by member, length bounds alone are decided by counting, and patterns are
//! intersected and subtracted as automata. An opaque pattern has no automaton: a string can be guessed and tested, or
//! the rest refuted without it, but nothing else is concluded.

use serde_json::Value;

use super::{Outcome, Reach, Solver};
use crate::arena::{Lit, Node};
use crate::language::{self, Found};
use crate::obstacle::Obstacle;
use crate::pattern::PatternId;

/// Strings that are tried against opaque patterns and formats.
const GUESSES: [&str; 14] =
    ["", "a", "A", "0", " ", "aa", "ab", "abc", "foo", "-", "_", "1.0", "a@b.co", "\u{e9}"];
/// Characters that engines treat differently under `.` and `$`, as a pattern.
pub(crate) const LINE_BREAKS: &str = "[\\n\\r\\u2028\\u2029]";
/// Maximum length of a string that is built for a minimum length.
const LENGTH_MAX: u64 = 20_000;

#[derive(Default)]
struct Demand {
    min: u64,
    max: Option<u64>,
    within: Vec<PatternId>,
    without: Vec<PatternId>,
    excluded: Vec<Box<str>>,
    set: Option<Vec<Box<str>>>,
    format: Option<Box<str>>,
}

impl Solver<'_> {
    pub(super) fn text(&mut self, facts: &[Lit]) -> Outcome {
        let mut demand = Demand::default();
        for fact in facts {
            match (self.arena.node(*fact), fact.negated()) {
                (Node::LengthMin(min), false) => demand.min = demand.min.max(*min),
                (Node::LengthMin(min), true) => {
                    let max = min.saturating_sub(1);
                    demand.max = Some(demand.max.map_or(max, |own| own.min(max)));
                    if *min == 0 {
                        return Outcome::Nothing;
                    }
                }
                (Node::Matches(pattern), false) => demand.within.push(*pattern),
                (Node::Matches(pattern), true) => demand.without.push(*pattern),
                (Node::TextIn(set), false) => {
                    demand.set = Some(match demand.set.take() {
                        None => set.to_vec(),
                        Some(own) => own.into_iter().filter(|text| set.contains(text)).collect(),
                    });
                }
                (Node::TextIn(set), true) => demand.excluded.extend(set.iter().cloned()),
                (Node::Format(format), _) => demand.format = Some(format.clone()),
                _ => {}
            }
        }
        if demand.max.is_some_and(|max| max < demand.min) {
            return Outcome::Nothing;
        }
        if let Some(set) = &demand.set {
            return self.member(facts, set);
        }
        if demand.within.is_empty() && demand.without.is_empty() {
            let outcome = plain(&demand);
            return match (&demand.format, outcome) {
                (Some(format), Outcome::Found(_)) => self.guess(facts, Obstacle::Format(format.to_string())),
                (_, outcome) => outcome,
            };
        }
        self.patterned(facts, &demand)
    }

    fn member(&self, facts: &[Lit], set: &[Box<str>]) -> Outcome {
        let mut obstacle = None;
        for text in set {
            let value = Value::String(text.to_string());
            match self.all_hold(facts, &value) {
                Some(true) => return Outcome::Found(value),
                Some(false) => {}
                None => obstacle = Some(self.opaque_of(facts)),
            }
        }
        obstacle.map_or(Outcome::Nothing, Outcome::Undecided)
    }

    /// `true` if every fact holds; `None` if none is refuted and some is undecided.
    fn all_hold(&self, facts: &[Lit], value: &Value) -> Option<bool> {
        let mut certain = true;
        for fact in facts {
            match self.meaning().holds(*fact, value) {
                Some(false) => return Some(false),
                Some(true) => {}
                None => certain = false,
            }
        }
        certain.then_some(true)
    }

    fn opaque_of(&self, facts: &[Lit]) -> Obstacle {
        for fact in facts {
            if let Node::Format(format) = self.arena.node(*fact) {
                return Obstacle::Format(format.to_string());
            }
        }
        Obstacle::Pattern(String::new())
    }

    fn patterned(&mut self, facts: &[Lit], demand: &Demand) -> Outcome {
        let mut opaque: Option<Obstacle> = None;
        let mut clear = |solver: &mut Self, patterns: &[PatternId]| -> Vec<PatternId> {
            let mut own = Vec::with_capacity(patterns.len());
            for pattern in patterns {
                if solver.patterns.is_opaque(*pattern) {
                    opaque = Some(Obstacle::Pattern(solver.patterns.source(*pattern).to_owned()));
                } else {
                    own.push(*pattern);
                }
            }
            own
        };
        let within = clear(self, &demand.within);
        let without = clear(self, &demand.without);
        if let Some(format) = &demand.format {
            opaque = Some(Obstacle::Format(format.to_string()));
        }
        let mut without = without;
        if self.budget.reach == Reach::Plain {
            without.extend(self.patterns.intern(LINE_BREAKS));
        }
        let found = match self.patterns.product(&within, &without) {
            Some(automaton) => language::shortest(automaton, demand.min, demand.max, &demand.excluded),
            None => Found::Undecided,
        };
        match (found, opaque) {
            (Found::Nothing, _) => Outcome::Nothing,
            (Found::Text(text), None) => Outcome::Found(Value::String(text)),
            (Found::Text(text), Some(obstacle)) => {
                let value = Value::String(text);
                if self.all_hold(facts, &value) == Some(true) {
                    return Outcome::Found(value);
                }
                self.guess(facts, obstacle)
            }
            (Found::Undecided, opaque) => {
                let first = demand.within.first().or(demand.without.first());
                let source = first.map_or(String::new(), |id| self.patterns.source(*id).to_owned());
                self.guess(facts, opaque.unwrap_or(Obstacle::Pattern(source)))
            }
        }
    }

    /// Tries a few strings when nothing can be concluded.
    fn guess(&self, facts: &[Lit], obstacle: Obstacle) -> Outcome {
        for text in GUESSES {
            let value = Value::String(text.to_owned());
            if self.all_hold(facts, &value) == Some(true) {
                return Outcome::Found(value);
            }
        }
        Outcome::Undecided(obstacle)
    }
}

/// Decides length bounds and exclusions without patterns.
fn plain(demand: &Demand) -> Outcome {
    if demand.min > LENGTH_MAX {
        return Outcome::Undecided(Obstacle::Limit { what: "string length", limit: LENGTH_MAX });
    }
    let free = |text: &str| !demand.excluded.iter().any(|own| **own == *text);
    let count = usize::try_from(demand.min).unwrap_or(usize::MAX);
    let base = "a".repeat(count);
    if free(&base) {
        return Outcome::Found(Value::String(base));
    }
    if demand.max == Some(0) {
        return Outcome::Nothing;
    }
    // The last character varies over more values than there are exclusions, unless there are very many.
    let stem = "a".repeat(count.saturating_sub(1));
    let last = ('a'..='z').chain('0'..='9').chain('A'..='Z').chain('\u{4e00}'..='\u{9fff}');
    for character in last {
        let text = format!("{stem}{character}");
        if free(&text) {
            return Outcome::Found(Value::String(text));
        }
    }
    Outcome::Undecided(Obstacle::Limit { what: "excluded strings", limit: 20_000 })
}
