//! Graph of the subschemas of a schema and how they apply each other, without expanding references.
//!
//! A subschema applies others either *in place*, to the same value (`allOf`, `$ref`, `if` …), or to a *child* of the
//! value (`properties`, `items` …). The meaning of a keyword depends on the dialect.

use std::collections::HashMap;

use referencing::uri;
use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::error::{SchemaError, SchemaLimit};
use super::pattern;
use crate::json::Pointer;
use crate::limits;

/// Children of a value to which a subschema is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Child<'s> {
    /// The member with this name.
    Member(&'s str),
    /// Every member.
    AnyMember,
    /// The name of every member.
    Name,
    /// Every element.
    Element,
}

/// Reference that is not resolved yet.
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

/// Step from the parent to a subschema; a pointer is built from steps only for an error.
#[derive(Debug, Clone, Copy)]
enum Step<'s> {
    Root,
    Keyword(&'s str),
    Member(&'s str, &'s str),
    Index(&'s str, usize),
    /// Target that no keyword leads to; the pointer is the reference's own.
    Elsewhere(&'s str),
}

/// Schema resource: a base URI and the subschema at which it starts.
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
    /// Targets of references, by subschema and keyword; `None` where the target depends on the dynamic scope.
    targets: HashMap<(u32, &'static str), Option<u32>>,
    pub(super) patterns: Vec<Pattern<'s>>,
    by_address: HashMap<usize, u32>,
}

/// Regular expression and the subschema that contains it.
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
    /// Builds the graph of `schema`.
    pub(super) fn of(schema: &'s Value, default: Dialect) -> Result<Self, SchemaError> {
        let mut graph = Self::default();
        graph.resources.push(Resource { id: None, parent: 0, root: 0, dialect: default });
        graph.visit(schema, 0, 0, Step::Root, 0)?;
        Ok(graph)
    }

    /// Returns the maximum number of patterns in one `patternProperties`.
    pub(super) fn name_patterns(&self) -> usize {
        let patterns =
            self.places.iter().filter_map(|place| place.value.get("patternProperties")?.as_object());
        patterns.map(serde_json::Map::len).max().unwrap_or_default()
    }

    /// Returns the index of the subschema at `value`, if the walk has visited it.
    pub(super) fn find(&self, value: &Value) -> Option<u32> {
        self.by_address.get(&address(value)).copied()
    }

    /// Visits a reference target that no keyword leads to.
    pub(super) fn visit_target(
        &mut self,
        value: &'s Value,
        resource: u32,
        reference: &'s str,
    ) -> Result<u32, SchemaError> {
        self.visit(value, resource, 0, Step::Elsewhere(reference), 0)
    }

    /// Records the target of the reference `keyword` in the subschema `from`.
    pub(super) fn lead(&mut self, from: u32, keyword: &'static str, target: Option<u32>) {
        self.targets.insert((from, keyword), target);
    }

    /// Returns the target of the reference `keyword` in the subschema `from`, if it does not depend on the dynamic
    /// scope.
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

    /// Returns the length of each subschema's pointer, approximately: escapes are not counted.
    pub(super) fn path_bytes(&self) -> Vec<usize> {
        let mut lengths: Vec<usize> = Vec::with_capacity(self.places.len());
        for place in &self.places {
            // A parent is visited before its children.
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

    /// Returns the pointer to a subschema.
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
            // The root itself declares its dialect, so only now is it known whether `$ref` hides its siblings.
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

    /// Records `$id`, `$schema` and anchors, and returns the resource that `members` belong to.
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
                // Each subschema is for one element, so one value meets only one of them; counting all is simpler.
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

    /// Returns the pointer to a regular expression.
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
