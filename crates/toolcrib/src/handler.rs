//! Adapters from async functions to tools, readers, prompters and completers.

use std::collections::BTreeMap;
use std::future::Future;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use toolcrib_engine::completion::Completer;
use toolcrib_engine::prompt::{PromptArguments, PromptResult, Prompter};
use toolcrib_engine::resource::Reader;
use toolcrib_engine::{Answer, BoxFuture, Context, Invocation, ResourceContents, Tool, ToolError};

use crate::answer::IntoAnswer;

/// Tool from a function of arguments and context. Arguments are validated before they are deserialised.
pub(crate) struct Function<A, F> {
    function: F,
    arguments: PhantomData<fn() -> A>,
}

impl<A, F> Function<A, F> {
    pub(crate) fn new(function: F) -> Self {
        Self { function, arguments: PhantomData }
    }
}

impl<A, F, Fut, R> Tool for Function<A, F>
where
    A: DeserializeOwned,
    F: Fn(A, Context) -> Fut + Send + Sync,
    Fut: Future<Output = Result<R, ToolError>> + Send,
    R: IntoAnswer,
{
    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move {
            let arguments = serde_json::from_str(invocation.arguments.raw())
                .map_err(|error| ToolError::new(format!("Invalid arguments: {error}")))?;
            (self.function)(arguments, invocation.context.clone()).await?.into_answer()
        })
    }
}

/// Reader from a function of URI, variables and context.
pub(crate) struct ReadFunction<F>(pub(crate) F);

impl<F, Fut> Reader for ReadFunction<F>
where
    F: Fn(String, BTreeMap<String, String>, Context) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Vec<ResourceContents>, ToolError>> + Send + 'static,
{
    fn read<'a>(
        &'a self,
        uri: &'a str,
        variables: &'a [(Box<str>, String)],
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>> {
        let variables = variables.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        Box::pin((self.0)(uri.to_owned(), variables, context.clone()))
    }
}

/// Prompter from a function of arguments and context.
pub(crate) struct PromptFunction<F>(pub(crate) F);

impl<F, Fut> Prompter for PromptFunction<F>
where
    F: Fn(PromptArguments, Context) -> Fut + Send + Sync,
    Fut: Future<Output = Result<PromptResult, ToolError>> + Send + 'static,
{
    fn get<'a>(
        &'a self,
        arguments: PromptArguments,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<PromptResult, ToolError>> {
        let future = (self.0)(arguments, context.clone());
        Box::pin(future)
    }
}

/// Completer from a function of the typed text and the arguments filled in already.
pub(crate) struct CompleteFunction<F>(pub(crate) F);

impl<F> Completer for CompleteFunction<F>
where
    F: Fn(&str, &BTreeMap<String, String>) -> Vec<String> + Send + Sync,
{
    fn complete<'a>(
        &'a self,
        value: &'a str,
        given: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<Vec<String>, ToolError>> {
        Box::pin(async move { Ok((self.0)(value, given)) })
    }
}
