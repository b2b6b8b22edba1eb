//! Resolution of `$ref`, `$dynamicRef`, `$recursiveRef` and anchors, inside the schema only.

use std::collections::HashMap;

use referencing::uri;
use serde_json::Value;

use super::dialect::Dialect;
use super::error::SchemaError;
use super::graph::{Graph, Reference};
use crate::json::Pointer;

/// Resolves every reference to edges of the graph, including references that become reachable only by following
/// another one to a place that no keyword leads to.
pub(super) fn resolve<'s>(graph: &mut Graph<'s>) -> Result<(), SchemaError> {
    if graph.references.is_empty() {
        return Ok(());
    }
    let mut bases = Bases::default();
    let mut next = 0;
    while let Some(&reference) = graph.references.get(next) {
        next += 1;
        bases.extend(graph)?;
        match target(graph, &bases, reference)? {
            Target::Published => {}
            Target::Place(place) => {
                let mut targets = vec![place];
                if reference.dynamic {
                    targets.extend(overriders(graph, reference, place));
                }
                let only = (targets.len() == 1).then_some(place);
                graph.lead(reference.from, reference.keyword, only);
                if let Some(from) = graph.places.get_mut(reference.from as usize) {
                    from.in_place.extend(targets);
                }
            }
        }
    }
    Ok(())
}

enum Target {
    Place(u32),
    /// A published meta-schema, which is built into the validator.
    Published,
}

/// Absolute URIs of the resources visited so far.
#[derive(Default)]
struct Bases {
    absolute: Vec<Option<String>>,
    by_uri: HashMap<String, u32>,
}

impl Bases {
    /// Adds the resources that are new in the graph. Refuses two resources with one URI: a reference to it would be
    /// ambiguous, and the validator crashes on it.
    fn extend(&mut self, graph: &Graph<'_>) -> Result<(), SchemaError> {
        for at in self.absolute.len()..graph.resources.len() {
            let Some(resource) = graph.resources.get(at) else { break };
            let base = self.absolute.get(resource.parent as usize).cloned().flatten();
            let absolute = match (resource.id, base) {
                (None, _) => uri::from_str("").ok().map(|u| u.as_str().to_owned()),
                (Some(id), None) => uri::from_str(id).ok().map(|u| u.as_str().to_owned()),
                (Some(id), Some(base)) => join(&base, id),
            };
            let absolute = absolute.map(|uri| without_fragment(&uri).to_owned());
            if let Some(uri) = &absolute {
                let taken = self.by_uri.insert(uri.clone(), u32::try_from(at).unwrap_or(u32::MAX));
                if taken.is_some() {
                    let pointer = graph.pointer(resource.root).join(resource.dialect.id_keyword());
                    let reason = format!("the identifier {uri:?} is taken by another part of this schema");
                    return Err(SchemaError::Invalid { pointer, reason });
                }
            }
            self.absolute.push(absolute);
        }
        Ok(())
    }
}

fn join(base: &str, reference: &str) -> Option<String> {
    let base = uri::from_str(base).ok()?;
    uri::resolve_against(&base.borrow(), reference).ok().map(|u| u.as_str().to_owned())
}

fn without_fragment(uri: &str) -> &str {
    uri.split_once('#').map_or(uri, |(bare, _)| bare)
}

fn target<'s>(graph: &mut Graph<'s>, bases: &Bases, reference: Reference<'s>) -> Result<Target, SchemaError> {
    let unresolvable = |graph: &Graph<'_>| SchemaError::UnresolvableRef {
        pointer: graph.pointer(reference.from).join(reference.keyword),
        reference: reference.target.to_owned(),
    };
    let home = graph.place(reference.from).map_or(0, |place| place.resource);
    let (bare, fragment) = reference.target.split_once('#').unwrap_or((reference.target, ""));
    let resource = if bare.is_empty() {
        home
    } else {
        let base = bases.absolute.get(home as usize).and_then(Option::as_deref).unwrap_or_default();
        let Some(absolute) = join(base, bare) else { return Err(unresolvable(graph)) };
        match bases.by_uri.get(without_fragment(&absolute)) {
            Some(&resource) => resource,
            None if is_published(&absolute) => return Ok(Target::Published),
            None => return Err(unresolvable(graph)),
        }
    };
    let Some(root) = graph.resources.get(resource as usize).map(|r| r.root) else {
        return Err(unresolvable(graph));
    };
    if fragment.is_empty() {
        return Ok(Target::Place(root));
    }
    let Some(fragment) = percent_decoded(fragment) else { return Err(unresolvable(graph)) };
    if !fragment.starts_with('/') {
        let named = graph.anchors.iter().find(|&&(home, name, _)| home == resource && name == fragment);
        return named.map(|&(_, _, at)| Target::Place(at)).ok_or_else(|| unresolvable(graph));
    }
    let value: Option<&'s Value> = graph.place(root).and_then(|place| place.value.pointer(&fragment));
    let Some(value) = value else { return Err(unresolvable(graph)) };
    match graph.find(value) {
        Some(at) => Ok(Target::Place(at)),
        None => graph.visit_target(value, resource, reference.target).map(Target::Place),
    }
}

/// Returns the other possible targets of a dynamic reference: every other subschema that declares the same anchor.
fn overriders(graph: &Graph<'_>, reference: Reference<'_>, first: u32) -> Vec<u32> {
    let name = reference.target.split_once('#').map_or("", |(_, name)| name);
    graph
        .dynamic_anchors
        .iter()
        .filter(|&&(anchor, at)| anchor == name && at != first)
        .map(|&(_, at)| at)
        .collect()
}

fn is_published(uri: &str) -> bool {
    const VOCABULARIES: [&str; 2] =
        ["https://json-schema.org/draft/2020-12/meta/", "https://json-schema.org/draft/2019-09/meta/"];
    let uri = without_fragment(uri);
    Dialect::from_uri(uri).is_some() || VOCABULARIES.iter().any(|prefix| uri.starts_with(prefix))
}

/// Returns the first reference in `schema` that can have caused `cause`.
pub(super) fn standing_for(schema: &Value, cause: &referencing::Error) -> Option<(Pointer, String)> {
    let means = |reference: &str| {
        let (bare, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        match cause {
            referencing::Error::Unretrievable { uri, .. } => !bare.is_empty() && uri.ends_with(bare),
            referencing::Error::PointerToNowhere { pointer } => fragment == pointer,
            referencing::Error::NoSuchAnchor { anchor } | referencing::Error::InvalidAnchor { anchor } => {
                fragment == anchor
            }
            _ => false,
        }
    };
    let mut open = vec![(Pointer::root(), schema)];
    while let Some((place, value)) = open.pop() {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    let is_reference = matches!(key.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef");
                    match value {
                        Value::String(text) if is_reference && means(text) => {
                            return Some((place.join(key), text.clone()));
                        }
                        _ => open.push((place.join(key), value)),
                    }
                }
            }
            Value::Array(items) => {
                open.extend(items.iter().enumerate().map(|(i, item)| (place.join(i.to_string()), item)));
            }
            _ => {}
        }
    }
    None
}

fn percent_decoded(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high << 4 | low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
