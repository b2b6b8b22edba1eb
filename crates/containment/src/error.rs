//! Errors of schemas that cannot be judged. A pair that can be judged but not decided is [`crate::Verdict::Unknown`]
//! with an [`crate::Obstacle`].

/// Side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The schema that describes the values that are sent.
    Producer,
    /// The schema that must accept them.
    Consumer,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Side::Producer => "producer",
            Side::Consumer => "consumer",
        })
    }
}

/// Error: one side is not a usable schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{side} schema: {fault}")]
pub struct SchemaError {
    /// The side with the fault.
    pub side: Side,
    /// The fault.
    pub fault: SchemaFault,
}

/// Reason why a document is not a usable schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFault {
    /// The document violates its meta-schema.
    #[error("not a schema: {message} at {path:?}")]
    NotASchema {
        /// Error message of the meta-schema's validator.
        message: String,
        /// JSON Pointer into the document.
        path: String,
    },
    /// `$schema` names a dialect that is not one of the five.
    #[error("unknown dialect {uri:?}")]
    UnknownDialect {
        /// The value of `$schema`.
        uri: String,
    },
    /// A reference leads out of the document; nothing is fetched.
    #[error("remote reference {uri:?} is not fetched")]
    RemoteReference {
        /// Target of the reference.
        uri: String,
    },
    /// A reference has no target.
    #[error("unresolvable reference {reference:?}")]
    UnresolvedReference {
        /// The reference as written.
        reference: String,
    },
    /// A `pattern` is not a regular expression.
    #[error("invalid pattern {pattern:?}")]
    InvalidPattern {
        /// The pattern as written.
        pattern: String,
    },
}
