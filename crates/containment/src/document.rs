//! Schema document: admitted under limits, validated against its meta-schema, with references resolved inside itself.
//! Nothing is ever fetched.

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use referencing::Registry;
use serde_json::Value;

use crate::arena::{Arena, Lit};
use crate::dialect::Dialect;
use crate::error::SchemaFault;
use crate::limits;
use crate::lower::{Lowering, Mode, Place, Stop, reference_fault};
use crate::obstacle::Obstacle;
use crate::pattern::Patterns;

/// Base URI of a document without an identifier.
const BASE: &str = "json-schema:///";

/// Limits of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum nesting depth of the document.
    pub depth_max: usize,
    /// Maximum objects and arrays in the document.
    pub containers_max: usize,
    /// Maximum schema objects that one value is tested against in place. Above it no validator is run, because it
    /// would take seconds.
    pub in_place_max: u64,
    /// Maximum steps of one search.
    pub steps_max: u64,
    /// Maximum formulas that one search may build.
    pub nodes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            depth_max: limits::PROVER_SCHEMA_DEPTH_MAX,
            containers_max: limits::PROVER_SCHEMA_CONTAINERS_MAX,
            in_place_max: limits::PROVER_IN_PLACE_MAX,
            steps_max: limits::PROVER_STEPS_MAX,
            nodes_max: limits::PROVER_FORMULAS_MAX,
        }
    }
}

/// Schema that was admitted for judgement.
#[derive(Debug)]
pub(crate) struct Document<'v> {
    pub(crate) value: &'v Value,
    pub(crate) dialect: Dialect,
}

/// Formula of a document, with the maximum number of schema objects that one value is tested against in place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lowered {
    pub(crate) lit: Lit,
    pub(crate) in_place: u64,
}

impl<'v> Document<'v> {
    /// Checks limits, dialect and meta-schema of a document.
    pub(crate) fn admit(value: &'v Value, default: Dialect, limits: &Limits) -> Result<Document<'v>, Stop> {
        within(value, limits)?;
        let dialect = Dialect::of(value, default)?;
        let check = match dialect {
            Dialect::Draft4 => jsonschema::draft4::meta::validate(value),
            Dialect::Draft6 => jsonschema::draft6::meta::validate(value),
            Dialect::Draft7 => jsonschema::draft7::meta::validate(value),
            Dialect::Draft201909 => jsonschema::draft201909::meta::validate(value),
            Dialect::Draft202012 => jsonschema::draft202012::meta::validate(value),
        };
        check.map_err(|error| fault(&error))?;
        Ok(Document { value, dialect })
    }

    /// Lowers the document to its formula.
    pub(crate) fn lower(
        &self,
        arena: &mut Arena,
        patterns: &mut Patterns,
        assert_formats: bool,
        mode: Mode,
    ) -> Result<Lowered, Stop> {
        let draft = self.dialect.draft();
        let resource = draft.create_resource_ref(self.value);
        let base = match resource.id() {
            Some(id) => {
                let root = referencing::uri::from_str(BASE).map_err(|error| reference_fault(BASE, &error))?;
                referencing::uri::resolve_against(&root.borrow(), id)
                    .map_err(|error| reference_fault(id, &error))?
            }
            None => referencing::uri::from_str(BASE).map_err(|error| reference_fault(BASE, &error))?,
        };
        let registry = Registry::new()
            .draft(draft)
            .add(base.as_str(), resource)
            .and_then(referencing::RegistryBuilder::prepare)
            .map_err(|error| reference_fault("", &error))?;
        let place = Place { resolver: registry.resolver(base), dialect: self.dialect, mode, fresh: true };
        let mut lowering = Lowering::new(arena, patterns, assert_formats, mentions_dynamic(self.value));
        let lit = lowering.lower_entered(self.value, &place)?;
        let in_place = lowering.in_place();
        Ok(Lowered { lit, in_place })
    }

    /// Compiles the plain validator of the original document.
    pub(crate) fn validator(&self, assert_formats: bool) -> Result<Validator, SchemaFault> {
        jsonschema::options()
            .with_draft(self.dialect.draft())
            .should_validate_formats(assert_formats)
            .without_content_media_type_support("application/json")
            .without_content_encoding_support("base64")
            .offline()
            .build(self.value)
            .map_err(|error| fault(&error))
    }
}

fn fault(error: &ValidationError<'_>) -> SchemaFault {
    if let ValidationErrorKind::Referencing(error) = error.kind() {
        return reference_fault("", error);
    }
    SchemaFault::NotASchema { message: error.to_string(), path: error.instance_path().to_string() }
}

/// Checks depth and number of containers, without recursion.
fn within(value: &Value, limits: &Limits) -> Result<(), Stop> {
    let mut containers = 0usize;
    let mut queue = vec![(value, 1usize)];
    while let Some((value, depth)) = queue.pop() {
        let children: &mut dyn Iterator<Item = &Value> = match value {
            Value::Array(items) => &mut items.iter(),
            Value::Object(map) => &mut map.values(),
            _ => continue,
        };
        containers += 1;
        if depth > limits.depth_max {
            return Err(Stop::Obstacle(Obstacle::Limit {
                what: "schema depth",
                limit: limits.depth_max as u64,
            }));
        }
        if containers > limits.containers_max {
            let limit = limits.containers_max as u64;
            return Err(Stop::Obstacle(Obstacle::Limit { what: "schema size", limit }));
        }
        queue.extend(children.map(|child| (child, depth + 1)));
    }
    Ok(())
}

fn mentions_dynamic(value: &Value) -> bool {
    let mut queue = vec![value];
    while let Some(value) = queue.pop() {
        match value {
            Value::Array(items) => queue.extend(items),
            Value::Object(map) => {
                if map.contains_key("$dynamicRef") || map.contains_key("$recursiveRef") {
                    return true;
                }
                queue.extend(map.values());
            }
            _ => {}
        }
    }
    false
}
