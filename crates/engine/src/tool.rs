//! What stands behind a contract: a Rust handler, or a call to somebody else's server.

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

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A tool that can be called. The engine has checked the arguments before and checks the answer after.
pub trait Tool: Send + Sync {
    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<Answer, ToolError>>;
}

impl fmt::Debug for dyn Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tool")
    }
}

/// One call as a tool sees it.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'a> {
    /// The name it was called by.
    pub name: &'a str,
    /// What arguments and answer are checked against.
    pub contract: &'a Contract,
    /// Arguments that keep the contract; `raw()` is the client's own text.
    pub arguments: Node<'a>,
    /// Everything the client sent with the call, for tools that hand on what they do not know.
    pub params: Option<Node<'a>>,
    pub context: &'a Context,
}

/// Arguments of a call: the client's own text, or a text made from it where a stage took something out.
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

/// How a tool can fail. Any `std::error::Error` becomes a failure that the model can read.
#[derive(Debug)]
pub enum ToolError {
    /// An `isError` result with this text.
    Failed(Cow<'static, str>),
    /// A JSON-RPC error, for what is not the tool's failure.
    Protocol(Box<RpcError>),
    /// The tool needs answers first.
    InputRequired(Box<InputRequired>),
    /// The client cannot be asked what the tool needs to ask.
    MissingCapability(Capability),
    /// What was to be read does not exist.
    NotFound,
    /// The call was passed on, and nobody knows what became of it: an `isError` result with this text, and *unknown* in
    /// the journal.
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
