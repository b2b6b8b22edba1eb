//! Matching in two passes over a table of positions.
//!
//! The first pass goes from the last part to the first and marks, for each part, the positions of the URI from which
//! this part and all parts after it match. The second pass goes from the first part to the last and takes, for each
//! variable, the nearest end that is marked. Each part looks at each position once, so there is no backtracking.

use super::parse::Variable;
use super::rows::Rows;
use super::uri::{Unit, Uri, units};
use super::value::Value;
use super::{Modifier, Part, TooMuchWork, UriTemplate, Variables, Work};

/// Rows of a variable. The table distinguishes if an earlier value of the expression was present, because the
/// character before the value depends on it (`?a=1&b=2`, but `?b=2`).
#[derive(Clone, Copy)]
struct RowsOf {
    /// Row without an earlier value of the expression. The only row of a literal.
    fresh: usize,
    begun: usize,
}

impl RowsOf {
    fn part(index: usize) -> Self {
        Self { fresh: 2 * index, begun: 2 * index + 1 }
    }

    /// Returns the row that applies after a value of this variable.
    fn after_value(index: usize, variable: Variable) -> usize {
        let next = Self::part(index + 1);
        if variable.is_last { next.fresh } else { next.begun }
    }
}

pub(super) fn find(
    template: &UriTemplate,
    uri: &Uri<'_>,
    work: &mut Work,
) -> Result<Option<Variables>, TooMuchWork> {
    let mut rows = work.table(2 * template.parts.len() + 1, uri.units().len() + 1)?;
    let mut table = Table { template, uri, rows: &mut rows };
    let found = if table.mark(work)? { table.take() } else { None };
    work.keep(rows);
    Ok(found)
}

struct Table<'a, 'u> {
    template: &'a UriTemplate,
    uri: &'a Uri<'u>,
    rows: &'a mut Rows,
}

impl Table<'_, '_> {
    /// Fills the table; returns false if the URI does not match.
    fn mark(&mut self, work: &mut Work) -> Result<bool, TooMuchWork> {
        let end = RowsOf::part(self.template.parts.len()).fresh;
        self.rows.row_mut(end).set(self.uri.units().len());
        for (index, part) in self.template.parts.iter().enumerate().rev() {
            let rows = RowsOf::part(index);
            match *part {
                Part::Literal(span) => {
                    let literal: Vec<Unit> =
                        units(span.of(&self.template.text)).map(|(unit, _)| unit).collect();
                    self.mark_literal(rows.fresh, &literal, work)?;
                }
                Part::Variable(variable) => {
                    let next = RowsOf::part(index + 1);
                    self.mark_value(rows.fresh, index, variable, false, work)?;
                    if !variable.is_last || variable.operator.is_optional() {
                        let (mut row, absent) = self.rows.pair(rows.fresh, next.fresh);
                        row.join(absent);
                    }
                    if !variable.is_first {
                        self.mark_value(rows.begun, index, variable, true, work)?;
                        let absent = RowsOf::after_value(index, variable);
                        let (mut row, absent) = self.rows.pair(rows.begun, absent);
                        row.join(absent);
                    }
                }
            }
            if self.rows.row(rows.fresh).is_empty() && self.is_between_expressions(index) {
                return Ok(false);
            }
        }
        Ok(self.rows.row(0).has(0))
    }

    /// Returns true if the row `fresh` of this part decides alone: no expression continues across its start.
    fn is_between_expressions(&self, index: usize) -> bool {
        !matches!(self.template.parts.get(index), Some(Part::Variable(variable)) if !variable.is_first)
    }

    fn mark_literal(&mut self, row: usize, literal: &[Unit], work: &mut Work) -> Result<(), TooMuchWork> {
        let (mut steps, cost) = (ROW_COST + self.rows.words(), cost(literal));
        let (mut row, next) = self.rows.pair(row, row + 2);
        let units = self.uri.units();
        for end in next.ones() {
            steps += cost;
            if let Some(start) = start_of(literal, units, end) {
                row.set(start);
            }
        }
        work.spend(steps)
    }

    /// Marks the positions from which a value of the variable, and the rest of the template, match.
    fn mark_value(
        &mut self,
        row: usize,
        index: usize,
        variable: Variable,
        is_begun: bool,
        work: &mut Work,
    ) -> Result<(), TooMuchWork> {
        let value = Value::new(self.template, variable, is_begun);
        let (mut steps, cost) = (ROW_COST + self.rows.words(), cost(&value.lead));
        let (mut row, next) = self.rows.pair(row, RowsOf::after_value(index, variable));
        let units = self.uri.units();
        let Some((lowest, highest)) = next.bounds() else { return work.spend(steps) };
        // Nearest marked end that the value's characters can reach.
        let mut nearest = None;
        for from in (0..=highest).rev() {
            if nearest.is_none() && from < lowest {
                break;
            }
            steps += 1;
            let takes = units.get(from).is_some_and(|unit| value.takes(*unit));
            let beyond = nearest.filter(|_| takes);
            let is_end = next.has(from);
            nearest = if is_end { Some(from) } else { beyond };
            let end = if value.min == 0 { nearest } else { beyond };
            if end.is_some_and(|end| end - from <= value.max) {
                steps += cost;
                if let Some(start) = start_of(&value.lead, units, from) {
                    row.set(start);
                }
            }
            if let Some(name) = value.bare_name().filter(|_| is_end) {
                steps += cost;
                if let Some(start) = start_of(name, units, from) {
                    row.set(start);
                }
            }
        }
        work.spend(steps)
    }

    /// Reads the values off the marked table, from the start of the URI.
    fn take(&self) -> Option<Variables> {
        let mut found = Found::default();
        let (mut at, mut is_begun) = (0, false);
        for (index, part) in self.template.parts.iter().enumerate() {
            match *part {
                Part::Literal(span) => at += units(span.of(&self.template.text)).count(),
                Part::Variable(variable) => {
                    is_begun &= !variable.is_first;
                    if let Some((from, to)) = self.value_at(at, index, variable, is_begun) {
                        let value = match variable.modifier {
                            Modifier::Explode => self.uri.written(from, to)?.to_owned(),
                            _ => self.uri.decoded(from, to)?,
                        };
                        found.add(variable.name.of(&self.template.text), value, variable.modifier)?;
                        (at, is_begun) = (to, true);
                    }
                }
            }
        }
        Some(found.values())
    }

    /// Returns the value of a variable whose part begins at `at`: it ends at the nearest end from which the rest
    /// matches.
    fn value_at(
        &self,
        at: usize,
        index: usize,
        variable: Variable,
        is_begun: bool,
    ) -> Option<(usize, usize)> {
        let next = self.rows.row(RowsOf::after_value(index, variable));
        let value = Value::new(self.template, variable, is_begun);
        let rest = self.uri.units().get(at..)?;
        if rest.starts_with(&value.lead) {
            let from = at + value.lead.len();
            let run = rest.get(value.lead.len()..)?.iter().take(value.max);
            let longest = run.take_while(|unit| value.takes(**unit)).count();
            let end = (from + value.min..=from + longest).find(|end| next.has(*end));
            if let Some(end) = end {
                return Some((from, end));
            }
        }
        let name = value.bare_name()?;
        let end = at + name.len();
        (rest.starts_with(name) && next.has(end)).then_some((end, end))
    }
}

/// Returns the start of `text` if it stands right before `end`. One character, the usual case, is compared without a
/// call of `memcmp`.
fn start_of(text: &[Unit], units: &[Unit], end: usize) -> Option<usize> {
    let start = end.checked_sub(text.len())?;
    let stands = match text {
        [] => true,
        [only] => units.get(start) == Some(only),
        [first, ..] => units.get(start) == Some(first) && units.get(start..end) == Some(text),
    };
    stands.then_some(start)
}

/// Steps that each row costs, in addition to its characters.
const ROW_COST: usize = 16;

/// Returns the steps that a comparison with a text costs: about sixteen units are compared at a time.
fn cost(text: &[Unit]) -> usize {
    1 + text.len() / 16
}

/// Values found so far, each variable once.
#[derive(Default)]
struct Found<'t>(Vec<(&'t str, String, Modifier)>);

impl<'t> Found<'t> {
    /// Adds a value; `None` if the variable has a different one already.
    fn add(&mut self, name: &'t str, value: String, modifier: Modifier) -> Option<()> {
        let Some(known) = self.0.iter_mut().find(|(known, ..)| *known == name) else {
            self.0.push((name, value, modifier));
            return Some(());
        };
        let is_prefix = |modifier| matches!(modifier, Modifier::Prefix(_));
        let agrees = match (is_prefix(known.2), is_prefix(modifier)) {
            (true, true) => known.1.starts_with(&value) || value.starts_with(&known.1),
            (true, false) => value.starts_with(&known.1),
            (false, true) => known.1.starts_with(&value),
            (false, false) => known.1 == value,
        };
        // The longest text is the closest to the variable's value.
        if value.len() > known.1.len() {
            (known.1, known.2) = (value, modifier);
        }
        agrees.then_some(())
    }

    fn values(self) -> Variables {
        self.0.into_iter().map(|(name, value, _)| (name.into(), value)).collect()
    }
}
