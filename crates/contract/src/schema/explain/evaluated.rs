//! `unevaluatedProperties` and `unevaluatedItems`: members and elements that no other keyword has evaluated.

use std::collections::HashSet;

use serde_json::Value;

use super::applicator::{schema_of_element, unexpected};
use super::report::Report;
use super::trail::Trail;
use super::{Here, Walk};
use crate::json::{Node, Spot};
use crate::violation::Ended;

/// Children of one value that keywords have evaluated, by their spot.
#[derive(Default)]
struct Evaluated {
    children: HashSet<Spot>,
}

impl Walk<'_> {
    pub(super) fn unevaluated(
        &mut self,
        here: &Here<'_>,
        keyword: &str,
        value: &Value,
        node: Node<'_>,
        trail: &Trail<'_>,
        mut out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        let of_members = keyword == "unevaluatedProperties";
        if of_members != node.is_object() || !(node.is_object() || node.is_array()) {
            return Ok(true);
        }
        let Some(at) = self.graph.find(value) else { return Ok(true) };
        let mut seen = Evaluated::default();
        self.gather(here.at, node, trail, Some(keyword), &mut seen)?;
        let mut holds = true;
        let mut refused = Vec::new();
        for (key, child, step) in children(node) {
            if seen.children.contains(&child.spot()) {
                continue;
            }
            let trail = match key {
                Some(key) => trail.member(key),
                None => trail.element(step),
            };
            if *value == Value::Bool(false) {
                holds = false;
                refused.extend(key);
            } else {
                holds &= self.apply(at, child, &trail, out.as_deref_mut())?;
            }
            if !holds && out.is_none() {
                return Ok(false);
            }
        }
        if holds || *value != Value::Bool(false) {
            return Ok(holds);
        }
        self.refuse(out, here.at, keyword, node, trail, |violation| {
            if of_members {
                unexpected(violation, here.members, &refused);
            } else {
                violation.expected = "no further items".to_owned();
            }
        })
    }

    /// Adds the children of `node` that the subschema `at` evaluates, ignoring its keyword `except`.
    fn gather(
        &mut self,
        at: u32,
        node: Node<'_>,
        trail: &Trail<'_>,
        except: Option<&str>,
        seen: &mut Evaluated,
    ) -> Result<(), Ended> {
        self.spend(1)?;
        let graph = self.graph;
        let Some(place) = graph.place(at) else { return Ok(()) };
        let Some(members) = place.value.as_object() else { return Ok(()) };
        let here = Here { at, members, dialect: graph.dialect(place.resource) };
        for (keyword, value) in members.iter().filter(|(keyword, _)| Some(keyword.as_str()) != except) {
            match keyword.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => match graph.target(at, keyword) {
                    Some(target) => self.gather_accepting(target, node, trail, seen)?,
                    None => self.is_lost = true,
                },
                "allOf" | "anyOf" | "oneOf" => {
                    for branch in value.as_array().into_iter().flatten().filter_map(|b| graph.find(b)) {
                        self.gather_accepting(branch, node, trail, seen)?;
                    }
                }
                "if" => {
                    let Some(condition) = graph.find(value) else { continue };
                    let applies = self.accepts(condition, node, trail)?;
                    if applies {
                        self.gather(condition, node, trail, None, seen)?;
                    }
                    let chosen = members.get(if applies { "then" } else { "else" });
                    if let Some(chosen) = chosen.and_then(|schema| graph.find(schema)) {
                        self.gather(chosen, node, trail, None, seen)?;
                    }
                }
                "dependentSchemas" => {
                    for (name, schema) in value.as_object().into_iter().flatten() {
                        if let Some(at) = graph.find(schema).filter(|_| node.get(name).is_some()) {
                            self.gather_accepting(at, node, trail, seen)?;
                        }
                    }
                }
                "unevaluatedProperties" if node.is_object() => self.all(node, seen)?,
                "unevaluatedItems" if node.is_array() => self.all(node, seen)?,
                "properties" | "patternProperties" | "additionalProperties" if node.is_object() => {
                    for (key, member) in node.members() {
                        self.spend(1)?;
                        if !self.schemas_of_member(&here, keyword, value, key)?.is_empty() {
                            seen.children.insert(member.spot());
                        }
                    }
                }
                "items" | "prefixItems" | "additionalItems" if node.is_array() => {
                    for (index, element) in node.elements().enumerate() {
                        self.spend(1)?;
                        if schema_of_element(&here, keyword, value, index).is_some() {
                            seen.children.insert(element.spot());
                        }
                    }
                }
                "contains" if node.is_array() && here.contains_evaluates() => {
                    let Some(at) = graph.find(value) else { continue };
                    for element in node.elements() {
                        if self.accepts(at, element, trail)? {
                            seen.children.insert(element.spot());
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Gathers as [`Walk::gather`] does, if the subschema accepts the value; one that refuses evaluates nothing.
    fn gather_accepting(
        &mut self,
        at: u32,
        node: Node<'_>,
        trail: &Trail<'_>,
        seen: &mut Evaluated,
    ) -> Result<(), Ended> {
        if self.accepts(at, node, trail)? { self.gather(at, node, trail, None, seen) } else { Ok(()) }
    }

    fn all(&mut self, node: Node<'_>, seen: &mut Evaluated) -> Result<(), Ended> {
        self.spend(node.len() as u64)?;
        seen.children.extend(children(node).map(|(_, child, _)| child.spot()));
        Ok(())
    }
}

/// Yields key, value and index of each child; members have no index, elements no key.
fn children(node: Node<'_>) -> impl Iterator<Item = (Option<Node<'_>>, Node<'_>, usize)> {
    let members = node.members().map(|(key, member)| (Some(key), member, 0));
    members.chain(node.elements().enumerate().map(|(index, element)| (None, element, index)))
}
