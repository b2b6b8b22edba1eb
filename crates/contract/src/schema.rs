//! Schemas: which dialect, whether they are admitted, and the compiled check (R1.5 to R1.7).
//!
//! Guarantees: a schema that was admitted never causes a network or file read, has only references that
//! resolve inside it (or to a published meta-schema), only regular expressions that run in linear time, and
//! costs a bounded number of steps per value. It is compiled once; equal schemas share one compiled check.

mod admit;
mod cache;
mod dialect;
mod error;
mod expansion;
mod graph;
mod pattern;
mod reference;
mod shortcut;

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

pub use cache::SchemaCache;
pub use dialect::Dialect;
pub use error::{PatternFault, SchemaError, SchemaLimit};
use shortcut::Shortcut;

use crate::json::{Expected, Node, Recognise, Recognised, Tape};
use crate::limits;
use crate::violation::{Violation, Violations};

/// How schemas are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SchemaOptions {
    /// `format` is asserted; otherwise it is an annotation, whatever the dialect says.
    pub assert_formats: bool,
    /// The dialect of schemas without `$schema`; 2020-12 unless said otherwise.
    pub default_dialect: Dialect,
}

impl SchemaOptions {
    /// With `format` as an assertion.
    #[must_use]
    pub const fn asserting_formats(mut self, yes: bool) -> Self {
        self.assert_formats = yes;
        self
    }

    /// With another dialect for schemas that name none.
    #[must_use]
    pub const fn with_default_dialect(mut self, dialect: Dialect) -> Self {
        self.default_dialect = dialect;
        self
    }
}

/// What admission found out about a schema that it let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// The dialect of the root.
    pub dialect: Dialect,
    /// Subschemas, the root included.
    pub subschemas: usize,
    /// The most schema applications that one value can meet.
    pub expansion: usize,
    /// A recursion that meets itself more than once at the same value: the compiled check remembers what it
    /// has seen, but explaining a deep failure could take exponential time and is cut short.
    pub multiplies: bool,
}

/// Judges `schema` without compiling it.
///
/// # Errors
/// A [`SchemaError`] that names the place and the rule or limit.
pub fn admit(schema: &Value, options: &SchemaOptions) -> Result<Admission, SchemaError> {
    admit::admit(schema, options)
}

/// An admitted, compiled schema.
pub struct Schema {
    admission: Admission,
    shortcut: Option<Shortcut>,
    validator: Validator<Tape>,
    /// No other schema of this process has it.
    identity: u64,
}

/// Schemas that were compiled.
static COMPILED: AtomicU64 = AtomicU64::new(0);

impl Schema {
    /// Admits and compiles the schema at `node`.
    ///
    /// # Errors
    /// A [`SchemaError`] that names the place and the rule or limit.
    pub fn compile(node: Node<'_>, options: &SchemaOptions) -> Result<Self, SchemaError> {
        if node.raw().len() > limits::SCHEMA_BYTES_MAX {
            return Err(SchemaLimit::Bytes.exceeded(node.raw().len()));
        }
        let value = node.to_value();
        let admission = admit::admit(&value, options)?;
        let validator = compile(&value, admission.dialect, options)?;
        let shortcut = Shortcut::of(&value, options.assert_formats);
        let identity = COMPILED.fetch_add(1, Ordering::Relaxed);
        Ok(Self { admission, shortcut, validator, identity })
    }

    /// A value of this schema that is expected in a text where `path` leads. `None` if reading cannot make use of that.
    #[must_use]
    pub fn expect<'s>(&'s self, path: &'s [&'s str; 2]) -> Option<Expected<'s>> {
        self.shortcut.is_some().then(|| Expected::new(path, self))
    }

    /// What admission found out.
    #[must_use]
    pub const fn admission(&self) -> Admission {
        self.admission
    }

    /// `true` if `instance` keeps the schema.
    #[must_use]
    pub fn accepts(&self, instance: Node<'_>) -> bool {
        if instance.is_recognised_by(self.identity) {
            return true;
        }
        let instance = instance.unfolded();
        self.shortcut.as_ref().is_some_and(|shortcut| shortcut.accepts(instance))
            || self.validator.is_valid(instance)
    }

    /// Checks `instance`. `schema` is the node this was compiled from; it is read only to explain a failure.
    ///
    /// # Errors
    /// What `instance` violates, at most [`limits::VIOLATIONS_MAX`] of it.
    pub fn check(&self, schema: Node<'_>, instance: Node<'_>) -> Result<(), Violations> {
        if self.accepts(instance) { Ok(()) } else { Err(self.explain(schema, instance)) }
    }

    #[cold]
    fn explain(&self, schema: Node<'_>, instance: Node<'_>) -> Violations {
        let instance = instance.unfolded();
        if self.admission.multiplies && instance.depth() > limits::VIOLATION_EXPLAIN_DEPTH_MAX {
            return Violations::unexplained(instance);
        }
        let mut errors = self.validator.iter_errors(instance);
        let list: Vec<_> = errors
            .by_ref()
            .take(limits::VIOLATIONS_MAX)
            .map(|error| Violation::new(&error, schema, instance))
            .collect();
        let more = errors.next().is_some();
        if list.is_empty() { Violations::unexplained(instance) } else { Violations::new(list, more) }
    }
}

impl Recognise for Schema {
    fn identity(&self) -> u64 {
        self.identity
    }

    fn depth(&self) -> usize {
        self.shortcut.as_ref().map_or(usize::MAX, Shortcut::depth)
    }

    fn recognise(&self, source: &str, at: usize) -> Option<Recognised> {
        self.shortcut.as_ref()?.recognise(source, at)
    }
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema").field("admission", &self.admission).finish_non_exhaustive()
    }
}

fn compile(
    schema: &Value,
    dialect: Dialect,
    options: &SchemaOptions,
) -> Result<Validator<Tape>, SchemaError> {
    let patterns = PatternOptions::regex()
        .size_limit(limits::SCHEMA_PATTERN_COMPILED_BYTES_MAX)
        .dfa_size_limit(limits::SCHEMA_PATTERN_COMPILED_BYTES_MAX);
    jsonschema::options_for::<Tape>()
        .with_draft(dialect.draft())
        .offline()
        .with_pattern_options(patterns)
        .should_validate_formats(options.assert_formats)
        .build(&readable(schema, dialect))
        .map_err(|error| SchemaError::from_build(&error, schema))
}

/// The spelling of `$schema` that the validator knows: it is compared there to the letter.
fn readable(schema: &Value, dialect: Dialect) -> Cow<'_, Value> {
    match schema.get("$schema").and_then(Value::as_str) {
        Some(given) if given != dialect.uri() => {
            let mut spelled = schema.clone();
            if let Some(member) = spelled.get_mut("$schema") {
                *member = dialect.uri().into();
            }
            Cow::Owned(spelled)
        }
        _ => Cow::Borrowed(schema),
    }
}

#[cfg(test)]
mod tests;
