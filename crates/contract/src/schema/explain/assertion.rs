//! Assertions: keywords that inspect one value without applying subschemas.

use jsonschema::Validator;
use jsonschema::json::{JsonNumber as _, Node as _};
use serde_json::{Map, Value};

use super::super::{MATCH_STEPS, SchemaOptions, compile, dialect::Dialect};
use super::report::Report;
use super::trail::Trail;
use super::{Here, Walk};
use crate::json::meter::{self, Budget};
use crate::json::{DISTINCT_STEPS, Kind, Node, Tape, unescape_steps};
use crate::limits;
use crate::violation::{Ended, Nearest, Violation, counted, nearest, quoted, shortened_json};

/// Steps charged for compiling the validator of one keyword.
const COMPILED_STEPS: u64 = 2_000;

impl Walk<'_> {
    /// Applies a keyword that is not an applicator.
    pub(super) fn assertion(
        &mut self,
        here: &Here<'_>,
        keyword: &str,
        value: &Value,
        node: Node<'_>,
        trail: &Trail<'_>,
        out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        let count = |value: &Value| value.as_f64().unwrap_or_default();
        let is = |kind: Kind| node.kind() == kind;
        let holds = match keyword {
            "type" => types(value).any(|name| has_type(node, name, here.dialect)),
            "enum" => match value.as_array() {
                Some(options) => {
                    self.spend(options.len() as u64)?;
                    options.iter().any(|option| node.equals_value(option))
                }
                None => true,
            },
            "const" if here.dialect >= Dialect::Draft6 => node.equals_value(value),
            "required" if is(Kind::Object) => return self.required(here, value, node, trail, out),
            "dependentRequired" if is(Kind::Object) => {
                return self.dependent(here, keyword, value, node, trail, out);
            }
            "minLength" if is(Kind::String) => self.length(node)? >= count(value),
            "maxLength" if is(Kind::String) => self.length(node)? <= count(value),
            "minItems" if is(Kind::Array) => node.len() as f64 >= count(value),
            "maxItems" if is(Kind::Array) => node.len() as f64 <= count(value),
            "minProperties" if is(Kind::Object) => node.len() as f64 >= count(value),
            "maxProperties" if is(Kind::Object) => node.len() as f64 <= count(value),
            "uniqueItems" if is(Kind::Array) && *value == Value::Bool(true) => {
                self.spend(node.slot_count() as u64 * DISTINCT_STEPS)?;
                node.as_array().is_none_or(|array| jsonschema::json::Array::is_unique(&array))
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf"
                if is(Kind::Number) =>
            {
                self.alone(here, keyword, std::ptr::from_ref(value) as usize, || value.clone(), node)?
            }
            "pattern" | "contentEncoding" | "contentMediaType" if is(Kind::String) => {
                self.alone(here, keyword, std::ptr::from_ref(value) as usize, || value.clone(), node)?
            }
            "format" if self.assert_formats => {
                self.alone(here, keyword, std::ptr::from_ref(value) as usize, || value.clone(), node)?
            }
            _ => true,
        };
        if holds {
            return Ok(true);
        }
        self.refuse(out, here.at, keyword, node, trail, |violation| {
            describe(violation, here.members, keyword, value);
        })
    }

    fn length(&mut self, node: Node<'_>) -> Result<f64, Ended> {
        self.spend((node.raw_len() as u64 >> 4) + unescape_steps(node))?;
        Ok(node.string_length().unwrap_or_default() as f64)
    }

    /// Asks the validator, with a schema of this keyword alone, so that numbers, patterns and formats are judged by
    /// the same code. `address` identifies the use of the keyword.
    pub(super) fn alone(
        &mut self,
        here: &Here<'_>,
        keyword: &str,
        address: usize,
        value: impl FnOnce() -> Value,
        node: Node<'_>,
    ) -> Result<bool, Ended> {
        self.spend(MATCH_STEPS + (node.raw_len() as u64 >> 4))?;
        if !self.keywords.contains_key(&address) {
            self.spend(COMPILED_STEPS)?;
            let compiled = single(here, keyword, value(), self.assert_formats);
            self.keywords.insert(address, compiled);
        }
        let Some(validator) = self.keywords.get(&address).and_then(Option::as_ref) else { return Ok(true) };
        let budget = Budget { pattern_states: self.pattern_states, ..Budget::plain(self.steps_left) };
        let (holds, left) = meter::counted(budget, || validator.is_valid(node)).map_err(|_| Ended::Steps)?;
        self.steps_left = left;
        Ok(holds)
    }

    fn required(
        &mut self,
        here: &Here<'_>,
        value: &Value,
        node: Node<'_>,
        trail: &Trail<'_>,
        mut out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        let mut holds = true;
        for name in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
            self.spend(1 + (node.len() as u64 >> 4))?;
            if node.get(name).is_some() {
                continue;
            }
            holds = self.refuse(out.as_deref_mut(), here.at, "required", node, trail, |violation| {
                violation.nearest = misspelt(name, here.members, node);
                violation.found = None;
                violation.expected = format!("the required property {}", quoted(name));
            })?;
            if out.is_none() {
                break;
            }
        }
        Ok(holds)
    }

    /// Applies `dependentRequired`, and the part of `dependencies` that lists names.
    pub(super) fn dependent(
        &mut self,
        here: &Here<'_>,
        keyword: &str,
        value: &Value,
        node: Node<'_>,
        trail: &Trail<'_>,
        mut out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        let mut holds = true;
        for (present, names) in value.as_object().into_iter().flatten() {
            self.spend(1 + (node.len() as u64 >> 4))?;
            let names = names.as_array().filter(|_| node.get(present).is_some());
            for name in names.into_iter().flatten().filter_map(Value::as_str) {
                self.spend(1 + (node.len() as u64 >> 4))?;
                if node.get(name).is_some() {
                    continue;
                }
                holds = self.refuse(out.as_deref_mut(), here.at, keyword, node, trail, |violation| {
                    violation.nearest = misspelt(name, here.members, node);
                    violation.found = None;
                    violation.expected =
                        format!("the property {}, required beside {}", quoted(name), quoted(present));
                })?;
                if out.is_none() {
                    return Ok(false);
                }
            }
        }
        Ok(holds)
    }
}

/// Compiles a validator of one keyword. Returns `None` if that fails, which cannot happen for an admitted schema.
fn single(here: &Here<'_>, keyword: &str, value: Value, assert_formats: bool) -> Option<Validator<Tape>> {
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), here.dialect.uri().into());
    schema.insert(keyword.to_owned(), value);
    // Keywords that have a meaning only together: in draft-04 a bound and its exclusive flag, and a string's encoding
    // and media type.
    let partner = match keyword {
        "contentEncoding" => "contentMediaType",
        "contentMediaType" => "contentEncoding",
        "minimum" => "exclusiveMinimum",
        "maximum" => "exclusiveMaximum",
        "exclusiveMinimum" => "minimum",
        "exclusiveMaximum" => "maximum",
        _ => "",
    };
    if (here.dialect == Dialect::Draft4 || keyword.starts_with("content"))
        && let Some(value) = here.members.get(partner)
    {
        schema.insert(partner.to_owned(), value.clone());
    }
    let options = SchemaOptions::default().asserting_formats(assert_formats);
    compile(&Value::Object(schema), here.dialect, 1, &options).ok()
}

/// Returns the names in `type`, alphabetically.
fn types(value: &Value) -> impl Iterator<Item = &str> {
    let mut names: Vec<&str> = match value {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    names.sort_unstable();
    names.into_iter()
}

fn has_type(node: Node<'_>, name: &str, dialect: Dialect) -> bool {
    match (name, node.as_number()) {
        ("integer", Some(number)) if dialect == Dialect::Draft4 => number.is_written_as_integer(),
        ("integer", Some(number)) => number.is_integer(),
        _ => node.kind().name() == name,
    }
}

fn describe(violation: &mut Violation, members: &Map<String, Value>, keyword: &str, value: &Value) {
    violation.expected = match keyword {
        "type" => types(value).map(with_article).collect::<Vec<_>>().join(" or "),
        "enum" => {
            let options = value.as_array().map(Vec::as_slice).unwrap_or_default();
            violation.allowed =
                options.iter().take(limits::VIOLATION_ALLOWED_MAX).map(shortened_json).collect();
            one_of(&violation.allowed, options.len())
        }
        "const" => {
            violation.allowed = vec![shortened_json(value)];
            shortened_json(value)
        }
        "minimum" if members.get("exclusiveMinimum") == Some(&Value::Bool(true)) => {
            format!("more than {value}")
        }
        "maximum" if members.get("exclusiveMaximum") == Some(&Value::Bool(true)) => {
            format!("less than {value}")
        }
        "minimum" => format!("at least {value}"),
        "maximum" => format!("at most {value}"),
        "exclusiveMinimum" => format!("more than {value}"),
        "exclusiveMaximum" => format!("less than {value}"),
        "multipleOf" => format!("a multiple of {value}"),
        "minLength" => format!("at least {}", counted(value, "character")),
        "maxLength" => format!("at most {}", counted(value, "character")),
        "minItems" => format!("at least {}", counted(value, "item")),
        "maxItems" => format!("at most {}", counted(value, "item")),
        "minProperties" => format!("at least {value} properties"),
        "maxProperties" => format!("at most {value} properties"),
        "pattern" => format!("text matching /{}/", value.as_str().unwrap_or_default()),
        "format" => format!("text in the format {}", shortened_json(value)),
        "uniqueItems" => "items that are all different".to_owned(),
        "contentEncoding" => format!("text encoded as {}", value.as_str().unwrap_or_default()),
        "contentMediaType" => format!("text of type {}", value.as_str().unwrap_or_default()),
        other => format!("a value that keeps {other:?}"),
    };
}

fn with_article(name: &str) -> String {
    match name {
        "null" => "null".to_owned(),
        "integer" | "array" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

fn one_of(shown: &[String], all: usize) -> String {
    let more = all.saturating_sub(shown.len());
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    if all == 1 { shown.join("") } else { format!("one of {}{tail}", shown.join(", ")) }
}

/// Returns a member of `node` that the schema does not declare and whose name is close to the missing one.
fn misspelt(missing: &str, members: &Map<String, Value>, node: Node<'_>) -> Option<Nearest> {
    let declared = members.get("properties").and_then(Value::as_object);
    node.members().take(limits::VIOLATION_ALLOWED_MAX).find_map(|(key, _)| {
        let given = key.as_str()?;
        if declared.is_some_and(|declared| declared.contains_key(&*given)) {
            return None;
        }
        nearest(&given, std::iter::once(missing))?;
        Some(Nearest { given: given.into_owned(), known: missing.to_owned() })
    })
}
