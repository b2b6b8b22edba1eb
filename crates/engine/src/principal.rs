//! Who is calling, as far as a credential proves it.

use std::fmt;
use std::sync::Arc;

/// The authenticated subject of a request. Never taken from what a client says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Principal {
    /// Nobody was asked to authenticate.
    #[default]
    Anonymous,
    /// The process that started this one over stdio.
    Local,
    /// A credential's subject.
    Subject(Arc<str>),
}

impl Principal {
    #[must_use]
    pub fn subject(name: &str) -> Self {
        Self::Subject(name.into())
    }

    /// A text that no two different principals share; goes into sealed state.
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
