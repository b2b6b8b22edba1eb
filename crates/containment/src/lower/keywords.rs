//! Lowering of each keyword. An upper bound is the negation of an atom, and a negated atom holds only for values of
//! its kind; [`Lowering::for_kinds`] makes it hold for all others.

use serde_json::{Map, Value};

use super::constant::enumeration;
use super::{Lowering, Mode, Place, Stop};
use crate::arena::{Fields, Lit, Node};
use crate::dialect::Dialect;
use crate::kind::Kinds;
use crate::rational::{self, Rational};

type Schema<'r> = &'r Map<String, Value>;

impl Lowering<'_> {
    pub(super) fn keywords<'r>(&mut self, map: Schema<'r>, place: &Place<'r>) -> Result<Lit, Stop> {
        if let Some(reference) = map.get("$ref")
            && (place.dialect.ref_hides_siblings() || !says_more(map))
        {
            let (target, there) = self.follow("$ref", reference, place)?;
            return self.lower_entered(target, &there);
        }
        let here = place.inside(false);
        let mut parts = Vec::new();
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let known = match keyword {
                "$dynamicRef" => place.dialect == Dialect::Draft202012,
                "$recursiveRef" => place.dialect == Dialect::Draft201909,
                _ => true,
            };
            if let Some(reference) = map.get(keyword).filter(|_| known) {
                let (target, there) = self.follow(keyword, reference, &here)?;
                parts.push(self.lower_entered(target, &there)?);
            }
        }
        self.general(map, place, &mut parts);
        self.numeric(map, place, &mut parts);
        self.textual(map, place, &mut parts)?;
        self.array(map, place, &mut parts)?;
        self.object(map, place, &mut parts)?;
        self.applicators(map, &here, &mut parts)?;
        if place.dialect >= Dialect::Draft201909 {
            if let Some(schema) = map.get("unevaluatedProperties") {
                let rest = self.lower(schema, &place.inside(true))?;
                parts.push(self.unevaluated_properties(map, &here, rest)?);
            }
            if let Some(schema) = map.get("unevaluatedItems") {
                let rest = self.lower(schema, &place.inside(true))?;
                parts.push(self.unevaluated_items(map, &here, rest)?);
            }
        }
        if place.mode == Mode::Closed && place.fresh {
            parts.push(self.closing(map, &here)?);
        }
        Ok(self.arena.all(parts))
    }

    /// Restricts the literal to values of these kinds; every other value passes.
    fn for_kinds(&mut self, kinds: Kinds, lit: Lit) -> Lit {
        let other = self.arena.kinds(kinds.not());
        self.arena.any([other, lit])
    }

    fn general(&mut self, map: Schema<'_>, place: &Place<'_>, parts: &mut Vec<Lit>) {
        if let Some(kind) = map.get("type") {
            let names: Vec<&str> = match kind {
                Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                other => other.as_str().into_iter().collect(),
            };
            let kinds = names.iter().fold(Kinds::NONE, |kinds, name| kinds.or(kinds_of(name, place.dialect)));
            parts.push(self.arena.kinds(kinds));
        }
        if let Some(Value::Array(values)) = map.get("enum") {
            parts.push(enumeration(self.arena, values));
        }
        if let Some(value) = map.get("const").filter(|_| place.dialect >= Dialect::Draft6) {
            parts.push(enumeration(self.arena, std::slice::from_ref(value)));
        }
    }

    fn numeric(&mut self, map: Schema<'_>, place: &Place<'_>, parts: &mut Vec<Lit>) {
        let number = |keyword: &str| match map.get(keyword) {
            Some(Value::Number(number)) => rational::exact(number),
            _ => None,
        };
        let flag = |keyword: &str| map.get(keyword) == Some(&Value::Bool(true));
        if let Some(bound) = number("minimum") {
            let strict = place.dialect == Dialect::Draft4 && flag("exclusiveMinimum");
            parts.push(self.arena.intern(if strict { Node::Above(bound) } else { Node::Least(bound) }));
        }
        if let Some(bound) = number("maximum") {
            let strict = place.dialect == Dialect::Draft4 && flag("exclusiveMaximum");
            parts.push(self.below(bound, strict));
        }
        if place.dialect > Dialect::Draft4 {
            if let Some(bound) = number("exclusiveMinimum") {
                parts.push(self.arena.intern(Node::Above(bound)));
            }
            if let Some(bound) = number("exclusiveMaximum") {
                parts.push(self.below(bound, true));
            }
        }
        if let Some(step) = number("multipleOf") {
            parts.push(self.arena.intern(Node::Multiple(step)));
        }
    }

    fn below(&mut self, bound: Rational, strict: bool) -> Lit {
        let atom = self.arena.intern(if strict { Node::Least(bound) } else { Node::Above(bound) });
        self.for_kinds(Kinds::NUMBER, !atom)
    }

    fn textual(&mut self, map: Schema<'_>, place: &Place<'_>, parts: &mut Vec<Lit>) -> Result<(), Stop> {
        self.counts(map, "minLength", "maxLength", Kinds::STRING, Node::LengthMin, parts);
        if let Some(source) = map.get("pattern").and_then(Value::as_str) {
            let pattern = self.pattern(source)?;
            parts.push(self.arena.intern(Node::Matches(pattern)));
        }
        if let Some(format) = map.get("format").and_then(Value::as_str)
            && self.assert_formats
            && jsonschema::options().is_known_format(place.dialect.draft(), format)
        {
            parts.push(self.arena.intern(Node::Format(format.into())));
        }
        Ok(())
    }

    fn counts(
        &mut self,
        map: Schema<'_>,
        min: &str,
        max: &str,
        kinds: Kinds,
        at_least: fn(u64) -> Node,
        parts: &mut Vec<Lit>,
    ) {
        if let Some(count) = map.get(min).and_then(count).filter(|count| *count > 0) {
            parts.push(self.arena.intern(at_least(count)));
        }
        if let Some(count) = map.get(max).and_then(count).and_then(|count| count.checked_add(1)) {
            let atom = self.arena.intern(at_least(count));
            parts.push(self.for_kinds(kinds, !atom));
        }
    }

    fn array<'r>(&mut self, map: Schema<'r>, place: &Place<'r>, parts: &mut Vec<Lit>) -> Result<(), Stop> {
        self.counts(map, "minItems", "maxItems", Kinds::ARRAY, Node::ItemsMin, parts);
        if map.get("uniqueItems") == Some(&Value::Bool(true)) {
            parts.push(self.arena.intern(Node::Unique));
        }
        let (prefix, rest) = tuple(map, place.dialect);
        let child = place.inside(true);
        let mut lits = Vec::with_capacity(prefix.len());
        for schema in prefix {
            lits.push(self.lower(schema, &child)?);
        }
        let rest = match rest {
            Some(schema) => self.lower(schema, &child)?,
            None => Lit::TRUE,
        };
        parts.push(self.items(lits, rest));
        if let Some(schema) = map.get("contains").filter(|_| place.dialect >= Dialect::Draft6) {
            // Never closed: under `maxContains`, closing an item schema could admit more values.
            let item = self.lower(schema, &place.open_child())?;
            let bounded = place.dialect >= Dialect::Draft201909;
            let min = map.get("minContains").filter(|_| bounded).and_then(count).unwrap_or(1);
            let max = map.get("maxContains").filter(|_| bounded).and_then(count);
            if min > 0 {
                parts.push(self.arena.intern(Node::Has { item, count: min }));
            }
            if let Some(count) = max.and_then(|max| max.checked_add(1)) {
                let more = self.arena.intern(Node::Has { item, count });
                parts.push(self.for_kinds(Kinds::ARRAY, !more));
            }
        }
        Ok(())
    }

    pub(super) fn items(&mut self, mut prefix: Vec<Lit>, rest: Lit) -> Lit {
        while prefix.last() == Some(&rest) {
            prefix.pop();
        }
        if prefix.is_empty() && rest == Lit::TRUE {
            return Lit::TRUE;
        }
        self.arena.intern(Node::Items { prefix: prefix.into_boxed_slice(), rest })
    }

    fn object<'r>(&mut self, map: Schema<'r>, place: &Place<'r>, parts: &mut Vec<Lit>) -> Result<(), Stop> {
        self.counts(map, "minProperties", "maxProperties", Kinds::OBJECT, Node::PropertiesMin, parts);
        if let Some(Value::Array(names)) = map.get("required") {
            for name in names.iter().filter_map(Value::as_str) {
                parts.push(self.arena.intern(Node::Key(name.into())));
            }
        }
        let child = place.inside(true);
        let mut fields = Fields { named: Vec::new(), patterns: Vec::new(), rest: Lit::TRUE };
        if let Some(Value::Object(properties)) = map.get("properties") {
            for (name, schema) in properties {
                let lit = self.lower(schema, &child)?;
                fields.named.push((name.as_str().into(), lit));
            }
        }
        if let Some(Value::Object(properties)) = map.get("patternProperties") {
            for (source, schema) in properties {
                let lit = self.lower(schema, &child)?;
                fields.patterns.push((self.pattern(source)?, lit));
            }
        }
        if let Some(schema) = map.get("additionalProperties") {
            fields.rest = self.lower(schema, &child)?;
        }
        parts.push(self.fields(fields));
        if let Some(schema) = map.get("propertyNames").filter(|_| place.dialect >= Dialect::Draft6) {
            let lit = self.lower(schema, &place.open_child())?;
            parts.push(match lit {
                Lit::TRUE => Lit::TRUE,
                _ => self.arena.intern(Node::Names(lit)),
            });
        }
        Ok(())
    }

    /// Returns one object constraint without redundant parts.
    pub(super) fn fields(&mut self, mut fields: Fields) -> Lit {
        if fields.rest == Lit::TRUE {
            fields.named.retain(|(_, lit)| *lit != Lit::TRUE);
            fields.patterns.retain(|(_, lit)| *lit != Lit::TRUE);
        }
        fields.named.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        fields.patterns.sort_unstable();
        fields.patterns.dedup();
        if fields.named.is_empty() && fields.patterns.is_empty() && fields.rest == Lit::TRUE {
            return Lit::TRUE;
        }
        self.arena.intern(Node::Properties(Box::new(fields)))
    }

    fn applicators<'r>(
        &mut self,
        map: Schema<'r>,
        here: &Place<'r>,
        parts: &mut Vec<Lit>,
    ) -> Result<(), Stop> {
        for schema in branches(map, "allOf") {
            parts.push(self.lower(schema, here)?);
        }
        if map.contains_key("anyOf") {
            let mut lits = Vec::new();
            for schema in branches(map, "anyOf") {
                lits.push(self.lower(schema, here)?);
            }
            parts.push(self.arena.any(lits));
        }
        if map.contains_key("oneOf") {
            parts.push(self.one_of(map, here)?);
        }
        if let Some(schema) = map.get("not") {
            parts.push(!self.lower(schema, &here.open())?);
        }
        if let Some(schema) = map.get("if").filter(|_| here.dialect >= Dialect::Draft7) {
            let condition = self.lower(schema, &here.open())?;
            if let Some(schema) = map.get("then") {
                let then = self.lower(schema, here)?;
                parts.push(self.arena.any([!condition, then]));
            }
            if let Some(schema) = map.get("else") {
                let other = self.lower(schema, here)?;
                parts.push(self.arena.any([condition, other]));
            }
        }
        self.dependencies(map, here, parts)
    }

    /// Lowers `oneOf`: exactly one branch holds as written; with a closed producer, that branch is then closed.
    fn one_of<'r>(&mut self, map: Schema<'r>, here: &Place<'r>) -> Result<Lit, Stop> {
        let (mut open, mut own) = (Vec::new(), Vec::new());
        for schema in branches(map, "oneOf") {
            open.push(self.lower(schema, &here.open())?);
            own.push(self.lower(schema, here)?);
        }
        if open == own {
            return Ok(self.arena.one(open));
        }
        let mut cases = Vec::with_capacity(own.len());
        for (at, chosen) in own.iter().enumerate() {
            let others = open.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, lit)| !*lit);
            let others: Vec<Lit> = others.chain([*chosen]).collect();
            cases.push(self.arena.all(others));
        }
        Ok(self.arena.any(cases))
    }

    fn dependencies<'r>(
        &mut self,
        map: Schema<'r>,
        here: &Place<'r>,
        parts: &mut Vec<Lit>,
    ) -> Result<(), Stop> {
        for keyword in dependency_keywords(here.dialect) {
            let Some(Value::Object(entries)) = map.get(*keyword) else { continue };
            for (name, dependency) in entries {
                let absent = !self.arena.intern(Node::Key(name.as_str().into()));
                let lit = match dependency {
                    Value::Array(names) => {
                        let keys: Vec<Lit> = names
                            .iter()
                            .filter_map(Value::as_str)
                            .map(|name| self.arena.intern(Node::Key(name.into())))
                            .collect();
                        self.arena.all(keys)
                    }
                    schema => self.lower(schema, here)?,
                };
                let implied = self.arena.any([absent, lit]);
                parts.push(self.for_kinds(Kinds::OBJECT, implied));
            }
        }
        Ok(())
    }
}

fn kinds_of(name: &str, dialect: Dialect) -> Kinds {
    match name {
        "null" => Kinds::NULL,
        "boolean" => Kinds::BOOLEAN,
        "number" => Kinds::NUMBER,
        "integer" if dialect == Dialect::Draft4 => Kinds::WRITTEN_INTEGER,
        "integer" => Kinds::INTEGER,
        "string" => Kinds::STRING,
        "array" => Kinds::ARRAY,
        "object" => Kinds::OBJECT,
        _ => Kinds::NONE,
    }
}

/// Reads a count; `2.0` counts as 2.
fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let float = value.as_f64().filter(|float| float.fract() == 0.0 && (0.0..1e15).contains(float))?;
        format!("{float:.0}").parse().ok()
    })
}

pub(super) fn branches<'r>(map: Schema<'r>, keyword: &str) -> &'r [Value] {
    map.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the dependency keywords of a dialect; the validator supports `dependencies` in every dialect.
pub(super) fn dependency_keywords(dialect: Dialect) -> &'static [&'static str] {
    if dialect >= Dialect::Draft201909 {
        &["dependencies", "dependentRequired", "dependentSchemas"]
    } else {
        &["dependencies"]
    }
}

/// Returns the positional schemas of an array and the schema for all later items.
pub(super) fn tuple<'r>(map: Schema<'r>, dialect: Dialect) -> (&'r [Value], Option<&'r Value>) {
    if dialect == Dialect::Draft202012 {
        return (branches(map, "prefixItems"), map.get("items"));
    }
    match map.get("items") {
        Some(Value::Array(prefix)) => (prefix.as_slice(), map.get("additionalItems")),
        other => (&[], other),
    }
}

/// `true` if a keyword beside `$ref` constrains the value.
fn says_more(map: Schema<'_>) -> bool {
    const SILENT: [&str; 17] = [
        "$ref",
        "$id",
        "$schema",
        "$defs",
        "definitions",
        "$comment",
        "$anchor",
        "$dynamicAnchor",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "$recursiveAnchor",
        "readOnly",
        "writeOnly",
        "id",
    ];
    map.keys().any(|key| !SILENT.contains(&key.as_str()) && !key.starts_with("x-"))
}
