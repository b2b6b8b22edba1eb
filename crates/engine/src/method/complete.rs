//! `completion/complete`.

use std::collections::BTreeMap;

use toolcrib_contract::json::{Node, ObjectWriter};
use toolcrib_protocol::{Code, Era, Request, RpcError, write};

use crate::caller::Caller;
use crate::completion::Reference;
use crate::engine::Engine;
use crate::limits::COMPLETION_VALUES_MAX;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::template::check_uri_length;
use crate::tool::ToolError;

impl Engine {
    pub(super) async fn complete(
        &self,
        caller: &Caller<'_>,
        request: &Request<'_>,
    ) -> Result<Reply, Refusal> {
        let params = request.params;
        let text =
            |node: Option<Node<'_>>, name: &str| node?.get(name)?.as_str().map(std::borrow::Cow::into_owned);
        let argument = text(params.get("argument"), "name")
            .ok_or_else(|| invalid("params.argument.name must be a string"))?;
        let value = text(params.get("argument"), "value")
            .ok_or_else(|| invalid("params.argument.value must be a string"))?;
        let reference = self.reference(params.get("ref"))?;
        let given: BTreeMap<String, String> = params
            .get("context")
            .and_then(|context| context.get("arguments"))
            .into_iter()
            .flat_map(Node::members)
            .filter_map(|(key, value)| Some((key.as_str()?.into_owned(), value.as_str()?.into_owned())))
            .collect();
        let completer = self.registry().load().completers.get(reference, &argument).cloned();
        let context = self.context(caller, request)?;
        let relayed = completer
            .as_ref()
            .zip(params.node())
            .and_then(|(completer, params)| completer.relay(params, &context));
        if let Some(relayed) = relayed {
            return match self.relayed(caller, request, relayed, None).await? {
                Ok(reply) => Ok(reply),
                Err(error) => self.asks_or_fails(caller, request, &context, error),
            };
        }
        let mut values = match &completer {
            None => Vec::new(),
            Some(completer) => {
                let run = self.guarded(|| completer.complete(&value, &given), &caller.exchange);
                match run.await {
                    Ok(Ok(values)) => values,
                    Ok(Err(ToolError::Protocol(error))) => return Err(Refusal::Protocol(error)),
                    Ok(Err(ToolError::Failed(text) | ToolError::Unknown(text))) => {
                        return Err(Refusal::Failed(text));
                    }
                    Ok(Err(_)) => return Err(Refusal::Failed("The completion failed.".into())),
                    Err(stopped) => return Err(stopped.into()),
                }
            }
        };
        let total = values.len();
        values.truncate(COMPLETION_VALUES_MAX);
        let listed: Vec<String> = values.iter().map(|value| write::quoted(value)).collect();
        let mut completion = ObjectWriter::new();
        completion
            .raw("values", &format!("[{}]", listed.join(",")))
            .raw("total", &total.to_string())
            .raw("hasMore", if total > values.len() { "true" } else { "false" });
        let mut result = ObjectWriter::new();
        if caller.peer.era() == Era::Modern {
            result.string("resultType", "complete");
        }
        result.raw("completion", &completion.finish());
        if caller.peer.era() == Era::Modern {
            result.raw("_meta", self.meta());
        }
        Ok(Reply::result(request.id, result.finish().as_bytes()))
    }

    /// Reads the prompt or template to complete; it must exist.
    fn reference(&self, node: Option<Node<'_>>) -> Result<Reference, Refusal> {
        let node = node.ok_or_else(|| invalid("params.ref is missing"))?;
        let text = |name: &str| node.get(name).and_then(Node::as_str);
        let snapshot = self.registry().load();
        match text("type").as_deref() {
            Some("ref/prompt") => {
                let name = text("name").ok_or_else(|| invalid("params.ref.name must be a string"))?;
                if snapshot.prompts.get(&name).is_none() {
                    return Err(Refusal::UnknownPrompt(name.as_ref().into()));
                }
                Ok(Reference::Prompt(name.as_ref().into()))
            }
            Some("ref/resource") => {
                let uri = text("uri").ok_or_else(|| invalid("params.ref.uri must be a string"))?;
                check_uri_length(&uri)?;
                if snapshot.templates.get(&uri).is_none() && snapshot.resources.get(&uri).is_none() {
                    return Err(Refusal::ResourceNotFound(uri.as_ref().into()));
                }
                Ok(Reference::Template(uri.as_ref().into()))
            }
            _ => Err(invalid("params.ref.type must be ref/prompt or ref/resource").into()),
        }
    }
}

fn invalid(message: &'static str) -> RpcError {
    RpcError::new(Code::InvalidParams, message)
}
