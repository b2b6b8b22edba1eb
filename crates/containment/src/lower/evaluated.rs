//! `unevaluatedProperties` and `unevaluatedItems`, resolved. Which properties and items adjacent
//! keywords have evaluated depends on which branches the value satisfies; so the cases are told
//! apart, each with its condition and what is evaluated in it, and the keyword becomes: in some case,
//! its condition holds and everything else satisfies the keyword's schema. The cases exclude each
//! other and together cover every valid value, so the formula is exact under negation too.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::keywords::{branches, dependency_keywords, tuple};
use super::{Lowering, Place, Stop};
use crate::arena::{Fields, Lit, Node};
use crate::dialect::Dialect;
use crate::kind::Kinds;
use crate::obstacle::Obstacle;
use crate::pattern::PatternId;

type Schema<'r> = &'r Map<String, Value>;

/// Cases one schema object may fall into.
const CASES_MAX: usize = 256;

/// Which annotations are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aspect {
    Properties,
    Items,
}

/// What has been evaluated in one case.
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

#[derive(Clone, Debug, Default)]
pub(super) struct Case {
    pub(super) condition: Vec<Lit>,
    pub(super) seen: Seen,
}

type Cases = Vec<Case>;

fn silent(cases: &[Case]) -> bool {
    cases.iter().all(|case| case.seen == Seen::default())
}

fn product(left: &[Case], right: &[Case]) -> Result<Cases, Stop> {
    if left.len() * right.len() > CASES_MAX {
        return Err(Stop::Obstacle(Obstacle::Cases("unevaluated")));
    }
    let mut joined = Vec::with_capacity(left.len() * right.len());
    for a in left {
        for b in right {
            let condition = a.condition.iter().chain(&b.condition).copied().collect();
            joined.push(Case { condition, seen: a.seen.clone().with(&b.seen) });
        }
    }
    Ok(joined)
}

fn under(condition: Lit, cases: Cases) -> Cases {
    cases
        .into_iter()
        .map(|mut case| {
            case.condition.push(condition);
            case
        })
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
            lits.push(self.arena.all(case.condition.into_iter().chain([own])));
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
                // An item that `contains` matched is evaluated; any other one must satisfy the schema.
                let rest = self.arena.any(case.seen.contained.iter().copied().chain([rest]));
                self.items(vec![Lit::TRUE; case.seen.prefix], rest)
            };
            lits.push(self.arena.all(case.condition.into_iter().chain([own])));
        }
        Ok(self.arena.any(lits))
    }

    /// The cases of a schema object; `own` leaves its own `unevaluated*` out of account.
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
                    cases = product(&cases, &inner)?;
                }
            }
        }
        if hidden {
            return Ok(cases);
        }
        let seen = self.directly_seen(map, here, aspect, own)?;
        cases = product(&cases, &[Case { condition: Vec::new(), seen }])?;
        if cases.iter().all(|case| case.seen.everything) {
            return Ok(cases);
        }
        for schema in branches(map, "allOf") {
            let inner = self.inner_cases(schema, here, aspect)?;
            if !silent(&inner) {
                cases = product(&cases, &inner)?;
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            for schema in branches(map, keyword) {
                let inner = self.inner_cases(schema, here, aspect)?;
                if !silent(&inner) {
                    let holds = self.lower(schema, here)?;
                    let fails = !self.lower(schema, &here.open())?;
                    cases = product(&cases, &alternatives(holds, inner, fails, Vec::new()))?;
                }
            }
        }
        if let Some(condition) = map.get("if").filter(|_| here.dialect >= Dialect::Draft7) {
            let mut yes = self.inner_cases(condition, here, aspect)?;
            let mut no = vec![Case::default()];
            if let Some(schema) = map.get("then") {
                yes = product(&yes, &self.inner_cases(schema, here, aspect)?)?;
            }
            if let Some(schema) = map.get("else") {
                no = self.inner_cases(schema, here, aspect)?;
            }
            if !silent(&yes) || !silent(&no) {
                let holds = self.lower(condition, &here.open())?;
                cases = product(&cases, &alternatives(holds, yes, !holds, no))?;
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
                    cases = product(&cases, &alternatives(present, inner, !present, Vec::new()))?;
                }
            }
        }
        Ok(cases)
    }

    fn inner_cases<'r>(&mut self, schema: &'r Value, here: &Place<'r>, aspect: Aspect) -> Result<Cases, Stop> {
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
}

fn alternatives(holds: Lit, yes: Cases, fails: Lit, no: Cases) -> Cases {
    let no = if no.is_empty() { vec![Case::default()] } else { no };
    let mut both = under(holds, yes);
    both.extend(under(fails, no));
    both
}
