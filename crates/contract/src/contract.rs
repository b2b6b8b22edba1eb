//! Contract of one tool: definition, digests, compiled checks and the effect that its hints claim.

use std::sync::Arc;

use crate::annotations::{Annotations, Effect};
use crate::canonical::CanonicalError;
use crate::definition::Definition;
use crate::digest::{Digest, Digests};
use crate::json::{Node, Pointer};
use crate::name::{NameError, ToolName};
use crate::schema::{Effort, Schema, SchemaCache, SchemaError, SchemaOptions, SchemaRoom};
use crate::violation::Violations;

/// A definition that may be served, immutable. Clones share the compiled schemas.
#[derive(Debug, Clone)]
pub struct Contract {
    name: ToolName,
    definition: Definition,
    digests: Digests,
    annotations: Annotations,
    input: Arc<Schema>,
    output: Option<Arc<Schema>>,
}

/// Reason why a definition may not be served; returned at registration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContractError {
    /// The tool name is invalid.
    #[error("/name: {0}")]
    Name(#[from] NameError),
    /// The definition has no input schema.
    #[error("/inputSchema: a tool that is served has an input schema")]
    NoInputSchema,
    /// The input schema lacks `"type": "object"` at its root; arguments are always an object.
    #[error("/inputSchema/type: the input schema has \"type\": \"object\" at its root")]
    InputNotObject,
    /// The input schema was refused.
    #[error("invalid input schema: {0}")]
    Input(SchemaError),
    /// The output schema was refused.
    #[error("invalid output schema: {0}")]
    Output(SchemaError),
    /// The definition has no canonical form, so it has no digest.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

impl Contract {
    /// Compiles the contract of `definition`, sharing compiled schemas through `cache`.
    ///
    /// # Errors
    /// A [`ContractError`] that names the place and the rule or limit.
    pub fn compile(
        definition: Definition,
        options: &SchemaOptions,
        cache: &SchemaCache,
    ) -> Result<Self, ContractError> {
        Self::compile_in(definition, options, cache, None)
    }

    /// Compiles the contract of `definition` if its compiled schemas fit into `room`.
    ///
    /// # Errors
    /// A [`ContractError`] that names the place and the rule or limit; `room` is then unchanged.
    pub fn compile_within(
        definition: Definition,
        options: &SchemaOptions,
        cache: &SchemaCache,
        room: &mut SchemaRoom,
    ) -> Result<Self, ContractError> {
        let compiled = Self::compile_in(definition, options, cache, Some(room));
        room.settle(compiled.is_ok());
        compiled
    }

    fn compile_in(
        definition: Definition,
        options: &SchemaOptions,
        cache: &SchemaCache,
        mut room: Option<&mut SchemaRoom>,
    ) -> Result<Self, ContractError> {
        let name = ToolName::new(definition.name())?;
        let input = definition.input_schema().ok_or(ContractError::NoInputSchema)?;
        let mut compile =
            |node, member, wrap| compile(node, options, cache, room.as_deref_mut(), member, wrap);
        let input_schema = compile(input, "inputSchema", ContractError::Input)?;
        if !input.get("type").is_some_and(|t| t.is_text("object")) {
            return Err(ContractError::InputNotObject);
        }
        let output = definition
            .output_schema()
            .map(|output| compile(output, "outputSchema", ContractError::Output))
            .transpose()?;
        Ok(Self {
            name,
            digests: Digests::of(&definition)?,
            annotations: definition.annotations(),
            input: input_schema,
            output,
            definition,
        })
    }

    /// The tool name.
    #[must_use]
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// The definition as it was registered.
    #[must_use]
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Digest of the whole definition.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digests.definition
    }

    /// Digests of the whole definition, of its prose, and of everything except its prose.
    #[must_use]
    pub fn digests(&self) -> &Digests {
        &self.digests
    }

    /// The definition's own annotations.
    #[must_use]
    pub fn annotations(&self) -> &Annotations {
        &self.annotations
    }

    /// Effect that the definition's own hints claim. Policy reads [`Effect::effective`] instead.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.annotations.effect()
    }

    /// The compiled input schema.
    #[must_use]
    pub fn input(&self) -> &Arc<Schema> {
        &self.input
    }

    /// The compiled output schema, if the definition has one.
    #[must_use]
    pub fn output(&self) -> Option<&Arc<Schema>> {
        self.output.as_ref()
    }

    /// Checks the arguments of a call.
    ///
    /// # Errors
    /// Violations of the arguments, or the limit that ended the check.
    pub fn check_input(&self, arguments: Node<'_>) -> Result<(), Violations> {
        self.check_input_with(arguments, Effort::Full)
    }

    /// Checks the arguments of a call on a serving thread, in at most about two milliseconds. If that does not
    /// suffice, the returned violations are [`Violations::is_unfinished`] and say nothing about the arguments.
    ///
    /// # Errors
    /// Violations of the arguments, or the limit that ended the check.
    #[inline]
    pub fn check_input_briefly(&self, arguments: Node<'_>) -> Result<(), Violations> {
        self.check_input_with(arguments, Effort::Brief)
    }

    fn check_input_with(&self, arguments: Node<'_>, effort: Effort) -> Result<(), Violations> {
        let schema = || self.definition.input_schema().unwrap_or(arguments);
        self.input.check_with(schema, arguments, effort)
    }

    /// Checks the structured content of a result. A contract without an output schema accepts everything.
    ///
    /// # Errors
    /// Violations of the content, or the limit that ended the check.
    pub fn check_output(&self, content: Node<'_>) -> Result<(), Violations> {
        self.check_output_with(content, Effort::Full)
    }

    /// Checks structured content on a serving thread, with the budget of [`Contract::check_input_briefly`].
    ///
    /// # Errors
    /// Violations of the content, or the limit that ended the check.
    #[inline]
    pub fn check_output_briefly(&self, content: Node<'_>) -> Result<(), Violations> {
        self.check_output_with(content, Effort::Brief)
    }

    fn check_output_with(&self, content: Node<'_>, effort: Effort) -> Result<(), Violations> {
        let Some(output) = &self.output else { return Ok(()) };
        let schema = || self.definition.output_schema().unwrap_or(content);
        output.check_with(schema, content, effort)
    }
}

fn compile(
    node: Node<'_>,
    options: &SchemaOptions,
    cache: &SchemaCache,
    room: Option<&mut SchemaRoom>,
    member: &str,
    wrap: fn(SchemaError) -> ContractError,
) -> Result<Arc<Schema>, ContractError> {
    let place = Pointer::root().join(member);
    // Without a digest the schema is not shared, but an error of the schema itself is reported first.
    cache.compile_in(node, Digest::of(node).ok(), options, room).map_err(|error| wrap(error.within(&place)))
}

#[cfg(test)]
mod tests;
