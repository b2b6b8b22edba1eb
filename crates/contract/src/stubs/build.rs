//! Conversion of schemas to a type model that is independent of the output language.

use std::collections::{HashMap, HashSet};

use super::name::{pascal, unique};
use crate::json::{Kind, Node, Pointer};

/// Maximum schemas visited per root schema; beyond it every type is *any*.
const SCHEMAS_MAX: usize = 2_000;
/// Maximum nesting depth of schemas; beyond it every type is *any*.
const DEPTH_MAX: usize = 24;

/// Type of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Type {
    Any,
    Never,
    Null,
    Boolean,
    Integer,
    Number,
    String,
    /// JSON scalars of one kind, as JSON text.
    Literals(Vec<String>),
    Array(Box<Type>),
    Map(Box<Type>),
    Union(Vec<Type>),
    /// Named type; `inside` is `true` if this use is part of the type's own definition.
    Named {
        name: String,
        inside: bool,
    },
}

/// Member of an object type.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) key: String,
    pub(super) kind: Type,
    pub(super) required: bool,
    pub(super) description: Option<String>,
}

/// Definition behind a name.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    Object(Vec<Field>),
    Alias(Type),
}

/// Named type.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) shape: Shape,
}

/// All types of one output file.
#[derive(Debug, Default)]
pub(super) struct Model {
    types: Vec<Named>,
    taken: HashSet<String>,
}

impl Model {
    /// Defines the type of a whole schema and returns its name.
    pub(super) fn root(&mut self, schema: Option<Node<'_>>, wanted: &str) -> String {
        let name = unique(wanted, &mut self.taken);
        let Some(schema) = schema else {
            self.types.push(Named {
                name: name.clone(),
                description: None,
                shape: Shape::Alias(any_object()),
            });
            return name;
        };
        let mut build = Build {
            model: self,
            root: schema,
            known: HashMap::new(),
            left: SCHEMAS_MAX,
            aliases: Vec::new(),
        };
        build.known.insert(Pointer::root(), (name.clone(), true));
        build.define(schema, &name, 0);
        name
    }

    pub(super) fn finish(self) -> Vec<Named> {
        self.types
    }
}

fn any_object() -> Type {
    Type::Map(Box::new(Type::Any))
}

struct Build<'m, 'd> {
    model: &'m mut Model,
    root: Node<'d>,
    /// Names of reference targets by pointer, with `true` while the type is being built.
    known: HashMap<Pointer, (String, bool)>,
    left: usize,
    /// Names of the aliases that are being built.
    aliases: Vec<String>,
}

impl<'d> Build<'_, 'd> {
    /// Defines the type `name` from `schema`.
    fn define(&mut self, schema: Node<'d>, name: &str, depth: usize) {
        let description = schema.get("description").and_then(Node::as_str).map(std::borrow::Cow::into_owned);
        let shape = match self.fields(schema, name, depth) {
            Some(fields) => Shape::Object(fields),
            None => {
                self.aliases.push(name.to_owned());
                let kind = self.of(schema, name, depth);
                let kind = self.without_circles(kind, name);
                self.aliases.pop();
                Shape::Alias(kind)
            }
        };
        self.model.types.push(Named { name: name.to_owned(), description, shape });
    }

    /// Removes circular aliases: an alias may refer to itself only inside an object or a list. `A = A | B` becomes
    /// `B`, and a cycle through other aliases becomes *any*.
    fn without_circles(&self, kind: Type, name: &str) -> Type {
        let parts = match kind {
            Type::Union(parts) => parts,
            other => vec![other],
        };
        let own = |part: &Type| matches!(part, Type::Named { name: own, .. } if own == name);
        let open =
            |part: &Type| matches!(part, Type::Named { name: other, .. } if self.aliases.contains(other));
        let rest: Vec<Type> = parts.into_iter().filter(|part| !own(part)).collect();
        if rest.is_empty() || rest.iter().any(open) { Type::Any } else { union(rest) }
    }

    /// Returns the members of an object schema; `None` if it is not an object schema with properties.
    fn fields(&mut self, schema: Node<'d>, name: &str, depth: usize) -> Option<Vec<Field>> {
        let kind = schema.get("type");
        let is_object = kind.is_none_or(|kind| kind.is_text("object"));
        let plain = ["$ref", "anyOf", "oneOf", "enum", "const"].iter().all(|key| schema.get(key).is_none());
        let mut sources = vec![schema];
        for part in schema.get("allOf").into_iter().flat_map(Node::elements) {
            let target = part.get("$ref").and_then(Node::as_str).and_then(|text| self.resolve(&text));
            sources.push(target.map_or(part, |(_, target)| target));
        }
        let any = sources.iter().any(|source| source.get("properties").is_some_and(|own| !own.is_empty()));
        if !is_object || !plain || !any {
            return None;
        }
        let required = |key: &str| {
            sources.iter().any(|source| {
                source.get("required").is_some_and(|list| list.elements().any(|entry| entry.is_text(key)))
            })
        };
        let mut fields: Vec<Field> = Vec::new();
        for source in &sources {
            for (key, member) in source.get("properties").into_iter().flat_map(Node::members) {
                let key = key.as_str().unwrap_or_default().into_owned();
                if fields.iter().any(|field| field.key == key) {
                    continue;
                }
                let kind = self.of(member, &format!("{name}{}", pascal(&key)), depth + 1);
                let description =
                    member.get("description").and_then(Node::as_str).map(std::borrow::Cow::into_owned);
                fields.push(Field { required: required(&key), key, kind, description });
            }
        }
        Some(fields)
    }

    fn of(&mut self, schema: Node<'d>, name: &str, depth: usize) -> Type {
        if self.left == 0 || depth > DEPTH_MAX {
            return Type::Any;
        }
        self.left -= 1;
        match schema.as_bool() {
            Some(false) => return Type::Never,
            Some(true) => return Type::Any,
            None => {}
        }
        if let Some(reference) = schema.get("$ref").and_then(Node::as_str) {
            return self.reference(&reference, name, depth);
        }
        if let Some(value) = schema.get("const") {
            return literals(std::iter::once(value));
        }
        if let Some(values) = schema.get("enum").filter(|values| values.is_array()) {
            return literals(values.elements());
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(list) = schema.get(keyword).filter(|list| list.is_array()) {
                let parts = list.elements().enumerate();
                return union(
                    parts.map(|(at, part)| self.of(part, &format!("{name}{}", at + 1), depth + 1)).collect(),
                );
            }
        }
        if let Some(only) = schema
            .get("allOf")
            .filter(|list| list.len() == 1 && schema.get("properties").is_none())
            .and_then(|list| list.element(0))
        {
            return self.of(only, name, depth + 1);
        }
        match schema.get("type") {
            Some(list) if list.is_array() => {
                let names: Vec<_> = list.elements().filter_map(Node::as_str).collect();
                union(names.iter().map(|kind| self.named(kind, schema, name, depth)).collect())
            }
            Some(kind) => kind.as_str().map_or(Type::Any, |kind| self.named(&kind, schema, name, depth)),
            None if schema.get("properties").is_some() || schema.get("allOf").is_some() => {
                self.object(schema, name, depth)
            }
            None if schema.get("items").is_some() => self.array(schema, name, depth),
            None => Type::Any,
        }
    }

    fn named(&mut self, kind: &str, schema: Node<'d>, name: &str, depth: usize) -> Type {
        match kind {
            "null" => Type::Null,
            "boolean" => Type::Boolean,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "string" => Type::String,
            "array" => self.array(schema, name, depth),
            "object" => self.object(schema, name, depth),
            _ => Type::Any,
        }
    }

    fn array(&mut self, schema: Node<'d>, name: &str, depth: usize) -> Type {
        let items =
            schema.get("items").filter(|items| !items.is_array() && schema.get("prefixItems").is_none());
        let item = items.map_or(Type::Any, |items| self.of(items, &format!("{name}Item"), depth + 1));
        Type::Array(Box::new(item))
    }

    fn object(&mut self, schema: Node<'d>, wanted: &str, depth: usize) -> Type {
        let has = |source: Node<'d>| source.get("properties").is_some_and(|own| !own.is_empty());
        if !has(schema) && schema.get("allOf").is_none() {
            let values = schema.get("additionalProperties").filter(|values| values.is_object());
            let values =
                values.map_or(Type::Any, |values| self.of(values, &format!("{wanted}Value"), depth + 1));
            return Type::Map(Box::new(values));
        }
        let name = unique(wanted, &mut self.model.taken);
        match self.fields_of_list(schema, &name, depth) {
            Some(fields) => {
                let description =
                    schema.get("description").and_then(Node::as_str).map(std::borrow::Cow::into_owned);
                self.model.types.push(Named {
                    name: name.clone(),
                    description,
                    shape: Shape::Object(fields),
                });
                Type::Named { name, inside: false }
            }
            None => any_object(),
        }
    }

    /// Returns the members as [`Self::fields`] does, also for a schema whose `type` is a list that includes object.
    fn fields_of_list(&mut self, schema: Node<'d>, name: &str, depth: usize) -> Option<Vec<Field>> {
        if schema.get("type").is_none_or(|kind| kind.kind() != Kind::Array) {
            return self.fields(schema, name, depth);
        }
        let mut fields = Vec::new();
        for (key, member) in schema.get("properties").into_iter().flat_map(Node::members) {
            let key = key.as_str().unwrap_or_default().into_owned();
            let required =
                schema.get("required").is_some_and(|list| list.elements().any(|entry| entry.is_text(&key)));
            let kind = self.of(member, &format!("{name}{}", pascal(&key)), depth + 1);
            let description =
                member.get("description").and_then(Node::as_str).map(std::borrow::Cow::into_owned);
            fields.push(Field { key, kind, required, description });
        }
        Some(fields)
    }

    fn reference(&mut self, text: &str, wanted: &str, depth: usize) -> Type {
        let Some((place, target)) = self.resolve(text) else { return Type::Any };
        if let Some((name, inside)) = self.known.get(&place) {
            return Type::Named { name: name.clone(), inside: *inside };
        }
        let last = place.tokens().last().map_or_else(String::new, |last| pascal(&last));
        let base: String = wanted.chars().take(40).collect();
        let name = unique(&format!("{base}{last}"), &mut self.model.taken);
        self.known.insert(place.clone(), (name.clone(), true));
        self.define(target, &name, depth + 1);
        self.known.insert(place, (name.clone(), false));
        Type::Named { name, inside: false }
    }

    fn resolve(&self, reference: &str) -> Option<(Pointer, Node<'d>)> {
        let pointer = reference.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        let place = Pointer::from_escaped(pointer);
        self.root.pointer(&place).map(|node| (place, node))
    }
}

/// Returns the literals if they are of one kind, else a union of their kinds.
fn literals<'d>(values: impl Iterator<Item = Node<'d>>) -> Type {
    let mut kinds: Vec<(Kind, Vec<String>)> = Vec::new();
    for value in values {
        let text = value.to_compact();
        match kinds.iter_mut().find(|(kind, _)| *kind == value.kind()) {
            Some((_, list)) if list.contains(&text) => {}
            Some((_, list)) => list.push(text),
            None => kinds.push((value.kind(), vec![text])),
        }
    }
    union(
        kinds
            .into_iter()
            .map(|(kind, list)| match kind {
                Kind::Null => Type::Null,
                Kind::Boolean if list.len() > 1 => Type::Boolean,
                Kind::Boolean | Kind::String => Type::Literals(list),
                Kind::Number if list.iter().all(|text| text.parse::<i64>().is_ok()) => Type::Literals(list),
                Kind::Number => Type::Number,
                Kind::Array => Type::Array(Box::new(Type::Any)),
                Kind::Object => any_object(),
            })
            .collect(),
    )
}

fn union(parts: Vec<Type>) -> Type {
    let mut flat: Vec<Type> = Vec::new();
    for part in parts {
        match part {
            Type::Any => return Type::Any,
            Type::Never => {}
            Type::Union(inner) => inner.into_iter().for_each(|part| add(&mut flat, part)),
            part => add(&mut flat, part),
        }
    }
    match (flat.len(), flat.pop()) {
        (1, Some(only)) => only,
        (_, Some(last)) => {
            flat.push(last);
            Type::Union(flat)
        }
        (_, None) => Type::Never,
    }
}

fn add(flat: &mut Vec<Type>, part: Type) {
    if !flat.contains(&part) {
        flat.push(part);
    }
}
