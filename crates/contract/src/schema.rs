//! Schemas: dialect, admission, and the compiled check (R1.5 dialects and references, R1.6 limits, R1.7 one
//! compilation).
//!
//! Guarantees: an admitted schema never causes a network or file read; its references resolve inside it or to a
//! published meta-schema; its regular expressions run in linear time; checking a value costs a bounded number of
//! steps. A schema is compiled once, and equal schemas share one compiled check.

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

/// Options for reading schemas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SchemaOptions {
    /// `true` if `format` is asserted; otherwise it is an annotation in every dialect.
    pub assert_formats: bool,
    /// The dialect of schemas without `$schema`; by default 2020-12.
    pub default_dialect: Dialect,
}

impl SchemaOptions {
    /// Sets whether `format` is an assertion.
    #[must_use]
    pub const fn asserting_formats(mut self, yes: bool) -> Self {
        self.assert_formats = yes;
        self
    }

    /// Sets the dialect of schemas that name none.
    #[must_use]
    pub const fn with_default_dialect(mut self, dialect: Dialect) -> Self {
        self.default_dialect = dialect;
        self
    }
}

/// Properties of a schema that was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// The dialect of the root.
    pub dialect: Dialect,
    /// Number of subschemas, including the root.
    pub subschemas: usize,
    /// Number of regular expressions, counting repeated ones.
    pub patterns: usize,
    /// Maximum schema applications that one value can meet.
    pub expansion: usize,
    /// Maximum subschemas that are applied in place to one value, following references.
    pub in_place: usize,
    /// Estimated memory of the compiled check.
    pub weight: Weight,
    /// Maximum states that matching a regular expression may follow one by one; 0 if the DFA suffices.
    pub pattern_states: usize,
    /// Maximum regular expressions that one `patternProperties` matches against each member name.
    pub name_patterns: usize,
}

/// Steps charged for matching a short text against a regular expression; measured.
const MATCH_STEPS: u64 = 8;

impl Admission {
    /// Returns the check steps of one member or element: subschemas cost time even if they read nothing.
    const fn child_steps(&self) -> u64 {
        1 + (self.in_place as u64 >> 3)
    }

    /// Returns the check steps of handing out a string, besides those for its length.
    const fn text_steps(&self) -> u64 {
        if self.patterns > 0 { MATCH_STEPS } else { 1 }
    }
}

/// Admits `schema` without compiling it.
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
    /// Digest of the canonical form, if there is one.
    digest: Option<Digest>,
    /// Subtracts the weight from the count when the schema is dropped.
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

    /// The result of admission.
    #[must_use]
    pub const fn admission(&self) -> Admission {
        self.admission
    }

    /// `true` if `instance` conforms to the schema and can be checked within the limits.
    #[must_use]
    pub fn accepts(&self, instance: Node<'_>) -> bool {
        self.judge(instance, Effort::Full) == Ok(true)
    }

    /// Returns `true` if `instance` conforms to the schema.
    ///
    /// # Errors
    /// The limit that ended the check without a verdict.
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

    /// Checks `instance`. `schema` is the node this was compiled from; it is read only to explain a refusal.
    ///
    /// # Errors
    /// The violations of `instance`, at most [`limits::VIOLATIONS_MAX`], or the limit that ended the check.
    pub fn check(&self, schema: Node<'_>, instance: Node<'_>) -> Result<(), Violations> {
        self.check_with(|| schema, instance, Effort::Full)
    }

    /// Checks `instance` as [`Schema::check`] does; `schema` is called only to explain a refusal.
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
    /// Verdict of the walk that explains violations; `None` if it cannot know. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn accepts_by_explanation(&self, schema: Node<'_>, instance: Node<'_>) -> Option<bool> {
        explain::accepts(schema, instance, &self.options)
    }
}

/// Budget class of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Budget of a check on a serving thread, which must return to its other connections.
    Brief,
    /// The full budget of a check.
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

/// Scales `steps`, which are for a value of up to 1 MiB, in proportion for a larger one.
fn in_proportion(steps: u64, instance: Node<'_>) -> u64 {
    const PROPORTIONAL_BYTES: u64 = 1024 * 1024;
    let bytes = (instance.raw_len() as u64).max(PROPORTIONAL_BYTES);
    steps.saturating_mul(bytes) / PROPORTIONAL_BYTES
}

/// A schema that is admitted but not yet compiled.
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

/// Compiles a schema that has `patterns` regular expressions.
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

/// Spells `$schema` as the validator expects it: the validator compares the URI literally.
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
