//! Why a question could not be asked at all. What could be asked but not answered is
//! [`crate::Verdict::Unknown`] with an [`crate::Obstacle`].

/// Which of the two schemas is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The schema whose values are given.
    Producer,
    /// The schema that has to accept them.
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

/// A document that is no usable schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{side} schema: {fault}")]
pub struct SchemaError {
    /// Whose schema it is.
    pub side: Side,
    /// What is wrong with it.
    pub fault: SchemaFault,
}

/// What is wrong with a document that is no usable schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFault {
    /// It violates its own meta-schema.
    #[error("not a schema: {message} at {path:?}")]
    NotASchema {
        /// The meta-schema's complaint.
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
    /// A reference leads out of the document; nothing is ever fetched.
    #[error("remote reference {uri:?} is not fetched")]
    RemoteReference {
        /// Where it leads.
        uri: String,
    },
    /// A reference leads nowhere.
    #[error("unresolvable reference {reference:?}")]
    UnresolvedReference {
        /// The reference as written.
        reference: String,
    },
    /// A `pattern` that is not a regular expression.
    #[error("invalid pattern {pattern:?}")]
    InvalidPattern {
        /// The pattern as written.
        pattern: String,
    },
}
