//! The contract: a definition, its digests, its compiled checks, and what its hints mean.

use std::sync::Arc;

use crate::annotations::{Annotations, Effect};
use crate::canonical::CanonicalError;
use crate::definition::Definition;
use crate::digest::{Digest, Digests};
use crate::json::{Node, Pointer};
use crate::name::{NameError, ToolName};
use crate::schema::{Effort, Schema, SchemaCache, SchemaError, SchemaOptions, SchemaRoom};
use crate::violation::Violations;

/// A definition that may be served. Made once, never changed; clones share the compiled schemas.
#[derive(Debug, Clone)]
pub struct Contract {
    name: ToolName,
    definition: Definition,
    digests: Digests,
    annotations: Annotations,
    input: Arc<Schema>,
    output: Option<Arc<Schema>>,
}

/// Why a definition may not be served. The variants are the errors of registration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContractError {
    /// The name may not be served.
    #[error("/name: {0}")]
    Name(#[from] NameError),
    /// Served tools have an input schema.
    #[error("/inputSchema: a tool that is served has an input schema")]
    NoInputSchema,
    /// Arguments are an object, so the input schema has `"type": "object"` at its root.
    #[error("/inputSchema/type: the input schema has \"type\": \"object\" at its root")]
    InputNotObject,
    /// The input schema was refused.
    #[error("invalid input schema: {0}")]
    Input(SchemaError),
    /// The output schema was refused.
    #[error("invalid output schema: {0}")]
    Output(SchemaError),
    /// The definition has no digest.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

impl Contract {
    /// Makes the contract of `definition`, sharing compiled schemas through `cache`.
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

    /// Makes the contract of `definition` if its compiled schemas fit into `room`.
    ///
    /// # Errors
    /// A [`ContractError`] that names the place and the rule or limit; `room` is then as it was.
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

    /// The name.
    #[must_use]
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// The definition as it was given.
    #[must_use]
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The digest of the whole definition.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digests.definition
    }

    /// The digests of the whole, of the prose and of the rest.
    #[must_use]
    pub fn digests(&self) -> &Digests {
        &self.digests
    }

    /// What the definition says of itself.
    #[must_use]
    pub fn annotations(&self) -> &Annotations {
        &self.annotations
    }

    /// What its own hints mean. Policy reads [`Effect::effective`] instead.
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

    /// As [`Contract::check_input`], for a thread that serves others: at most about two milliseconds. Where that is not
    /// enough, the violations are [`Violations::is_unfinished`] and decide nothing.
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

    /// Checks the structured content of an answer. Without an output schema everything passes.
    ///
    /// # Errors
    /// Violations of the content, or the limit that ended the check.
    pub fn check_output(&self, content: Node<'_>) -> Result<(), Violations> {
        self.check_output_with(content, Effort::Full)
    }

    /// As [`Contract::check_output`], for a thread that serves others. See [`Contract::check_input_briefly`].
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
    // Without a digest nothing can be shared, but the schema's own faults are told first.
    cache.compile_in(node, Digest::of(node).ok(), options, room).map_err(|error| wrap(error.within(&place)))
}

#[cfg(test)]
mod tests;
