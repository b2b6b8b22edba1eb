//! Objects. Properties are known by name, or belong to a class of names that match the same patterns. Affirmed
//! constraints apply to every property; each negated constraint is a debt: some property must violate it. Debts are
//! paid by named properties or by new members of a class, within the bounds on the number of properties. If every way
//! to pay fails, there is no such object.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Alternatives, Outcome, Solver};
use crate::arena::{Fields, Lit, Node};
use crate::kind::Kinds;
use crate::obstacle::Obstacle;
use crate::pattern::PatternId;

/// Maximum patterns whose combinations are distinguished.
const PATTERNS_MAX: usize = 10;
/// Maximum properties of an object that is filled up.
const PROPERTIES_MAX: u64 = 400;

#[derive(Default)]
struct Shape {
    affirmed: Vec<Fields>,
    denied: Vec<Fields>,
    names: Vec<Lit>,
    denied_names: Vec<Lit>,
    required: BTreeSet<Box<str>>,
    absent: BTreeSet<Box<str>>,
    min: u64,
    max: Option<u64>,
}

/// Class of names that match the same patterns, without the explicit names.
#[derive(Clone)]
struct Class {
    name: Lit,
    value: Lit,
    matched: BTreeSet<PatternId>,
}

/// Way to pay a debt.
#[derive(Clone)]
enum Payment {
    Named(Box<str>, Lit),
    Member { class: usize, name: Lit, value: Lit },
}

#[derive(Clone)]
struct Member {
    class: usize,
    name: Lit,
    value: Lit,
}

/// Object under construction.
#[derive(Clone, Default)]
struct Draft {
    named: BTreeMap<Box<str>, Lit>,
    members: Vec<Member>,
}

struct Field {
    /// Constraint on a value under this name; `FALSE` if the name may not occur.
    base: Lit,
}

struct Plan {
    fields: BTreeMap<Box<str>, Field>,
    classes: Vec<Class>,
    min: u64,
    max: Option<u64>,
}

impl Solver<'_> {
    pub(super) fn object(&mut self, facts: &[Lit]) -> Outcome {
        let shape = self.shape(facts);
        if shape.max.is_some_and(|max| max < shape.min || (shape.required.len() as u64) > max) {
            return Outcome::Nothing;
        }
        if shape.required.intersection(&shape.absent).next().is_some() {
            return Outcome::Nothing;
        }
        match self.object_of(&shape) {
            Ok(outcome) => outcome,
            Err(obstacle) => Outcome::Undecided(obstacle),
        }
    }

    fn shape(&self, facts: &[Lit]) -> Shape {
        let mut shape = Shape::default();
        for fact in facts {
            match (self.arena.node(*fact), fact.negated()) {
                (Node::Properties(fields), false) => shape.affirmed.push((**fields).clone()),
                (Node::Properties(fields), true) => shape.denied.push((**fields).clone()),
                (Node::Names(lit), false) => shape.names.push(*lit),
                (Node::Names(lit), true) => shape.denied_names.push(*lit),
                (Node::Key(key), false) => {
                    shape.required.insert(key.clone());
                }
                (Node::Key(key), true) => {
                    shape.absent.insert(key.clone());
                }
                (Node::PropertiesMin(min), false) => shape.min = shape.min.max(*min),
                (Node::PropertiesMin(min), true) => {
                    let max = min.saturating_sub(1);
                    shape.max = Some(shape.max.map_or(max, |own| own.min(max)));
                }
                _ => {}
            }
        }
        shape
    }

    fn object_of(&mut self, shape: &Shape) -> Result<Outcome, Obstacle> {
        let mut explicit: BTreeSet<Box<str>> = shape.required.union(&shape.absent).cloned().collect();
        for fields in shape.affirmed.iter().chain(&shape.denied) {
            explicit.extend(fields.named.iter().map(|(name, _)| name.clone()));
        }
        let mut plan = Plan { fields: BTreeMap::new(), classes: Vec::new(), min: shape.min, max: shape.max };
        for name in &explicit {
            let base = if shape.absent.contains(name) { Lit::FALSE } else { self.base_of(shape, name)? };
            if shape.required.contains(name) && base == Lit::FALSE {
                return Ok(Outcome::Nothing);
            }
            plan.fields.insert(name.clone(), Field { base });
        }
        // The required properties must be satisfiable whatever else is required.
        let mut draft = Draft::default();
        for name in &shape.required {
            let base = plan.fields.get(name).map_or(Lit::FALSE, |field| field.base);
            if self.solve(base) == Outcome::Nothing {
                return Ok(Outcome::Nothing);
            }
            draft.named.insert(name.clone(), base);
        }
        let debts = shape.denied.len() + shape.denied_names.len();
        if debts > 0 || (draft.named.len() as u64) < shape.min {
            plan.classes = self.classes(shape, &explicit)?;
        }
        let mut owed: Vec<Vec<Payment>> = Vec::new();
        for fields in &shape.denied {
            match self.payments(fields, &plan, &shape.required)? {
                None => {}
                Some(payments) if payments.is_empty() => return Ok(Outcome::Nothing),
                Some(payments) => owed.push(payments),
            }
        }
        for lit in &shape.denied_names {
            match self.name_payments(*lit, &plan, &shape.required)? {
                None => {}
                Some(payments) if payments.is_empty() => return Ok(Outcome::Nothing),
                Some(payments) => owed.push(payments),
            }
        }
        owed.sort_by_key(Vec::len);
        Ok(self.pay(&plan, &owed, &draft))
    }

    /// Returns the constraint on a property of this name; `FALSE` if the name is not admitted.
    fn base_of(&mut self, shape: &Shape, name: &str) -> Result<Lit, Obstacle> {
        for lit in &shape.names {
            match self.meaning().holds(*lit, &Value::String(name.to_owned())) {
                Some(true) => {}
                Some(false) => return Ok(Lit::FALSE),
                None => return Err(Obstacle::Pattern(name.to_owned())),
            }
        }
        let mut lits = Vec::new();
        for fields in &shape.affirmed {
            lits.extend(self.applicable(fields, name)?);
        }
        Ok(self.conjunction(lits))
    }

    fn applicable(&self, fields: &Fields, name: &str) -> Result<Vec<Lit>, Obstacle> {
        self.meaning().applicable(fields, name).ok_or_else(|| Obstacle::Pattern(name.to_owned()))
    }

    fn conjunction(&mut self, lits: impl IntoIterator<Item = Lit>) -> Lit {
        let lits: Vec<Lit> = lits.into_iter().map(|lit| self.arena.unfold(lit)).collect();
        self.arena.all(lits)
    }

    /// Returns the classes that contain at least one name.
    fn classes(&mut self, shape: &Shape, explicit: &BTreeSet<Box<str>>) -> Result<Vec<Class>, Obstacle> {
        let mut patterns: BTreeSet<PatternId> = BTreeSet::new();
        for fields in shape.affirmed.iter().chain(&shape.denied) {
            patterns.extend(fields.patterns.iter().map(|(pattern, _)| *pattern));
        }
        if patterns.len() > PATTERNS_MAX {
            return Err(Obstacle::Cases("patternProperties"));
        }
        let mut lits = vec![self.arena.kinds(Kinds::STRING)];
        if !explicit.is_empty() {
            lits.push(!self.arena.text_in(explicit.iter().cloned().collect()));
        }
        lits.extend(&shape.names);
        let name = self.conjunction(lits);
        let mut classes = vec![Class { name, value: Lit::TRUE, matched: BTreeSet::new() }];
        for pattern in patterns {
            let matches = self.arena.intern(Node::Matches(pattern));
            let mut split = Vec::new();
            for class in classes {
                for (lit, inside) in [(matches, true), (!matches, false)] {
                    let name = self.conjunction([class.name, lit]);
                    // An undecided class is kept, because it may contain names.
                    if self.solve(name) != Outcome::Nothing {
                        let mut matched = class.matched.clone();
                        if inside {
                            matched.insert(pattern);
                        }
                        split.push(Class { name, value: Lit::TRUE, matched });
                    }
                }
            }
            classes = split;
        }
        let mut alive = Vec::new();
        for mut class in classes {
            if self.solve(class.name) == Outcome::Nothing {
                continue;
            }
            let lits: Vec<Lit> =
                shape.affirmed.iter().flat_map(|fields| in_class(fields, &class.matched)).collect();
            class.value = self.conjunction(lits);
            if class.value != Lit::FALSE {
                alive.push(class);
            }
        }
        Ok(alive)
    }

    /// Returns the ways in which a property can violate the constraint; `None` if a required property always does.
    fn payments(
        &mut self,
        fields: &Fields,
        plan: &Plan,
        required: &BTreeSet<Box<str>>,
    ) -> Result<Option<Vec<Payment>>, Obstacle> {
        let mut payments = Vec::new();
        for (name, field) in &plan.fields {
            let lits = self.applicable(fields, name)?;
            let kept = self.conjunction(lits);
            if kept == Lit::TRUE || field.base == Lit::FALSE {
                continue;
            }
            if required.contains(name) && self.solve_all([field.base, kept]) == Outcome::Nothing {
                return Ok(None);
            }
            if self.solve_all([field.base, !kept]) != Outcome::Nothing {
                payments.push(Payment::Named(name.clone(), !kept));
            }
        }
        for (at, class) in plan.classes.iter().enumerate() {
            let kept = self.conjunction(in_class(fields, &class.matched));
            if kept != Lit::TRUE && self.solve_all([class.value, !kept]) != Outcome::Nothing {
                payments.push(Payment::Member { class: at, name: Lit::TRUE, value: !kept });
            }
        }
        payments.sort_by_key(|payment| match payment {
            Payment::Named(name, _) => usize::from(!required.contains(name)),
            Payment::Member { .. } => 2,
        });
        Ok(Some(payments))
    }

    /// Returns the ways in which the name of a property can violate the literal; `None` if a required name does.
    fn name_payments(
        &mut self,
        lit: Lit,
        plan: &Plan,
        required: &BTreeSet<Box<str>>,
    ) -> Result<Option<Vec<Payment>>, Obstacle> {
        let mut payments = Vec::new();
        for (name, field) in &plan.fields {
            if field.base == Lit::FALSE {
                continue;
            }
            match self.meaning().holds(lit, &Value::String(name.to_string())) {
                Some(true) => {}
                Some(false) if required.contains(name) => return Ok(None),
                Some(false) => payments.push(Payment::Named(name.clone(), Lit::TRUE)),
                None => return Err(Obstacle::Pattern(name.to_string())),
            }
        }
        for (at, class) in plan.classes.iter().enumerate() {
            if self.solve_all([class.name, !lit]) != Outcome::Nothing {
                payments.push(Payment::Member { class: at, name: !lit, value: Lit::TRUE });
            }
        }
        Ok(Some(payments))
    }

    fn pay(&mut self, plan: &Plan, owed: &[Vec<Payment>], draft: &Draft) -> Outcome {
        if self.over_budget() {
            return Outcome::Undecided(Obstacle::Budget);
        }
        if plan.max.is_some_and(|max| draft.len() > max) {
            return Outcome::Nothing;
        }
        let Some((first, rest)) = owed.split_first() else { return self.finish(plan, draft) };
        let mut alternatives = Alternatives::default();
        for payment in first {
            for next in self.paid(plan, draft, payment) {
                let outcome = self.pay(plan, rest, &next);
                if let Some(value) = alternatives.take(outcome) {
                    return Outcome::Found(value);
                }
            }
        }
        alternatives.exhausted()
    }

    /// Returns the drafts in which the payment is made.
    fn paid(&mut self, plan: &Plan, draft: &Draft, payment: &Payment) -> Vec<Draft> {
        match payment {
            Payment::Named(name, lit) => {
                let base = draft.named.get(name).copied();
                let base =
                    base.or_else(|| plan.fields.get(name).map(|field| field.base)).unwrap_or(Lit::FALSE);
                let value = self.conjunction([base, *lit]);
                if self.solve(value) == Outcome::Nothing {
                    return Vec::new();
                }
                let mut next = draft.clone();
                next.named.insert(name.clone(), value);
                vec![next]
            }
            Payment::Member { class, name, value } => {
                let mut drafts = Vec::new();
                for at in 0..draft.members.len() {
                    let Some(member) = draft.members.get(at).filter(|member| member.class == *class) else {
                        continue;
                    };
                    let (own_name, own_value) = (member.name, member.value);
                    let both_names = self.conjunction([own_name, *name]);
                    let both_values = self.conjunction([own_value, *value]);
                    if self.solve(both_names) == Outcome::Nothing
                        || self.solve(both_values) == Outcome::Nothing
                    {
                        continue;
                    }
                    let mut next = draft.clone();
                    if let Some(member) = next.members.get_mut(at) {
                        (member.name, member.value) = (both_names, both_values);
                    }
                    drafts.push(next);
                }
                if let Some(own) = plan.classes.get(*class) {
                    let name = self.conjunction([own.name, *name]);
                    let value = self.conjunction([own.value, *value]);
                    let mut next = draft.clone();
                    next.members.push(Member { class: *class, name, value });
                    drafts.push(next);
                }
                drafts
            }
        }
    }

    /// Assigns values, and adds properties up to the minimum number.
    fn finish(&mut self, plan: &Plan, draft: &Draft) -> Outcome {
        let mut object = Map::new();
        for (name, goal) in &draft.named {
            match self.solve(*goal) {
                Outcome::Found(value) => object.insert(name.to_string(), value),
                other => return other,
            };
        }
        let mut taken: Vec<Box<str>> = Vec::new();
        for member in &draft.members {
            let value = match self.solve(member.value) {
                Outcome::Found(value) => value,
                other => return other,
            };
            match self.fresh_name(member.name, &taken) {
                Outcome::Found(Value::String(name)) => {
                    taken.push(name.as_str().into());
                    object.insert(name, value);
                }
                // Other choices for the earlier names might have left one free.
                Outcome::Nothing if !taken.is_empty() => return Outcome::Undecided(Obstacle::Object),
                Outcome::Found(_) | Outcome::Nothing => return Outcome::Nothing,
                undecided => return undecided,
            }
        }
        if plan.min > PROPERTIES_MAX {
            return Outcome::Undecided(Obstacle::Limit { what: "minProperties", limit: PROPERTIES_MAX });
        }
        self.fill(plan, object, taken)
    }

    fn fill(&mut self, plan: &Plan, mut object: Map<String, Value>, mut taken: Vec<Box<str>>) -> Outcome {
        let mut obstacle = None;
        for (name, field) in &plan.fields {
            if object.len() as u64 >= plan.min {
                return Outcome::Found(Value::Object(object));
            }
            if object.contains_key(&**name) || field.base == Lit::FALSE {
                continue;
            }
            match self.solve(field.base) {
                Outcome::Found(value) => {
                    object.insert(name.to_string(), value);
                }
                Outcome::Nothing => {}
                Outcome::Undecided(own) => obstacle = Some(own),
            }
        }
        for class in &plan.classes {
            while (object.len() as u64) < plan.min {
                let value = match self.solve(class.value) {
                    Outcome::Found(value) => value,
                    Outcome::Nothing => break,
                    Outcome::Undecided(own) => {
                        obstacle = Some(own);
                        break;
                    }
                };
                match self.fresh_name(class.name, &taken) {
                    Outcome::Found(Value::String(name)) => {
                        taken.push(name.as_str().into());
                        object.insert(name, value);
                    }
                    Outcome::Found(_) | Outcome::Nothing => break,
                    Outcome::Undecided(own) => {
                        obstacle = Some(own);
                        break;
                    }
                }
            }
        }
        if object.len() as u64 >= plan.min {
            return Outcome::Found(Value::Object(object));
        }
        obstacle.map_or(Outcome::Nothing, Outcome::Undecided)
    }

    fn fresh_name(&mut self, name: Lit, taken: &[Box<str>]) -> Outcome {
        let mut lits = vec![name];
        if !taken.is_empty() {
            lits.push(!self.arena.text_in(taken.to_vec()));
        }
        self.solve_all(lits)
    }
}

impl Draft {
    fn len(&self) -> u64 {
        (self.named.len() + self.members.len()) as u64
    }
}

/// Returns the constraints on a name that matches exactly these patterns and is not explicit.
fn in_class(fields: &Fields, matched: &BTreeSet<PatternId>) -> Vec<Lit> {
    let lits: Vec<Lit> = fields
        .patterns
        .iter()
        .filter(|(pattern, _)| matched.contains(pattern))
        .map(|(_, lit)| *lit)
        .collect();
    if lits.is_empty() { vec![fields.rest] } else { lits }
}
