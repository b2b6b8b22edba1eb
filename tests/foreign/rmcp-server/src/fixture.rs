//! The handler: which request goes where. Results are written as JSON and read into the SDK's types, so that what goes
//! out is what the SDK makes of them.
#![allow(deprecated, reason = "the legacy revisions have subscriptions, sampling and logging")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, CompleteRequestParams,
    CompleteResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequiredResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
    Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::rounds::{Brought, States, Turn};
use crate::{asking, content, offers, rounds};

/// Which list changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changed {
    Tools,
    Prompts,
}

#[derive(Clone)]
pub(crate) struct Fixture(Arc<Shared>);

struct Shared {
    tools: Vec<Tool>,
    more_tools: AtomicBool,
    more_prompts: AtomicBool,
    changes: broadcast::Sender<Changed>,
    states: States,
}

pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(failed)
}

/// A result that ends a request: the SDK takes the mark off for legacy peers.
fn complete<T: DeserializeOwned>(mut result: Value) -> Result<T, ErrorData> {
    if let Some(members) = result.as_object_mut() {
        members.insert("resultType".to_owned(), json!("complete"));
    }
    typed(result)
}

pub(crate) fn failed(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

impl Fixture {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let tools = serde_json::from_value(Value::Array(content::tools()))?;
        Ok(Self(Arc::new(Shared {
            tools,
            more_tools: AtomicBool::new(false),
            more_prompts: AtomicBool::new(false),
            changes: broadcast::Sender::new(16),
            states: States::default(),
        })))
    }

    async fn toggle(&self, which: Changed, context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
        let is_legacy = context.meta.protocol_version().is_none();
        match which {
            Changed::Tools => {
                self.0.more_tools.fetch_xor(true, Ordering::Relaxed);
                if is_legacy {
                    context.peer.notify_tool_list_changed().await.map_err(failed)?;
                }
            }
            Changed::Prompts => {
                self.0.more_prompts.fetch_xor(true, Ordering::Relaxed);
                if is_legacy {
                    context.peer.notify_prompt_list_changed().await.map_err(failed)?;
                }
            }
        }
        // Nobody may be listening.
        let _ = self.0.changes.send(which);
        Ok(content::text("The list changed"))
    }

    async fn called(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Turn, ErrorData> {
        let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        if let Some(answer) = content::answer(&request.name, &arguments) {
            return Ok(Turn::Done(answer));
        }
        let brought =
            Brought { answers: request.input_responses.as_ref(), state: request.request_state.as_deref() };
        let capabilities = context.client_capabilities();
        if let Some(turn) = rounds::call(&request.name, &brought, capabilities.as_ref(), &self.0.states)? {
            return Ok(turn);
        }
        Ok(Turn::Done(match &*request.name {
            "test_tool_with_progress" => asking::progress(context).await?,
            "test_tool_with_logging" => {
                let texts = ["Tool execution started", "Tool processing data", "Tool execution completed"];
                asking::logging(context, &texts).await?
            }
            "test_logging_tool" => asking::logging(context, &["for clients that asked for it"]).await?,
            "test_reconnection" => {
                tokio::time::sleep(Duration::from_millis(200)).await;
                content::text("Reconnection test completed")
            }
            "test_missing_capability" => {
                if capabilities.is_none_or(|all| all.sampling.is_none()) {
                    let required = ClientCapabilities::builder().enable_sampling().build();
                    return Err(ErrorData::missing_required_client_capability(required));
                }
                content::text("The client can sample")
            }
            "test_trigger_tool_change" => self.toggle(Changed::Tools, context).await?,
            "test_trigger_prompt_change" => self.toggle(Changed::Prompts, context).await?,
            "test_sampling" => return asking::sample(context, &brought, argument("prompt")).await,
            "test_elicitation" => {
                let schema = asking::name_and_address();
                return asking::elicit(context, &brought, argument("message"), &schema).await;
            }
            "test_elicitation_sep1034_defaults" => {
                return asking::elicit(context, &brought, "Please review", &asking::defaults()).await;
            }
            "test_elicitation_sep1330_enums" => {
                return asking::elicit(context, &brought, "Please choose", &asking::choices()).await;
            }
            other => return Err(ErrorData::invalid_params(format!("no tool {other:?}"), None)),
        }))
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::default();
        config.capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_logging()
            .build();
        config
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = self.0.tools.clone();
        if self.0.more_tools.load(Ordering::Relaxed) {
            tools.push(typed(json!({"name": "test_dynamic_tool", "description": "Comes and goes",
                "inputSchema": {"type": "object"}}))?);
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match self.called(&request, &context).await? {
            Turn::Done(result) => Ok(complete::<CallToolResult>(result)?.into()),
            Turn::Asks(result) => Ok(typed::<InputRequiredResult>(result)?.into()),
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut prompts = offers::prompts();
        if self.0.more_prompts.load(Ordering::Relaxed) {
            prompts.push(json!({"name": "test_dynamic_prompt", "description": "Comes and goes"}));
        }
        Ok(ListPromptsResult::with_all_items(typed(Value::Array(prompts))?))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name == "test_input_required_result_prompt" {
            let brought = Brought {
                answers: request.input_responses.as_ref(),
                state: request.request_state.as_deref(),
            };
            return match rounds::prompt(&brought) {
                Turn::Done(result) => Ok(complete::<GetPromptResult>(result)?.into()),
                Turn::Asks(result) => Ok(typed::<InputRequiredResult>(result)?.into()),
            };
        }
        let arguments = serde_json::to_value(&request.arguments).map_err(failed)?;
        Ok(complete::<GetPromptResult>(offers::prompt(&request.name, &arguments)?)?.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(typed(Value::Array(offers::resources()))?))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(typed(Value::Array(offers::templates()))?))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(complete::<ReadResourceResult>(offers::read(&request.uri)?)?.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values: Vec<&str> = ["paris", "park", "party", "testing", "testValue1"]
            .into_iter()
            .filter(|value| value.starts_with(&request.argument.value))
            .collect();
        complete(json!({"completion": {"values": values, "total": values.len(), "hasMore": false}}))
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.0.changes.subscribe();
        loop {
            let changed = tokio::select! {
                changed = changes.recv() => changed,
                () = context.cancelled() => return Ok(()),
            };
            // What this subscription did not ask for, the sink refuses.
            let _ = match changed {
                Ok(Changed::Tools) => context.sink().notify_tool_list_changed().await,
                Ok(Changed::Prompts) => context.sink().notify_prompt_list_changed().await,
                Err(broadcast::error::RecvError::Lagged(_)) => continue,
                Err(broadcast::error::RecvError::Closed) => return Ok(()),
            };
        }
    }
}
