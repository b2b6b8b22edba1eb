//! Errors of schema admission and compilation, each with the rule or limit and the place.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::json::Pointer;
use crate::limits;

/// Reason why a schema was refused at registration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is neither an object nor a boolean.
    #[error("{pointer}: a schema is an object or a boolean, this is {found}")]
    NotASchema { pointer: Pointer, found: &'static str },
    /// `$schema` names an unknown dialect.
    #[error("{pointer}: unknown dialect {uri:?} (known: draft-04, draft-06, draft-07, 2019-09, 2020-12)")]
    UnknownDialect { pointer: Pointer, uri: String },
    /// The schema violates its meta-schema.
    #[error("{pointer}: not a valid schema: {reason}")]
    Invalid { pointer: Pointer, reason: String },
    /// A reference has no target inside the schema. Nothing outside it is ever read.
    #[error("{pointer}: {reference:?} resolves to nothing in this schema, and nothing outside it is read")]
    UnresolvableRef { pointer: Pointer, reference: String },
    /// References form a cycle that applies to the same value forever.
    #[error("{pointer}: this reference leads back to itself")]
    ReferenceLoop { pointer: Pointer },
    /// A pattern is not a regular expression, or cannot run in linear time.
    #[error("{pointer}: the pattern {pattern:?} {fault}")]
    Pattern { pointer: Pointer, pattern: String, fault: PatternFault },
    /// A limit of admission is exceeded.
    #[error("{pointer}: {limit}: {found} is over the limit of {}", .limit.max())]
    Limit { pointer: Pointer, limit: SchemaLimit, found: usize },
}

/// Reason why a regular expression was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternFault {
    /// Look-around: `(?=`, `(?!`, `(?<=`, `(?<!`
    #[error("looks around, which cannot run in linear time")]
    Lookaround,
    /// Back-reference: `\1`, `\k<name>`
    #[error("refers back to a group, which cannot run in linear time")]
    Backreference,
    /// Not a regular expression.
    #[error("is no regular expression")]
    Malformed,
}

/// Limits of admission, with the names of LIMITS.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SchemaLimit {
    /// Bytes of the schema.
    Bytes,
    /// Nesting depth of subschemas.
    Depth,
    /// Subschemas.
    Subschemas,
    /// Schema applications that one value can meet.
    Expansion,
    /// Regular expressions.
    Patterns,
    /// Bytes of a regular expression.
    PatternBytes,
    /// Bytes of a compiled regular expression.
    PatternCompiledBytes,
    /// Estimated bytes of all compiled regular expressions of the schema.
    PatternsCompiledBytes,
    /// Estimated bytes of the compiled schemas of one server.
    ServerBytes,
    /// Estimated bytes of all compiled schemas of the process.
    TotalBytes,
}

impl SchemaLimit {
    /// Name of the constant in LIMITS.md.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "SCHEMA_BYTES_MAX",
            Self::Depth => "SCHEMA_DEPTH_MAX",
            Self::Subschemas => "SCHEMA_SUBSCHEMAS_MAX",
            Self::Expansion => "SCHEMA_EXPANSION_MAX",
            Self::Patterns => "SCHEMA_PATTERNS_MAX",
            Self::PatternBytes => "SCHEMA_PATTERN_BYTES_MAX",
            Self::PatternCompiledBytes => "SCHEMA_PATTERN_COMPILED_BYTES_MAX",
            Self::PatternsCompiledBytes => "SCHEMA_PATTERNS_COMPILED_BYTES_MAX",
            Self::ServerBytes => "SERVER_SCHEMAS_BYTES_MAX",
            Self::TotalBytes => "SCHEMAS_BYTES_MAX",
        }
    }

    /// Value of the limit.
    #[must_use]
    pub const fn max(self) -> usize {
        match self {
            Self::Bytes => limits::SCHEMA_BYTES_MAX,
            Self::Depth => limits::SCHEMA_DEPTH_MAX,
            Self::Subschemas => limits::SCHEMA_SUBSCHEMAS_MAX,
            Self::Expansion => limits::SCHEMA_EXPANSION_MAX,
            Self::Patterns => limits::SCHEMA_PATTERNS_MAX,
            Self::PatternBytes => limits::SCHEMA_PATTERN_BYTES_MAX,
            Self::PatternCompiledBytes => limits::SCHEMA_PATTERN_COMPILED_BYTES_MAX,
            Self::PatternsCompiledBytes => limits::SCHEMA_PATTERNS_COMPILED_BYTES_MAX,
            Self::ServerBytes => limits::SERVER_SCHEMAS_BYTES_MAX,
            Self::TotalBytes => limits::SCHEMAS_BYTES_MAX,
        }
    }

    pub(super) fn exceeded(self, found: usize) -> SchemaError {
        self.exceeded_at(Pointer::root(), found)
    }

    pub(super) fn exceeded_at(self, pointer: Pointer, found: usize) -> SchemaError {
        SchemaError::Limit { pointer, limit: self, found }
    }
}

impl std::fmt::Display for SchemaLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl SchemaError {
    /// Place in the schema.
    #[must_use]
    pub fn pointer(&self) -> &Pointer {
        match self {
            Self::NotASchema { pointer, .. }
            | Self::UnknownDialect { pointer, .. }
            | Self::Invalid { pointer, .. }
            | Self::UnresolvableRef { pointer, .. }
            | Self::ReferenceLoop { pointer }
            | Self::Pattern { pointer, .. }
            | Self::Limit { pointer, .. } => pointer,
        }
    }

    /// The message without its place.
    #[must_use]
    pub fn reason(&self) -> String {
        let text = self.to_string();
        text.strip_prefix(&format!("{}: ", self.pointer())).map_or_else(|| text.clone(), str::to_owned)
    }

    /// Prefixes the place with `base`, the pointer at which the schema stands in a larger text.
    #[must_use]
    pub fn within(mut self, base: &Pointer) -> Self {
        let (Self::NotASchema { pointer, .. }
        | Self::UnknownDialect { pointer, .. }
        | Self::Invalid { pointer, .. }
        | Self::UnresolvableRef { pointer, .. }
        | Self::ReferenceLoop { pointer }
        | Self::Pattern { pointer, .. }
        | Self::Limit { pointer, .. }) = &mut self;
        *pointer = Pointer::from_escaped(format!("{}{}", base.as_str(), pointer.as_str()));
        self
    }

    /// Converts the validator's error for an admitted schema that it refused to compile.
    pub(super) fn from_build(error: &ValidationError<'_>, schema: &Value) -> Self {
        let pointer = Pointer::from_escaped(error.instance_path().as_str());
        match error.kind() {
            ValidationErrorKind::Format { format } if format == "regex" => {
                let pattern = error.instance().as_str().unwrap_or_default().to_owned();
                // A pattern that parses but does not compile exceeds the size limit of its compiled form.
                match super::pattern::parses(&pattern) {
                    true => SchemaLimit::PatternCompiledBytes
                        .exceeded_at(pointer, limits::SCHEMA_PATTERN_COMPILED_BYTES_MAX + 1),
                    false => Self::Pattern { pointer, pattern, fault: PatternFault::Malformed },
                }
            }
            ValidationErrorKind::Referencing(cause) => {
                // The validator also resolves references that this dialect ignores, and does not report where they
                // are.
                match super::reference::standing_for(schema, cause) {
                    Some((pointer, reference)) => Self::UnresolvableRef { pointer, reference },
                    None => Self::Invalid { pointer, reason: error.to_string() },
                }
            }
            _ => Self::Invalid { pointer, reason: error.to_string() },
        }
    }
}
