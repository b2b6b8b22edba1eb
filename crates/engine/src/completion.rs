//! Completions: values that a client can offer while a person types an argument.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use toolcrib_contract::json::Node;

use crate::context::Context;
use crate::forwarded::Forwarded;
use crate::tool::{BoxFuture, ToolError};

/// Callback that suggests values for one argument of a prompt or resource template.
pub trait Completer: Send + Sync {
    /// `value` is the text typed so far, `given` the arguments filled in already.
    fn complete<'a>(
        &'a self,
        value: &'a str,
        given: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<Vec<String>, ToolError>>;

    /// Relays the request to another server: the client's parameters go out and a whole result comes back. `None` if
    /// `complete` answers.
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
