//! Expansion: how often a schema is applied to one value once every reference is followed, counted without expanding
//! (R1.6, limits of admission).
//!
//! `steps(s)` is the largest number of schema applications along one path into a value: those in place, plus the most
//! expensive child. Members of different names are different children, so they do not add up; two subschemas for the
//! same member do. Counts saturate and each subschema is counted once, so 26 definitions that each apply the next one
//! twice take 26 additions, not 2^26.
//!
//! Recursion through children ends with the value. If a recursion multiplies, the validator memoizes results and
//! every check has a budget of steps ([`limits::CHECK_STEPS_MAX`]).

use std::collections::{BTreeMap, HashMap};

use super::error::{SchemaError, SchemaLimit};
use super::graph::{Child, Graph};
use crate::limits;

pub(super) struct Expansion {
    pub(super) steps: usize,
    /// Maximum subschemas that are applied in place to one value.
    pub(super) in_place: usize,
}

/// Maximum additions for one schema; beyond it the schema is refused as over the expansion limit.
const ADDITIONS_MAX: usize = 50 * limits::SCHEMA_EXPANSION_MAX;

/// Effect of one subschema, combined with everything it applies in place.
#[derive(Debug, Default, Clone)]
struct Applied<'s> {
    in_place: usize,
    children: BTreeMap<Child<'s>, BTreeMap<u32, usize>>,
}

pub(super) fn count(graph: &Graph<'_>) -> Result<Expansion, SchemaError> {
    // Without references the graph is a tree, so every subschema is applied at most once.
    if graph.references.is_empty() {
        return Ok(Expansion { steps: graph.places.len(), in_place: in_place_of_tree(graph) });
    }
    let applied = applied(graph)?;
    let (order, component) = components(&applied);
    let mut steps = vec![0usize; applied.len()];
    let mut expansion = Expansion { steps: 0, in_place: 0 };
    for at in order {
        let Some(place) = applied.get(at) else { continue };
        let mut costliest = 0usize;
        for (child, targets) in &place.children {
            let everywhere = match child {
                Child::Member(_) => place.children.get(&Child::AnyMember),
                _ => None,
            };
            let mut cost = 0usize;
            for (&target, &times) in targets.iter().chain(everywhere.into_iter().flatten()) {
                if component.get(target as usize) != component.get(at) {
                    let below = steps.get(target as usize).copied().unwrap_or(0);
                    cost = cost.saturating_add(times.saturating_mul(below));
                }
            }
            costliest = costliest.max(cost);
        }
        let total = place.in_place.saturating_add(costliest);
        if total > limits::SCHEMA_EXPANSION_MAX {
            return Err(SchemaLimit::Expansion.exceeded_at(graph.pointer(at as u32), total));
        }
        if let Some(slot) = steps.get_mut(at) {
            *slot = total;
        }
        expansion.steps = expansion.steps.max(total);
        expansion.in_place = expansion.in_place.max(place.in_place);
    }
    Ok(expansion)
}

/// Returns the most subschemas that one value meets in place. Relies on a subschema's index being larger than that of
/// the subschema that applies it.
fn in_place_of_tree(graph: &Graph<'_>) -> usize {
    let mut counts = vec![1usize; graph.places.len()];
    for (at, place) in graph.places.iter().enumerate().rev() {
        let below: usize = place.in_place.iter().filter_map(|&target| counts.get(target as usize)).sum();
        if let Some(count) = counts.get_mut(at) {
            *count += below;
        }
    }
    counts.into_iter().max().unwrap_or(1)
}

/// Combines each subschema with those it applies in place, callees first. A cycle in place never ends and is refused.
fn applied<'s>(graph: &Graph<'s>) -> Result<Vec<Applied<'s>>, SchemaError> {
    let mut done: Vec<Option<Applied<'s>>> = vec![None; graph.places.len()];
    let mut open = vec![false; graph.places.len()];
    let mut additions = 0;
    for root in 0..graph.places.len() {
        let mut stack = vec![(root, 0)];
        while let Some((at, next)) = stack.pop() {
            let (Some(place), Some(None)) = (graph.places.get(at), done.get(at)) else { continue };
            if let Some(flag) = open.get_mut(at) {
                *flag = true;
            }
            if let Some(&below) = place.in_place.get(next) {
                let below = below as usize;
                stack.push((at, next + 1));
                if done.get(below).is_some_and(Option::is_none) {
                    if open.get(below) == Some(&true) {
                        return Err(SchemaError::ReferenceLoop { pointer: graph.pointer(below as u32) });
                    }
                    stack.push((below, 0));
                }
                continue;
            }
            let gathered = gather(graph, at, &done, &mut additions)?;
            if let Some(slot) = done.get_mut(at) {
                *slot = Some(gathered);
            }
        }
    }
    Ok(done.into_iter().map(Option::unwrap_or_default).collect())
}

fn gather<'s>(
    graph: &Graph<'s>,
    at: usize,
    done: &[Option<Applied<'s>>],
    additions: &mut usize,
) -> Result<Applied<'s>, SchemaError> {
    let mut own = Applied { in_place: 1, ..Applied::default() };
    let Some(place) = graph.places.get(at) else { return Ok(own) };
    for &(child, target) in &place.children {
        *own.children.entry(child).or_default().entry(target).or_insert(0) += 1;
    }
    for &below in &place.in_place {
        let Some(Some(part)) = done.get(below as usize) else { continue };
        own.in_place = own.in_place.saturating_add(part.in_place);
        for (child, targets) in &part.children {
            let mine = own.children.entry(*child).or_default();
            for (&target, &times) in targets {
                let count = mine.entry(target).or_insert(0);
                *count = count.saturating_add(times);
            }
            *additions += targets.len();
        }
        if *additions > ADDITIONS_MAX {
            return Err(SchemaLimit::Expansion.exceeded_at(graph.pointer(at as u32), *additions));
        }
    }
    if own.in_place > limits::SCHEMA_EXPANSION_MAX {
        return Err(SchemaLimit::Expansion.exceeded_at(graph.pointer(at as u32), own.in_place));
    }
    Ok(own)
}

/// Computes strongly connected components (Tarjan, iterative), children before parents.
fn components(applied: &[Applied<'_>]) -> (Vec<usize>, Vec<usize>) {
    let targets: Vec<Vec<usize>> = applied
        .iter()
        .map(|place| place.children.values().flat_map(BTreeMap::keys).map(|&t| t as usize).collect())
        .collect();
    let mut state = Tarjan { component: vec![usize::MAX; applied.len()], ..Tarjan::default() };
    for root in 0..applied.len() {
        if !state.index.contains_key(&root) {
            state.run(root, &targets);
        }
    }
    (state.order, state.component)
}

#[derive(Default)]
struct Tarjan {
    index: HashMap<usize, usize>,
    low: HashMap<usize, usize>,
    path: Vec<usize>,
    order: Vec<usize>,
    component: Vec<usize>,
    found: usize,
}

impl Tarjan {
    fn run(&mut self, root: usize, targets: &[Vec<usize>]) {
        let mut stack = vec![(root, 0)];
        while let Some((at, next)) = stack.pop() {
            if next == 0 {
                let index = self.index.len();
                self.index.insert(at, index);
                self.low.insert(at, index);
                self.path.push(at);
            }
            let Some(&target) = targets.get(at).and_then(|list| list.get(next)) else {
                self.close(at);
                if let Some(&(parent, _)) = stack.last() {
                    self.lower(parent, self.low.get(&at).copied());
                }
                continue;
            };
            stack.push((at, next + 1));
            if !self.index.contains_key(&target) {
                stack.push((target, 0));
            } else if self.component.get(target) == Some(&usize::MAX) {
                self.lower(at, self.index.get(&target).copied());
            }
        }
    }

    fn lower(&mut self, at: usize, to: Option<usize>) {
        if let (Some(low), Some(to)) = (self.low.get_mut(&at), to) {
            *low = (*low).min(to);
        }
    }

    fn close(&mut self, at: usize) {
        if self.low.get(&at) != self.index.get(&at) {
            return;
        }
        while let Some(member) = self.path.pop() {
            if let Some(slot) = self.component.get_mut(member) {
                *slot = self.found;
            }
            self.order.push(member);
            if member == at {
                break;
            }
        }
        self.found += 1;
    }
}
