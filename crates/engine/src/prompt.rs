//! Prompts: message templates that a user can choose, with arguments.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use toolcrib_contract::json::{Node, ObjectWriter, write_string};

use crate::content::Content;
use crate::context::Context;
use crate::forwarded::Forwarded;
use crate::tool::{BoxFuture, ToolError};

/// Arguments of a prompt, by name.
pub type PromptArguments = BTreeMap<String, String>;

/// Handler that makes a prompt's messages.
pub trait Prompter: Send + Sync {
    fn get<'a>(
        &'a self,
        arguments: PromptArguments,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<PromptResult, ToolError>>;

    /// Relays the request to another server: the client's parameters go out and a whole result comes back. `None` if
    /// `get` answers.
    fn relay<'a>(
        &'a self,
        _params: Node<'a>,
        _context: &'a Context,
    ) -> Option<BoxFuture<'a, Result<Forwarded, ToolError>>> {
        None
    }
}

impl fmt::Debug for dyn Prompter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prompter")
    }
}

/// Speaker of a prompt's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
}

impl Role {
    const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// Messages of a prompt.
#[derive(Debug, Clone, Default)]
pub struct PromptResult {
    pub(crate) description: Option<String>,
    pub(crate) messages: Vec<(Role, Content)>,
}

impl PromptResult {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn describe(mut self, description: &str) -> Self {
        self.description = Some(description.into());
        self
    }

    #[must_use]
    pub fn say(mut self, role: Role, content: impl Into<Content>) -> Self {
        self.messages.push((role, content.into()));
        self
    }

    /// Appends the members of the result, without braces.
    pub(crate) fn write(&self, out: &mut Vec<u8>, revision: toolcrib_protocol::Revision) {
        if let Some(description) = &self.description {
            out.extend_from_slice(b"\"description\":");
            toolcrib_protocol::write::string(out, description);
            out.push(b',');
        }
        out.extend_from_slice(b"\"messages\":[");
        for (index, (role, content)) in self.messages.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(b"{\"role\":\"");
            out.extend_from_slice(role.as_str().as_bytes());
            out.extend_from_slice(b"\",\"content\":");
            content.write(out, revision);
            out.push(b'}');
        }
        out.push(b']');
    }
}

/// Argument of a prompt.
#[derive(Debug, Clone)]
pub struct PromptArgument {
    pub name: String,
    pub description: Option<String>,
    pub required: bool,
}

impl PromptArgument {
    #[must_use]
    pub fn required(name: &str, description: &str) -> Self {
        Self { name: name.into(), description: Some(description.into()), required: true }
    }

    #[must_use]
    pub fn optional(name: &str, description: &str) -> Self {
        Self { name: name.into(), description: Some(description.into()), required: false }
    }
}

/// Prompt with its definition and handler.
#[derive(Debug, Clone)]
pub struct Prompt {
    pub(crate) name: Arc<str>,
    pub(crate) arguments: Vec<PromptArgument>,
    pub(crate) definition: Arc<str>,
    pub(crate) prompter: Arc<dyn Prompter>,
}

impl Prompt {
    #[must_use]
    pub fn new(
        name: &str,
        title: Option<&str>,
        description: &str,
        arguments: Vec<PromptArgument>,
        prompter: Arc<dyn Prompter>,
    ) -> Self {
        let mut object = ObjectWriter::new();
        object.string("name", name);
        if let Some(title) = title {
            object.string("title", title);
        }
        object.string("description", description);
        let listed: Vec<String> = arguments.iter().map(argument_json).collect();
        object.raw("arguments", &format!("[{}]", listed.join(",")));
        Self { name: name.into(), arguments, definition: object.finish().into(), prompter }
    }
}

impl Prompt {
    /// Creates a prompt from a whole definition as JSON; its handler validates the arguments.
    #[must_use]
    pub fn raw(name: &str, definition: &str, prompter: Arc<dyn Prompter>) -> Self {
        Self { name: name.into(), arguments: Vec::new(), definition: definition.into(), prompter }
    }
}

fn argument_json(argument: &PromptArgument) -> String {
    let mut name = String::new();
    write_string(&mut name, &argument.name);
    let mut object = ObjectWriter::new();
    object.raw("name", &name);
    if let Some(description) = &argument.description {
        object.string("description", description);
    }
    object.raw("required", if argument.required { "true" } else { "false" });
    object.finish()
}
