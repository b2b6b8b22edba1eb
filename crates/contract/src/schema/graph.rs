//! The subschemas of a schema and how they apply, without expanding anything.
//!
//! A subschema applies others either *in place*, to the same value (`allOf`, `$ref`, `if` …), or to a *child*
//! of the value (`properties`, `items` …). Which keyword does what depends on the dialect.

use std::collections::HashMap;

use referencing::uri;
use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::error::{SchemaError, SchemaLimit};
use super::pattern;
use crate::json::Pointer;
use crate::limits;

/// Which children of a value a subschema is applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Child<'s> {
    /// The member of this name.
    Member(&'s str),
    /// Any member.
    AnyMember,
    /// The name of each member.
    Name,
    /// Any element.
    Element,
}

/// A reference that waits to be resolved.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reference<'s> {
    pub(super) from: u32,
    pub(super) keyword: &'static str,
    pub(super) target: &'s str,
    pub(super) dynamic: bool,
}

#[derive(Debug)]
pub(super) struct Place<'s> {
    pub(super) value: &'s Value,
    pub(super) resource: u32,
    parent: u32,
    step: Step<'s>,
    pub(super) in_place: Vec<u32>,
    pub(super) children: Vec<(Child<'s>, u32)>,
}

/// How a subschema is reached from its parent; a pointer is built from it only for an error.
#[derive(Debug, Clone, Copy)]
enum Step<'s> {
    Root,
    Keyword(&'s str),
    Member(&'s str, &'s str),
    Index(&'s str, usize),
    /// A target that no keyword leads to; the pointer is the reference's own.
    Elsewhere(&'s str),
}

/// A schema resource: a base URI and the subschema it starts at.
#[derive(Debug)]
pub(super) struct Resource<'s> {
    pub(super) id: Option<&'s str>,
    pub(super) parent: u32,
    pub(super) root: u32,
    pub(super) dialect: Dialect,
}

#[derive(Debug, Default)]
pub(super) struct Graph<'s> {
    pub(super) places: Vec<Place<'s>>,
    pub(super) resources: Vec<Resource<'s>>,
    pub(super) anchors: Vec<(u32, &'s str, u32)>,
    pub(super) dynamic_anchors: Vec<(&'s str, u32)>,
    pub(super) references: Vec<Reference<'s>>,
    /// Place that a reference leads to; `None` where that depends on the value's surroundings.
    targets: HashMap<(u32, &'static str), Option<u32>>,
    pub(super) patterns: Vec<Pattern<'s>>,
    by_address: HashMap<usize, u32>,
}

/// A regular expression and the subschema that it stands in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pattern<'s> {
    pub(super) text: &'s str,
    at: u32,
    keyword: &'static str,
}

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value) as usize
}

impl<'s> Graph<'s> {
    /// Walks `schema` from its root.
    pub(super) fn of(schema: &'s Value, default: Dialect) -> Result<Self, SchemaError> {
        let mut graph = Self::default();
        graph.resources.push(Resource { id: None, parent: 0, root: 0, dialect: default });
        graph.visit(schema, 0, 0, Step::Root, 0)?;
        Ok(graph)
    }

    /// Returns the most patterns that one `patternProperties` has.
    pub(super) fn name_patterns(&self) -> usize {
        let patterns =
            self.places.iter().filter_map(|place| place.value.get("patternProperties")?.as_object());
        patterns.map(serde_json::Map::len).max().unwrap_or_default()
    }

    /// The subschema at `value`, if the walk has met it.
    pub(super) fn find(&self, value: &Value) -> Option<u32> {
        self.by_address.get(&address(value)).copied()
    }

    /// Walks a target that stands where no keyword leads.
    pub(super) fn visit_target(
        &mut self,
        value: &'s Value,
        resource: u32,
        reference: &'s str,
    ) -> Result<u32, SchemaError> {
        self.visit(value, resource, 0, Step::Elsewhere(reference), 0)
    }

    /// Notes where a reference of the place `from` leads.
    pub(super) fn lead(&mut self, from: u32, keyword: &'static str, target: Option<u32>) {
        self.targets.insert((from, keyword), target);
    }

    /// Place that the reference `keyword` of the place `from` leads to, if it is always the same.
    pub(super) fn target(&self, from: u32, keyword: &str) -> Option<u32> {
        let keyword = ["$ref", "$dynamicRef", "$recursiveRef"].into_iter().find(|name| *name == keyword)?;
        self.targets.get(&(from, keyword)).copied().flatten()
    }

    pub(super) fn place(&self, at: u32) -> Option<&Place<'s>> {
        self.places.get(at as usize)
    }

    pub(super) fn dialect(&self, resource: u32) -> Dialect {
        self.resources.get(resource as usize).map_or(Dialect::default(), |r| r.dialect)
    }

    /// Lengths of the subschemas' pointers, but for escapes.
    pub(super) fn path_bytes(&self) -> Vec<usize> {
        let mut lengths: Vec<usize> = Vec::with_capacity(self.places.len());
        for place in &self.places {
            // A parent is met before its children.
            let parent = lengths.get(place.parent as usize).copied().unwrap_or_default();
            lengths.push(match place.step {
                Step::Root => 0,
                Step::Keyword(keyword) => parent + 1 + keyword.len(),
                Step::Member(keyword, name) => parent + 2 + keyword.len() + name.len(),
                Step::Index(keyword, _) => parent + 6 + keyword.len(),
                Step::Elsewhere(reference) => reference.len(),
            });
        }
        lengths
    }

    /// Where a subschema stands.
    pub(super) fn pointer(&self, at: u32) -> Pointer {
        let Some(place) = self.place(at) else { return Pointer::root() };
        let parent = |graph: &Self| graph.pointer(place.parent);
        match place.step {
            Step::Root => Pointer::root(),
            Step::Keyword(keyword) => parent(self).join(keyword),
            Step::Member(keyword, name) => parent(self).join(keyword).join(name),
            Step::Index(keyword, index) => parent(self).join(keyword).join(index.to_string()),
            Step::Elsewhere(reference) => Pointer::from_escaped(reference.trim_start_matches('#')),
        }
    }

    fn visit(
        &mut self,
        value: &'s Value,
        resource: u32,
        parent: u32,
        step: Step<'s>,
        depth: usize,
    ) -> Result<u32, SchemaError> {
        let at = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.places.push(Place { value, resource, parent, step, in_place: Vec::new(), children: Vec::new() });
        self.by_address.insert(address(value), at);
        if self.places.len() > limits::SCHEMA_SUBSCHEMAS_MAX {
            return Err(SchemaLimit::Subschemas.exceeded_at(self.pointer(at), self.places.len()));
        }
        if depth > limits::SCHEMA_DEPTH_MAX {
            return Err(SchemaLimit::Depth.exceeded_at(self.pointer(at), depth));
        }
        match value {
            Value::Bool(_) => {}
            Value::Object(members) => self.visit_members(members, resource, at, depth)?,
            other => {
                let found = kind(other);
                return Err(SchemaError::NotASchema { pointer: self.pointer(at), found });
            }
        }
        Ok(at)
    }

    fn visit_members(
        &mut self,
        members: &'s Map<String, Value>,
        mut resource: u32,
        at: u32,
        depth: usize,
    ) -> Result<(), SchemaError> {
        let reference_first = members.contains_key("$ref") && self.dialect(resource).ref_hides_siblings();
        let mut hidden = reference_first && at != 0;
        if !hidden {
            resource = self.enter_resource(members, resource, at)?;
            // The root names its dialect itself, so only now it is known whether siblings are hidden.
            hidden = members.contains_key("$ref") && self.dialect(resource).ref_hides_siblings();
        }
        let dialect = self.dialect(resource);
        for (keyword, value) in members {
            let applied = !hidden || matches!(keyword.as_str(), "$ref" | "$defs" | "definitions");
            if applied {
                self.visit_keyword(keyword, value, resource, at, depth, dialect)?;
            }
        }
        Ok(())
    }

    /// Notes `$id`, `$schema` and anchors, and returns the resource that `members` belong to.
    fn enter_resource(
        &mut self,
        members: &'s Map<String, Value>,
        mut resource: u32,
        at: u32,
    ) -> Result<u32, SchemaError> {
        let declared = match members.get("$schema") {
            Some(Value::String(uri)) => Some(Dialect::from_uri(uri).ok_or_else(|| {
                SchemaError::UnknownDialect { pointer: self.pointer(at).join("$schema"), uri: uri.clone() }
            })?),
            _ => None,
        };
        let inherited = declared.unwrap_or_else(|| self.dialect(resource));
        let id = members.get(inherited.id_keyword()).and_then(Value::as_str);
        if let Some(id) = id.filter(|id| uri::from_str(id).is_err()) {
            let pointer = self.pointer(at).join(inherited.id_keyword());
            return Err(SchemaError::Invalid { pointer, reason: format!("{id:?} is no URI reference") });
        }
        if at == 0 {
            if let Some(root) = self.resources.first_mut() {
                root.dialect = inherited;
                root.id = id.filter(|id| !id.starts_with('#'));
            }
        } else if let Some(id) = id.filter(|id| !id.starts_with('#')) {
            let new = u32::try_from(self.resources.len()).unwrap_or(u32::MAX);
            self.resources.push(Resource { id: Some(id), parent: resource, root: at, dialect: inherited });
            resource = new;
            if let Some(place) = self.places.get_mut(at as usize) {
                place.resource = new;
            }
        }
        if let Some(name) = id.and_then(|id| id.strip_prefix('#')) {
            self.anchors.push((resource, name, at));
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = members.get(keyword).and_then(Value::as_str) {
                self.anchors.push((resource, name, at));
                if keyword == "$dynamicAnchor" {
                    self.dynamic_anchors.push((name, at));
                }
            }
        }
        if members.get("$recursiveAnchor") == Some(&Value::Bool(true)) {
            self.dynamic_anchors.push(("", at));
        }
        Ok(resource)
    }

    fn visit_keyword(
        &mut self,
        keyword: &'s str,
        value: &'s Value,
        resource: u32,
        at: u32,
        depth: usize,
        dialect: Dialect,
    ) -> Result<(), SchemaError> {
        use Value::{Array, Bool, Object, String};
        let mut refer = |keyword: &'static str, dynamic: bool| {
            if let String(target) = value {
                self.references.push(Reference { from: at, keyword, target, dynamic });
            }
        };
        match (keyword, value) {
            ("$ref", _) => refer("$ref", false),
            ("$dynamicRef", _) if dialect >= Dialect::Draft202012 => refer("$dynamicRef", true),
            ("$recursiveRef", _) if dialect == Dialect::Draft201909 => refer("$recursiveRef", true),
            ("allOf" | "anyOf" | "oneOf", Array(list)) => {
                for (i, schema) in list.iter().enumerate() {
                    self.apply(schema, resource, at, Step::Index(keyword, i), depth, None)?;
                }
            }
            ("not" | "if" | "then" | "else", Object(_) | Bool(_)) => {
                self.apply(value, resource, at, Step::Keyword(keyword), depth, None)?;
            }
            ("dependentSchemas" | "dependencies", Object(map)) => {
                for (name, schema) in map.iter().filter(|(_, schema)| !schema.is_array()) {
                    self.apply(schema, resource, at, Step::Member(keyword, name), depth, None)?;
                }
            }
            ("properties", Object(map)) => {
                for (name, schema) in map {
                    let child = Some(Child::Member(name));
                    self.apply(schema, resource, at, Step::Member(keyword, name), depth, child)?;
                }
            }
            ("patternProperties", Object(map)) => {
                for (pattern, schema) in map {
                    self.admit_pattern(pattern, at, "patternProperties")?;
                    let child = Some(Child::AnyMember);
                    self.apply(schema, resource, at, Step::Member(keyword, pattern), depth, child)?;
                }
            }
            ("additionalProperties" | "unevaluatedProperties", Object(_) | Bool(_)) => {
                self.apply(value, resource, at, Step::Keyword(keyword), depth, Some(Child::AnyMember))?;
            }
            ("propertyNames", Object(_) | Bool(_)) => {
                self.apply(value, resource, at, Step::Keyword(keyword), depth, Some(Child::Name))?;
            }
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", Object(_) | Bool(_)) => {
                self.apply(value, resource, at, Step::Keyword(keyword), depth, Some(Child::Element))?;
            }
            ("items" | "prefixItems", Array(list)) => {
                // Each stands for one element, so one of them meets a value, but counting all is simpler.
                for (i, schema) in list.iter().enumerate() {
                    self.apply(schema, resource, at, Step::Index(keyword, i), depth, Some(Child::Element))?;
                }
            }
            ("$defs" | "definitions", Object(map)) => {
                for (name, schema) in map.iter().filter(|(_, s)| s.is_object() || s.is_boolean()) {
                    self.visit(schema, resource, at, Step::Member(keyword, name), depth + 1)?;
                }
            }
            ("contentSchema", Object(_) | Bool(_)) => {
                self.visit(value, resource, at, Step::Keyword(keyword), depth + 1)?;
            }
            ("pattern", String(pattern)) => self.admit_pattern(pattern, at, "pattern")?,
            _ => {}
        }
        Ok(())
    }

    fn apply(
        &mut self,
        schema: &'s Value,
        resource: u32,
        at: u32,
        step: Step<'s>,
        depth: usize,
        child: Option<Child<'s>>,
    ) -> Result<(), SchemaError> {
        let target = self.visit(schema, resource, at, step, depth + 1)?;
        if let Some(place) = self.places.get_mut(at as usize) {
            match child {
                None => place.in_place.push(target),
                Some(child) => place.children.push((child, target)),
            }
        }
        Ok(())
    }

    fn admit_pattern(&mut self, text: &'s str, at: u32, keyword: &'static str) -> Result<(), SchemaError> {
        let pattern = Pattern { text, at, keyword };
        self.patterns.push(pattern);
        if self.patterns.len() > limits::SCHEMA_PATTERNS_MAX {
            let place = self.pointer(at).join(keyword);
            return Err(SchemaLimit::Patterns.exceeded_at(place, self.patterns.len()));
        }
        pattern::admit(text, &|| self.pattern_pointer(&pattern))
    }

    /// Where a regular expression stands.
    pub(super) fn pattern_pointer(&self, pattern: &Pattern<'_>) -> Pointer {
        let place = self.pointer(pattern.at).join(pattern.keyword);
        if pattern.keyword == "pattern" { place } else { place.join(pattern.text) }
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
