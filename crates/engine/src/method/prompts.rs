//! `prompts/*`.

use toolcrib_contract::json::Node;
use toolcrib_protocol::{Code, Era, Request, RpcError};

use crate::caller::Caller;
use crate::context::Context;
use crate::engine::Engine;
use crate::prompt::{Prompt, PromptArguments};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::stage::execute::ROUNDS_MAX;
use crate::tool::ToolError;

impl Engine {
    pub(super) fn list_prompts(&self, era: Era, request: &Request<'_>) -> Result<Reply, Refusal> {
        let cursor = request.params.optional_string("cursor")?;
        let snapshot = self.registry().load();
        Ok(Reply::prepared(
            request.id,
            snapshot.prompts.listing().page(era, cursor.as_deref(), self.render())?,
        ))
    }

    pub(super) async fn get_prompt(
        &self,
        caller: &Caller<'_>,
        request: &Request<'_>,
    ) -> Result<Reply, Refusal> {
        let name = request.params.string("name")?;
        let prompt = self
            .registry()
            .load()
            .prompts
            .get(&name)
            .cloned()
            .ok_or_else(|| Refusal::UnknownPrompt(name.as_ref().into()))?;
        let arguments = arguments(request.params.get("arguments"))?;
        if let Some(missing) = prompt
            .arguments
            .iter()
            .find(|argument| argument.required && !arguments.contains_key(&argument.name))
        {
            let message = format!("params.arguments.{} is missing", missing.name);
            return Err(RpcError::new(Code::InvalidParams, message).into());
        }
        let mut context = self.context(caller, request)?;
        for _ in 0..ROUNDS_MAX {
            match self.prompted(caller, request, &prompt, &arguments, &context).await? {
                Ok(reply) => return Ok(reply),
                Err(ToolError::NotFound) => return Err(Refusal::UnknownPrompt(name.as_ref().into())),
                Err(ToolError::InputRequired(required)) if caller.peer.era() == Era::Legacy => {
                    context = self.asked_again(caller, request, &context, *required).await?;
                }
                Err(error) => return self.asks_or_fails(caller, request, &context, error),
            }
        }
        Err(Refusal::Failed("The prompt asked too often.".into()))
    }

    async fn prompted(
        &self,
        caller: &Caller<'_>,
        request: &Request<'_>,
        prompt: &Prompt,
        arguments: &PromptArguments,
        context: &Context,
    ) -> Result<Result<Reply, ToolError>, Refusal> {
        if let Some(relayed) = request.params.node().and_then(|params| prompt.prompter.relay(params, context))
        {
            return self.relayed(caller, request, relayed, None).await;
        }
        let get = self.guarded(|| prompt.prompter.get(arguments.clone(), context), &caller.exchange);
        let result = match get.await? {
            Ok(result) => result,
            Err(error) => return Ok(Err(error)),
        };
        let mut out = b"{".to_vec();
        let modern = caller.peer.era() == Era::Modern;
        if modern {
            out.extend_from_slice(b"\"resultType\":\"complete\",");
        }
        result.write(&mut out, caller.peer.revision());
        if modern {
            out.extend_from_slice(b",\"_meta\":");
            out.extend_from_slice(self.meta().as_bytes());
        }
        out.push(b'}');
        Ok(Ok(Reply::result(request.id, &out)))
    }
}

/// Reads an object of strings; absent means empty.
fn arguments(node: Option<Node<'_>>) -> Result<PromptArguments, RpcError> {
    let invalid = || RpcError::new(Code::InvalidParams, "params.arguments must be an object of strings");
    let Some(node) = node else { return Ok(PromptArguments::new()) };
    if !node.is_object() {
        return Err(invalid());
    }
    node.members()
        .map(|(key, value)| {
            let key = key.as_str().unwrap_or_default().into_owned();
            Ok((key, value.as_str().ok_or_else(invalid)?.into_owned()))
        })
        .collect()
}
