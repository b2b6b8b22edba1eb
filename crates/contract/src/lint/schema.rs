//! Lint rules for the input and output schema.

use super::Found;
use crate::definition::Definition;
use crate::json::{Node, Pointer};
use crate::schema::{Schema, SchemaOptions};

fn schemas(definition: &Definition) -> impl Iterator<Item = (&'static str, Node<'_>)> {
    let input = definition.input_schema().map(|schema| ("inputSchema", schema));
    let output = definition.output_schema().map(|schema| ("outputSchema", schema));
    input.into_iter().chain(output)
}

pub(super) fn input_missing(definition: &Definition, found: &mut Vec<Found>) {
    if definition.input_schema().is_none() {
        let what = if definition.get("inputSchema").is_some() { "null" } else { "missing" };
        found.push((Pointer::root().join("inputSchema"), format!("the input schema is {what}")));
    }
}

pub(super) fn input_not_object(definition: &Definition, found: &mut Vec<Found>) {
    let Some(schema) = definition.input_schema() else { return };
    match schema.get("type") {
        Some(kind) if kind.is_text("object") => {}
        Some(kind) => found.push((
            Pointer::root().join("inputSchema").join("type"),
            format!("the type is {}, not \"object\"", kind.to_compact()),
        )),
        None => found.push((Pointer::root().join("inputSchema"), "no \"type\": \"object\"".to_owned())),
    }
}

pub(super) fn refused(definition: &Definition, found: &mut Vec<Found>) {
    for (member, schema) in schemas(definition) {
        if let Err(error) = Schema::compile(schema, &SchemaOptions::default()) {
            let error = error.within(&Pointer::root().join(member));
            found.push((error.pointer().clone(), error.reason()));
        }
    }
}

pub(super) fn parameter_description_missing(definition: &Definition, found: &mut Vec<Found>) {
    let Some(properties) = definition.input_schema().and_then(|s| s.get("properties")) else { return };
    for (name, schema) in properties.members() {
        let described =
            schema.get("description").and_then(Node::as_str).is_some_and(|d| !d.trim().is_empty());
        // A reference, a constant or a title explains the parameter well enough.
        let explained = ["$ref", "const", "title"].iter().any(|key| schema.get(key).is_some());
        if schema.is_object() && !described && !explained {
            let name = name.as_str().unwrap_or_default();
            let place = Pointer::root().join("inputSchema").join("properties").join(&name);
            found.push((place, format!("the parameter {name:?} has no description")));
        }
    }
}

/// Finds names under `required` that the `properties` beside it do not describe.
pub(super) fn required_undescribed(definition: &Definition, found: &mut Vec<Found>) {
    for (member, schema) in schemas(definition) {
        walk(schema, &mut Pointer::root().join(member), found);
    }
}

fn walk(schema: Node<'_>, pointer: &mut Pointer, found: &mut Vec<Found>) {
    if let (Some(required), Some(properties)) = (schema.get("required"), schema.get("properties")) {
        let open = schema.get("patternProperties").is_some() || schema.get("$ref").is_some();
        for (i, name) in required.elements().enumerate() {
            let Some(name) = name.as_str() else { continue };
            if !open && properties.get(&name).is_none() {
                let place = pointer.join("required").join(i.to_string());
                found.push((place, format!("{name:?} is required but not among the properties")));
            }
        }
    }
    for keyword in ["properties", "$defs", "definitions"] {
        for (name, child) in schema.get(keyword).into_iter().flat_map(Node::members) {
            pointer.push(keyword);
            pointer.push(&name.as_str().unwrap_or_default());
            walk(child, pointer, found);
            pointer.pop();
            pointer.pop();
        }
    }
    if let Some(items) = schema.get("items") {
        pointer.push("items");
        walk(items, pointer, found);
        pointer.pop();
    }
}
