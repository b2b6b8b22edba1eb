//! From the validator's errors to violations.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

use super::nearest::nearest;
use super::shown::Shown;
use super::{Nearest, Violation};
use crate::json::{Node, Pointer};
use crate::limits;

/// Alternatives inside alternatives are explained down to here.
const CAUSE_DEPTH_MAX: usize = 3;
/// Violations shown of the closest alternative.
const CAUSES_MAX: usize = 4;

impl Violation {
    pub(crate) fn new(error: &ValidationError<'_>, schema: Node<'_>, instance: Node<'_>) -> Self {
        read(error, schema, instance, 0)
    }
}

fn read(error: &ValidationError<'_>, schema: Node<'_>, instance: Node<'_>, depth: usize) -> Violation {
    let instance_path = Pointer::from_escaped(error.instance_path().as_str());
    let schema_path = Pointer::from_escaped(error.schema_path().as_str());
    let found = Shown::of_value(error.instance(), &instance_path);
    let mut violation = Violation {
        keyword: error.kind().keyword().to_owned(),
        expected: String::new(),
        found: Some(found),
        allowed: Vec::new(),
        nearest: None,
        causes: Vec::new(),
        instance_path,
        schema_path,
    };
    describe(&mut violation, error.kind(), schema, instance, depth);
    violation
}

fn describe(violation: &mut Violation, kind: &Kind, schema: Node<'_>, instance: Node<'_>, depth: usize) {
    let plural = |n: u64, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    violation.expected = match kind {
        Kind::Type { kind } => types(kind),
        Kind::Enum { options } => {
            violation.allowed = allowed(options);
            one_of(&violation.allowed, options.as_array().map_or(0, Vec::len))
        }
        Kind::Constant { expected_value } => {
            let value = expected_value.to_string();
            violation.allowed = vec![value.clone()];
            value
        }
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            violation.nearest = misspelt(name, violation, schema, instance);
            violation.found = None;
            format!("the required property {name:?}")
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let known = known_properties(violation, schema);
            violation.nearest = unexpected.iter().find_map(|given| {
                let known = nearest(given, known.iter().map(String::as_str))?.to_owned();
                Some(Nearest { given: given.clone(), known })
            });
            violation.found = None;
            let names: Vec<_> =
                unexpected.iter().take(limits::VIOLATION_ALLOWED_MAX).map(|n| format!("{n:?}")).collect();
            let allowed = match known.is_empty() {
                true => String::new(),
                false => format!(" (known: {})", known.join(", ")),
            };
            format!("no property {}{allowed}", names.join(", "))
        }
        Kind::PropertyNames { error } => {
            let cause = read(error, schema, instance, depth + 1);
            violation.found = None;
            let expected = format!("property names that are {}, not {}", cause.expected, error.instance());
            violation.causes = vec![cause];
            expected
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            violation.causes = closest(context, &violation.instance_path, schema, instance, depth);
            format!("one of {} alternatives to match, none does", context.len())
        }
        Kind::OneOfMultipleValid { context } => {
            let matching = context.iter().filter(|errors| errors.is_empty()).count();
            format!("exactly one of {} alternatives to match, {matching} do", context.len())
        }
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("at least {}", plural(*limit, "character")),
        Kind::MaxLength { limit } => format!("at most {}", plural(*limit, "character")),
        Kind::MinItems { limit } => format!("at least {}", plural(*limit, "item")),
        Kind::MaxItems { limit } => format!("at most {}", plural(*limit, "item")),
        Kind::AdditionalItems { limit } => format!("at most {}", plural(*limit as u64, "item")),
        Kind::UnevaluatedItems { .. } => "no further items".to_owned(),
        Kind::MinProperties { limit } => format!("at least {limit} properties"),
        Kind::MaxProperties { limit } => format!("at most {limit} properties"),
        Kind::Pattern { pattern } => format!("text matching /{pattern}/"),
        Kind::Format { format } => format!("text in the format {format:?}"),
        Kind::UniqueItems => "items that are all different".to_owned(),
        Kind::Contains => "an item that the schema asks for".to_owned(),
        Kind::FalseSchema => "nothing here: no value is allowed".to_owned(),
        Kind::Not { .. } => "a value that does not match a forbidden schema".to_owned(),
        Kind::ContentEncoding { content_encoding } => format!("text encoded as {content_encoding}"),
        Kind::ContentMediaType { content_media_type } => format!("text of type {content_media_type}"),
        other => format!("a value that keeps {:?}", other.keyword()),
    };
}

fn types(kind: &TypeKind) -> String {
    let article = |name: &str| match name {
        "null" => "null".to_owned(),
        "integer" | "array" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    };
    match kind {
        TypeKind::Single(one) => article(one.as_str()),
        TypeKind::Multiple(set) => {
            set.iter().map(|one| article(one.as_str())).collect::<Vec<_>>().join(" or ")
        }
    }
}

fn allowed(options: &Value) -> Vec<String> {
    let list = options.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().take(limits::VIOLATION_ALLOWED_MAX).map(Value::to_string).collect()
}

fn one_of(shown: &[String], all: usize) -> String {
    let more = all.saturating_sub(shown.len());
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    if all == 1 { shown.join("") } else { format!("one of {}{tail}", shown.join(", ")) }
}

/// The names that the object schema around the keyword declares.
fn known_properties(violation: &Violation, schema: Node<'_>) -> Vec<String> {
    let mut parent = violation.schema_path.clone();
    parent.pop();
    let declared = schema.pointer(&parent).and_then(|s| s.get("properties"));
    declared
        .into_iter()
        .flat_map(Node::members)
        .filter_map(|(key, _)| key.as_str().map(String::from))
        .collect()
}

/// A member of the object that is not declared and close to the missing name.
fn misspelt(missing: &str, violation: &Violation, schema: Node<'_>, instance: Node<'_>) -> Option<Nearest> {
    let known = known_properties(violation, schema);
    let object = instance.pointer(&violation.instance_path)?;
    object.members().find_map(|(key, _)| {
        let given = key.as_str()?;
        if known.iter().any(|name| *name == given) {
            return None;
        }
        nearest(&given, std::iter::once(missing))?;
        Some(Nearest { given: given.into_owned(), known: missing.to_owned() })
    })
}

/// The alternative that got furthest into the value, and of those the one with the fewest complaints.
fn closest(
    context: &[Vec<ValidationError<'static>>],
    place: &Pointer,
    schema: Node<'_>,
    instance: Node<'_>,
    depth: usize,
) -> Vec<Violation> {
    if depth >= CAUSE_DEPTH_MAX {
        return Vec::new();
    }
    let reach = |errors: &[ValidationError<'static>]| {
        errors.iter().map(|e| e.instance_path().as_str().matches('/').count()).max().unwrap_or(0)
    };
    let here = |e: &ValidationError<'static>| e.instance_path().as_str() == place.as_str();
    let is_other_type = |errors: &[ValidationError<'static>]| {
        errors.iter().any(|e| matches!(e.kind(), Kind::Type { .. }) && here(e))
    };
    context
        .iter()
        .filter(|errors| !errors.is_empty())
        .min_by_key(|errors| (is_other_type(errors), usize::MAX - reach(errors), errors.len()))
        .map(|errors| errors.iter().take(CAUSES_MAX).map(|e| read(e, schema, instance, depth + 1)).collect())
        .unwrap_or_default()
}
