//! [`Principal`]: the caller's identity as proven by a credential.

use std::fmt;
use std::sync::Arc;

/// Authenticated subject of a request. Never taken from what a client says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Principal {
    /// No authentication was required.
    #[default]
    Anonymous,
    /// The process that started this one over stdio.
    Local,
    /// Subject of a credential.
    Subject(Arc<str>),
}

impl Principal {
    #[must_use]
    pub fn subject(name: &str) -> Self {
        Self::Subject(name.into())
    }

    /// Returns a text that is different for different principals; used in sealed state.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Anonymous => "anonymous".into(),
            Self::Local => "local".into(),
            Self::Subject(name) => format!("subject:{name}"),
        }
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("anonymous"),
            Self::Local => f.write_str("local"),
            Self::Subject(name) => f.write_str(name),
        }
    }
}
