//! Explanation of a refusal, within a budget.
//!
//! The compiled validator gives the verdict; this walk only finds the violations to report. It does not use the
//! validator's error iterator, which builds an error for every branch of every `anyOf` at every level and copies the
//! value into each: a schema of 875 bytes and 57 bytes of arguments exhausted memory. The walk applies subschemas to
//! the value in the order of the schema, memoizes results of reference targets, and descends only into the closest
//! branch of an `anyOf`.
//!
//! Guarantees: at most [`limits::VIOLATION_STEPS_MAX`] steps, [`limits::VIOLATIONS_MAX`] violations and
//! [`limits::VIOLATION_BYTES_MAX`] bytes of report (steps in proportion for values over 1 MiB); the limit that ended
//! an explanation early is named. A wrong explanation cannot change a verdict.

mod applicator;
mod assertion;
mod evaluated;
mod report;
mod trail;

use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::graph::Graph;
use super::{Effort, SchemaOptions, reference};
use crate::json::meter::stack_address;
use crate::json::{Node, Tape};
use crate::limits;
use crate::violation::{Ended, Violations};

use report::Report;
use trail::Trail;

/// Maximum memoized results of reference targets; each takes about 40 bytes.
const REMEMBERED_MAX: usize = 64 * 1024;

/// Maximum bytes of a schema for which a brief explanation is tried.
const BRIEF_SCHEMA_BYTES_MAX: usize = 32 * 1024;

/// Explains why `schema` refuses `instance`.
pub(super) fn explain(
    schema: Node<'_>,
    instance: Node<'_>,
    options: &SchemaOptions,
    pattern_states: usize,
    effort: Effort,
) -> Violations {
    // Reading a larger schema alone would exceed the budget of a brief explanation.
    if effort == Effort::Brief && schema.raw_len() > BRIEF_SCHEMA_BYTES_MAX {
        return Violations::unexplained(instance, Some(Ended::Steps));
    }
    let value = schema.to_value();
    let graph = Graph::of(&value, options.default_dialect).and_then(|mut graph| {
        reference::resolve(&mut graph)?;
        Ok(graph)
    });
    // An admitted schema always has a graph; the fallback only avoids a panic.
    let Ok(graph) = graph else { return Violations::unexplained(instance, None) };
    let mut report = Report::new(limits::VIOLATIONS_MAX);
    let mut walk = Walk::new(&graph, effort.explanation_steps(instance), options.assert_formats);
    walk.pattern_states = pattern_states as u64;
    let ended = walk.apply(ROOT, instance, &Trail::ROOT, Some(&mut report)).err();
    report.finish(instance, ended)
}

/// Returns this walk's verdict on `instance`; `None` if its budget ended, or if a reference leads where only the
/// validator can follow. For tests that compare both.
pub(super) fn accepts(schema: Node<'_>, instance: Node<'_>, options: &SchemaOptions) -> Option<bool> {
    let value = schema.to_value();
    let mut graph = Graph::of(&value, options.default_dialect).ok()?;
    reference::resolve(&mut graph).ok()?;
    let mut walk = Walk::new(&graph, Effort::Full.explanation_steps(instance), options.assert_formats);
    let accepts = walk.apply(ROOT, instance, &Trail::ROOT, None).ok()?;
    (!walk.is_lost).then_some(accepts)
}

/// Index of the root subschema in its graph.
const ROOT: u32 = 0;

/// State of one explanation.
struct Walk<'s> {
    graph: &'s Graph<'s>,
    assert_formats: bool,
    steps_left: u64,
    /// Maximum states that matching a regular expression may follow one by one.
    pattern_states: u64,
    /// Lowest stack address at which the walk still descends.
    floor: usize,
    /// Memoized verdicts of reference targets on containers, by subschema and the node's identity.
    remembered: HashMap<(u32, (usize, u32)), bool>,
    /// Validators of single keywords, by the address of the keyword's value.
    keywords: HashMap<usize, Option<Validator<Tape>>>,
    /// `true` once a reference led where only the validator can follow.
    is_lost: bool,
}

impl<'s> Walk<'s> {
    fn new(graph: &'s Graph<'s>, steps: u64, assert_formats: bool) -> Self {
        Self {
            graph,
            assert_formats,
            steps_left: steps,
            pattern_states: 0,
            floor: stack_address().saturating_sub(limits::CHECK_STACK_BYTES_MAX),
            remembered: HashMap::new(),
            keywords: HashMap::new(),
            is_lost: false,
        }
    }

    fn spend(&mut self, steps: u64) -> Result<(), Ended> {
        self.steps_left = self.steps_left.checked_sub(steps).ok_or(Ended::Steps)?;
        Ok(())
    }

    /// Applies the subschema `at` to `node` and returns `true` if it accepts. With a report, every violation is added
    /// to it; without one, the first violation ends the walk.
    fn apply(
        &mut self,
        at: u32,
        node: Node<'_>,
        trail: &Trail<'_>,
        out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        self.spend(1)?;
        if stack_address() < self.floor {
            return Err(Ended::Depth);
        }
        let graph = self.graph;
        let Some(place) = graph.place(at) else { return Ok(true) };
        let members = match place.value {
            Value::Object(members) => members,
            Value::Bool(false) => {
                return self.refuse(out, at, "false schema", node, trail, |violation| {
                    violation.expected = "nothing here: no value is allowed".to_owned();
                });
            }
            _ => return Ok(true),
        };
        let here = Here { at, members, dialect: graph.dialect(place.resource) };
        if members.contains_key("$ref") && here.dialect.ref_hides_siblings() {
            return self.follow(&here, "$ref", node, trail, out);
        }
        let Some(report) = out else {
            for (keyword, value) in members {
                if !self.keyword(&here, keyword, value, node, trail, None)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        };
        let mut holds = true;
        for rank in [Rank::Type, Rank::Applicator, Rank::Other] {
            for (keyword, value) in members.iter().filter(|(keyword, _)| Rank::of(keyword) == rank) {
                holds &= self.keyword(&here, keyword, value, node, trail, Some(report))?;
            }
        }
        Ok(holds)
    }

    /// Returns `true` if the subschema `at` accepts `node`.
    fn accepts(&mut self, at: u32, node: Node<'_>, trail: &Trail<'_>) -> Result<bool, Ended> {
        self.apply(at, node, trail, None)
    }

    fn keyword(
        &mut self,
        here: &Here<'_>,
        keyword: &str,
        value: &Value,
        node: Node<'_>,
        trail: &Trail<'_>,
        out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        self.spend(1)?;
        match Rank::of(keyword) {
            Rank::Applicator => self.applicator(here, keyword, value, node, trail, out),
            Rank::Type | Rank::Other => self.assertion(here, keyword, value, node, trail, out),
        }
    }
}

/// The subschema that is being applied.
struct Here<'s> {
    at: u32,
    members: &'s Map<String, Value>,
    dialect: Dialect,
}

impl Here<'_> {
    /// `true` if elements that match `contains` count as evaluated, as they do from 2020-12 on.
    fn contains_evaluates(&self) -> bool {
        self.dialect >= Dialect::Draft202012
    }
}

/// Order in which the keywords of one subschema are reported: `type`, then applicators, then all others.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Rank {
    Type,
    Applicator,
    Other,
}

impl Rank {
    fn of(keyword: &str) -> Self {
        match keyword {
            "type" => Self::Type,
            "$ref"
            | "$dynamicRef"
            | "$recursiveRef"
            | "allOf"
            | "anyOf"
            | "oneOf"
            | "not"
            | "if"
            | "dependentSchemas"
            | "dependencies"
            | "properties"
            | "patternProperties"
            | "additionalProperties"
            | "propertyNames"
            | "items"
            | "prefixItems"
            | "additionalItems"
            | "contains"
            | "unevaluatedProperties"
            | "unevaluatedItems" => Self::Applicator,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests;
