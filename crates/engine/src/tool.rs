//! [`Tool`]: the implementation behind a contract, a Rust handler or a call to another server.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use toolcrib_contract::Contract;
use toolcrib_contract::json::{Node, OwnedDocument};
use toolcrib_protocol::{Capability, RpcError};

use crate::answer::Answer;
use crate::ask::{AskError, InputRequired};
use crate::context::Context;

/// Boxed future, for traits with async methods.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Tool that can be called. The engine validates the arguments before the call and the answer after it.
pub trait Tool: Send + Sync {
    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<Answer, ToolError>>;
}

impl fmt::Debug for dyn Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tool")
    }
}

/// One call, as a tool sees it.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'a> {
    /// Name by which the tool was called.
    pub name: &'a str,
    /// Contract that arguments and answer are checked against.
    pub contract: &'a Contract,
    /// Validated arguments; `raw()` is the client's own text.
    pub arguments: Node<'a>,
    /// All parameters that the client sent, for tools that forward unknown members.
    pub params: Option<Node<'a>>,
    pub context: &'a Context,
}

/// Arguments of a call: the client's own text, or a text made from it after a stage removed a member.
#[derive(Debug, Clone)]
pub enum Arguments<'a> {
    Sent(Node<'a>),
    Rewritten(OwnedDocument),
}

impl Arguments<'_> {
    #[must_use]
    pub fn node(&self) -> Node<'_> {
        match self {
            Self::Sent(node) => *node,
            Self::Rewritten(document) => document.root(),
        }
    }
}

/// Failure of a tool. Any `std::error::Error` converts to [`ToolError::Failed`], whose text the model can read.
#[derive(Debug)]
pub enum ToolError {
    /// Becomes an `isError` result with this text.
    Failed(Cow<'static, str>),
    /// Becomes a JSON-RPC error, for failures that are not the tool's own.
    Protocol(Box<RpcError>),
    /// The tool needs answers of the client first.
    InputRequired(Box<InputRequired>),
    /// The client lacks the capability for a question that the tool needs to ask.
    MissingCapability(Capability),
    /// The requested resource does not exist.
    NotFound,
    /// The call was forwarded and its outcome is not known: becomes an `isError` result with this text, and *unknown*
    /// in the journal.
    Unknown(Cow<'static, str>),
}

impl ToolError {
    #[must_use]
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Failed(text.into())
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string().into())
    }
}

impl From<AskError> for ToolError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::InputRequired(required) => Self::InputRequired(required),
            AskError::NotDeclared(capability) => Self::MissingCapability(capability),
            other => Self::Failed(other.to_string().into()),
        }
    }
}
