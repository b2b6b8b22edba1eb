//! Resolution of `unevaluatedProperties` and `unevaluatedItems`. The properties and items that adjacent keywords
//! evaluate depend on the branches that a value satisfies. So cases are distinguished, each with its condition and
//! what is evaluated in it, and the keyword becomes: in some case, the condition holds and everything not evaluated
//! satisfies the keyword's schema. The cases are mutually exclusive and cover every valid value, so the formula is
//! exact under negation too.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::keywords::{branches, dependency_keywords, tuple};
use super::{Lowering, Place, Stop};
use crate::arena::{Arena, Fields, Lit, Node};
use crate::dialect::Dialect;
use crate::kind::Kinds;
use crate::limits::PROVER_CASES_MAX;
use crate::obstacle::Obstacle;
use crate::pattern::PatternId;

type Schema<'r> = &'r Map<String, Value>;

/// Kind of annotation that is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aspect {
    Properties,
    Items,
}

/// Properties and items that are evaluated in one case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) everything: bool,
    pub(super) names: BTreeSet<Box<str>>,
    pub(super) patterns: BTreeSet<PatternId>,
    prefix: usize,
    contained: BTreeSet<Lit>,
}

impl Seen {
    fn with(mut self, other: &Seen) -> Seen {
        self.everything |= other.everything;
        self.names.extend(other.names.iter().cloned());
        self.patterns.extend(&other.patterns);
        self.prefix = self.prefix.max(other.prefix);
        self.contained.extend(&other.contained);
        self
    }
}

#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) condition: Lit,
    pub(super) seen: Seen,
}

impl Default for Case {
    fn default() -> Case {
        Case { condition: Lit::TRUE, seen: Seen::default() }
    }
}

type Cases = Vec<Case>;

fn silent(cases: &[Case]) -> bool {
    cases.iter().all(|case| case.seen == Seen::default())
}

/// Combines every pair of cases; cases that evaluate the same are merged.
fn product(arena: &mut Arena, left: &[Case], right: &[Case]) -> Result<Cases, Stop> {
    if left.len() * right.len() > PROVER_CASES_MAX {
        return Err(Stop::Obstacle(Obstacle::Cases("unevaluated")));
    }
    let mut joined: Vec<(Seen, Vec<Lit>)> = Vec::new();
    for a in left {
        for b in right {
            let condition = arena.all([a.condition, b.condition]);
            if condition == Lit::FALSE {
                continue;
            }
            let seen = a.seen.clone().with(&b.seen);
            match joined.iter_mut().find(|(own, _)| *own == seen) {
                Some((_, conditions)) => conditions.push(condition),
                None => joined.push((seen, vec![condition])),
            }
        }
    }
    Ok(joined.into_iter().map(|(seen, conditions)| Case { condition: arena.any(conditions), seen }).collect())
}

fn under(arena: &mut Arena, condition: Lit, cases: Cases) -> Cases {
    cases
        .into_iter()
        .map(|case| Case { condition: arena.all([condition, case.condition]), seen: case.seen })
        .collect()
}

impl Lowering<'_> {
    pub(super) fn unevaluated_properties<'r>(
        &mut self,
        map: Schema<'r>,
        here: &Place<'r>,
        rest: Lit,
    ) -> Result<Lit, Stop> {
        let cases = self.cases(map, here, Aspect::Properties, true)?;
        let mut lits = Vec::with_capacity(cases.len());
        for case in cases {
            let own = if case.seen.everything { Lit::TRUE } else { self.remaining_fields(&case.seen, rest) };
            lits.push(self.arena.all([case.condition, own]));
        }
        Ok(self.arena.any(lits))
    }

    pub(super) fn remaining_fields(&mut self, seen: &Seen, rest: Lit) -> Lit {
        self.fields(Fields {
            named: seen.names.iter().map(|name| (name.clone(), Lit::TRUE)).collect(),
            patterns: seen.patterns.iter().map(|pattern| (*pattern, Lit::TRUE)).collect(),
            rest,
        })
    }

    pub(super) fn unevaluated_items<'r>(
        &mut self,
        map: Schema<'r>,
        here: &Place<'r>,
        rest: Lit,
    ) -> Result<Lit, Stop> {
        let cases = self.cases(map, here, Aspect::Items, true)?;
        let mut lits = Vec::with_capacity(cases.len());
        for case in cases {
            let own = if case.seen.everything {
                Lit::TRUE
            } else {
                // An item that `contains` matched is evaluated; any other item must satisfy the schema.
                let rest = self.arena.any(case.seen.contained.iter().copied().chain([rest]));
                self.items(vec![Lit::TRUE; case.seen.prefix], rest)
            };
            lits.push(self.arena.all([case.condition, own]));
        }
        Ok(self.arena.any(lits))
    }

    /// Returns the cases of a schema object; with `own`, its own `unevaluated*` keyword is ignored.
    pub(super) fn cases<'r>(
        &mut self,
        map: Schema<'r>,
        here: &Place<'r>,
        aspect: Aspect,
        own: bool,
    ) -> Result<Cases, Stop> {
        let hidden = here.dialect.ref_hides_siblings() && map.contains_key("$ref");
        let mut cases = vec![Case::default()];
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let known = match keyword {
                "$dynamicRef" => here.dialect == Dialect::Draft202012,
                "$recursiveRef" => here.dialect == Dialect::Draft201909,
                _ => true,
            };
            if let Some(reference) = map.get(keyword).filter(|_| known) {
                let (target, there) = self.follow(keyword, reference, here)?;
                if let Some(target) = target.as_object() {
                    let inner = self.cases(target, &there, aspect, false)?;
                    cases = product(self.arena, &cases, &inner)?;
                }
            }
        }
        if hidden {
            return Ok(cases);
        }
        let seen = self.directly_seen(map, here, aspect, own)?;
        cases = product(self.arena, &cases, &[Case { condition: Lit::TRUE, seen }])?;
        if cases.iter().all(|case| case.seen.everything) {
            return Ok(cases);
        }
        for schema in branches(map, "allOf") {
            let inner = self.inner_cases(schema, here, aspect)?;
            if !silent(&inner) {
                cases = product(self.arena, &cases, &inner)?;
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            for schema in branches(map, keyword) {
                let inner = self.inner_cases(schema, here, aspect)?;
                if !silent(&inner) {
                    let holds = self.lower(schema, here)?;
                    let fails = !self.lower(schema, &here.open())?;
                    let split = self.alternatives(holds, inner, fails, Vec::new());
                    cases = product(self.arena, &cases, &split)?;
                }
            }
        }
        if let Some(condition) = map.get("if").filter(|_| here.dialect >= Dialect::Draft7) {
            let mut yes = self.inner_cases(condition, here, aspect)?;
            let mut no = vec![Case::default()];
            if let Some(schema) = map.get("then") {
                let inner = self.inner_cases(schema, here, aspect)?;
                yes = product(self.arena, &yes, &inner)?;
            }
            if let Some(schema) = map.get("else") {
                no = self.inner_cases(schema, here, aspect)?;
            }
            if !silent(&yes) || !silent(&no) {
                let holds = self.lower(condition, &here.open())?;
                let split = self.alternatives(holds, yes, !holds, no);
                cases = product(self.arena, &cases, &split)?;
            }
        }
        for keyword in dependency_keywords(here.dialect) {
            let Some(Value::Object(entries)) = map.get(*keyword) else { continue };
            for (name, schema) in entries.iter().filter(|(_, entry)| !entry.is_array()) {
                let inner = self.inner_cases(schema, here, aspect)?;
                if !silent(&inner) {
                    let key = self.arena.intern(Node::Key(name.as_str().into()));
                    let object = self.arena.kinds(Kinds::OBJECT);
                    let present = self.arena.all([object, key]);
                    let split = self.alternatives(present, inner, !present, Vec::new());
                    cases = product(self.arena, &cases, &split)?;
                }
            }
        }
        Ok(cases)
    }

    fn inner_cases<'r>(
        &mut self,
        schema: &'r Value,
        here: &Place<'r>,
        aspect: Aspect,
    ) -> Result<Cases, Stop> {
        let place = self.enter(schema, here)?;
        match schema.as_object() {
            Some(map) => self.cases(map, &place, aspect, false),
            None => Ok(vec![Case::default()]),
        }
    }

    fn directly_seen<'r>(
        &mut self,
        map: Schema<'r>,
        here: &Place<'r>,
        aspect: Aspect,
        own: bool,
    ) -> Result<Seen, Stop> {
        let mut seen = Seen::default();
        let modern = here.dialect >= Dialect::Draft201909;
        match aspect {
            Aspect::Properties => {
                if let Some(Value::Object(properties)) = map.get("properties") {
                    seen.names.extend(properties.keys().map(|name| name.as_str().into()));
                }
                if let Some(Value::Object(properties)) = map.get("patternProperties") {
                    for source in properties.keys() {
                        seen.patterns.insert(self.pattern(source)?);
                    }
                }
                seen.everything = map.contains_key("additionalProperties")
                    || (!own && modern && map.contains_key("unevaluatedProperties"));
            }
            Aspect::Items => {
                let (prefix, rest) = tuple(map, here.dialect);
                seen.prefix = prefix.len();
                seen.everything = rest.is_some() || (!own && modern && map.contains_key("unevaluatedItems"));
                if let Some(schema) = map.get("contains").filter(|_| here.dialect == Dialect::Draft202012) {
                    seen.contained.insert(self.lower(schema, &here.open_child())?);
                }
            }
        }
        Ok(seen)
    }

    fn alternatives(&mut self, holds: Lit, yes: Cases, fails: Lit, no: Cases) -> Cases {
        let no = if no.is_empty() { vec![Case::default()] } else { no };
        let mut both = under(self.arena, holds, yes);
        both.extend(under(self.arena, fails, no));
        both
    }
}
