//! Schemas: which dialect, whether they are admitted, and the compiled check (R1.5 to R1.7).
//!
//! Guarantees: a schema that was admitted never causes a network or file read, has only references that
//! resolve inside it (or to a published meta-schema), only regular expressions that run in linear time, and
//! costs a bounded number of steps per value. It is compiled once; equal schemas share one compiled check.

mod admit;
mod automaton;
mod cache;
mod dialect;
mod error;
mod expansion;
mod explain;
mod graph;
mod pattern;
mod reference;
mod room;
mod shortcut;
mod weight;

use std::borrow::Cow;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use cache::Counted;
pub use cache::SchemaCache;
pub use dialect::Dialect;
pub use error::{PatternFault, SchemaError, SchemaLimit};
pub use room::SchemaRoom;
use shortcut::Shortcut;
pub use weight::Weight;

use crate::digest::Digest;
use crate::json::meter::{self, Budget, Exhausted};
use crate::json::{Node, Tape};
use crate::limits;
use crate::violation::{Ended, Violations};

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
    /// Regular expressions, repeated ones included.
    pub patterns: usize,
    /// The most schema applications that one value can meet.
    pub expansion: usize,
    /// The most subschemas that are applied in place to one value, references followed.
    pub in_place: usize,
    /// Estimated memory of the compiled check.
    pub weight: Weight,
    /// The most states that matching a regular expression may have to follow one by one; 0 if one suffices.
    pub pattern_states: usize,
    /// The most regular expressions that the name of one member is matched against by one `patternProperties`.
    pub name_patterns: usize,
}

/// Steps that matching a short text against a regular expression costs, measured.
const MATCH_STEPS: u64 = 8;

impl Admission {
    /// Steps of the budget of a check that one member or element costs: subschemas that look at nothing cost time too.
    const fn child_steps(&self) -> u64 {
        1 + (self.in_place as u64 >> 3)
    }

    /// Steps of the budget of a check that handing out a text costs, besides those of its length.
    const fn text_steps(&self) -> u64 {
        if self.patterns > 0 { MATCH_STEPS } else { 1 }
    }
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
    options: SchemaOptions,
    /// Of the canonical form, where it has one.
    digest: Option<Digest>,
    /// Gives the weight back when the schema is dropped.
    _counted: Option<Counted>,
}

impl Schema {
    /// Admits and compiles the schema at `node`.
    ///
    /// # Errors
    /// A [`SchemaError`] that names the place and the rule or limit.
    pub fn compile(node: Node<'_>, options: &SchemaOptions) -> Result<Self, SchemaError> {
        Draft::admit(node, options)?.compile(options)
    }

    /// Estimated memory of the compiled check.
    #[must_use]
    pub const fn weight(&self) -> Weight {
        self.admission.weight
    }

    /// What admission found out.
    #[must_use]
    pub const fn admission(&self) -> Admission {
        self.admission
    }

    /// `true` if `instance` keeps the schema and can be checked within its limits.
    #[must_use]
    pub fn accepts(&self, instance: Node<'_>) -> bool {
        self.judge(instance, Effort::Full) == Ok(true)
    }

    /// Whether `instance` keeps the schema.
    ///
    /// # Errors
    /// The limit that was reached before that was known.
    fn judge(&self, instance: Node<'_>, effort: Effort) -> Result<bool, Exhausted> {
        if self.shortcut.as_ref().is_some_and(|shortcut| shortcut.accepts(instance)) {
            return Ok(true);
        }
        let budget = Budget {
            steps: effort.check_steps(instance),
            child_steps: self.admission.child_steps(),
            pattern_states: self.admission.pattern_states as u64,
            text_steps: self.admission.text_steps(),
            name_steps: 1 + MATCH_STEPS * self.admission.name_patterns as u64,
        };
        meter::within(budget, || self.validator.is_valid(instance))
    }

    /// Checks `instance`. `schema` is the node this was compiled from; it is read only to explain a failure.
    ///
    /// # Errors
    /// What `instance` violates, at most [`limits::VIOLATIONS_MAX`] of it, or the limit that ended the check.
    pub fn check(&self, schema: Node<'_>, instance: Node<'_>) -> Result<(), Violations> {
        self.check_with(|| schema, instance, Effort::Full)
    }

    /// As [`Schema::check`], with the schema looked up only to explain a failure.
    pub(crate) fn check_with<'s>(
        &self,
        schema: impl FnOnce() -> Node<'s>,
        instance: Node<'_>,
        effort: Effort,
    ) -> Result<(), Violations> {
        match self.judge(instance, effort) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.explain(schema(), instance, effort)),
            Err(Exhausted::Steps) => Err(Violations::unchecked(instance, Ended::CheckSteps)),
            Err(Exhausted::Stack) => Err(Violations::unchecked(instance, Ended::CheckStack)),
            Err(Exhausted::Pattern) => Err(Violations::unchecked(instance, Ended::CheckPattern)),
        }
    }

    fn explain(&self, schema: Node<'_>, instance: Node<'_>, effort: Effort) -> Violations {
        explain::explain(schema, instance, &self.options, self.admission.pattern_states, effort)
    }
}

impl Schema {
    /// Whether the walk that explains violations accepts `instance`; `None` where it cannot know. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn accepts_by_explanation(&self, schema: Node<'_>, instance: Node<'_>) -> Option<bool> {
        explain::accepts(schema, instance, &self.options)
    }
}

/// How much work a check may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// As much as may be done between two turns of a thread that serves others.
    Brief,
    /// As much as a check may cost at all.
    Full,
}

impl Effort {
    fn check_steps(self, instance: Node<'_>) -> u64 {
        match self {
            Self::Brief => limits::CHECK_BRIEF_STEPS_MAX,
            Self::Full => in_proportion(limits::CHECK_STEPS_MAX, instance),
        }
    }

    fn explanation_steps(self, instance: Node<'_>) -> u64 {
        match self {
            Self::Brief => limits::VIOLATION_BRIEF_STEPS_MAX,
            Self::Full => in_proportion(limits::VIOLATION_STEPS_MAX, instance),
        }
    }
}

/// `steps` for a value of up to 1 MiB, more in proportion for a larger one.
fn in_proportion(steps: u64, instance: Node<'_>) -> u64 {
    const PROPORTIONAL_BYTES: u64 = 1024 * 1024;
    let bytes = (instance.raw_len() as u64).max(PROPORTIONAL_BYTES);
    steps.saturating_mul(bytes) / PROPORTIONAL_BYTES
}

/// A schema that was admitted and is not compiled yet.
struct Draft {
    value: Value,
    admission: Admission,
}

impl Draft {
    fn admit(node: Node<'_>, options: &SchemaOptions) -> Result<Self, SchemaError> {
        if node.raw().len() > limits::SCHEMA_BYTES_MAX {
            return Err(SchemaLimit::Bytes.exceeded(node.raw().len()));
        }
        let value = node.to_value();
        let admission = admit::admit(&value, options)?;
        Ok(Self { value, admission })
    }

    fn compile(self, options: &SchemaOptions) -> Result<Schema, SchemaError> {
        let Self { value, admission } = self;
        let validator = compile(&value, admission.dialect, admission.patterns, options)?;
        let shortcut = Shortcut::of(&value, options.assert_formats);
        let options = *options;
        Ok(Schema { admission, shortcut, validator, options, digest: None, _counted: None })
    }
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema").field("admission", &self.admission).finish_non_exhaustive()
    }
}

/// Compiles a schema of `patterns` regular expressions.
fn compile(
    schema: &Value,
    dialect: Dialect,
    patterns: usize,
    options: &SchemaOptions,
) -> Result<Validator<Tape>, SchemaError> {
    let pattern_options = PatternOptions::regex()
        .size_limit(limits::SCHEMA_PATTERN_COMPILED_BYTES_MAX)
        .dfa_size_limit(weight::cache_bytes(patterns));
    jsonschema::options_for::<Tape>()
        .with_draft(dialect.draft())
        .offline()
        .with_pattern_options(pattern_options)
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
