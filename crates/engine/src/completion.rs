//! Completions: values a client can offer while a person fills in an argument.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use toolcrib_contract::json::Node;

use crate::context::Context;
use crate::forwarded::Forwarded;
use crate::tool::{BoxFuture, ToolError};

/// Suggests values for one argument of a prompt or resource template.
pub trait Completer: Send + Sync {
    /// `value` is what was typed so far, `given` the arguments filled in already.
    fn complete<'a>(
        &'a self,
        value: &'a str,
        given: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<Vec<String>, ToolError>>;

    /// Somebody else answers: the client's parameters go out and a whole result comes back. `None`: answered here.
    fn relay<'a>(
        &'a self,
        _params: Node<'a>,
        _context: &'a Context,
    ) -> Option<BoxFuture<'a, Result<Forwarded, ToolError>>> {
        None
    }
}

impl fmt::Debug for dyn Completer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Completer")
    }
}

/// Prompt or template whose argument or variable is completed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reference {
    Prompt(Arc<str>),
    Template(Arc<str>),
}
