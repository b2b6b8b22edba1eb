//! Dispatch of requests by method: one message in, one reply out.
//!
//! Guarantees: a method of the other era, a removed one and an unknown one are refused alike; a notification never
//! gets a reply.

mod complete;
mod discover;
mod listen;
mod prompts;
mod relayed;
mod resources;

use std::sync::Arc;

use toolcrib_protocol::frame::Outcome;
use toolcrib_protocol::{Code, Era, Level, Notification, Request, Response, RpcError};

use crate::caller::Caller;
use crate::engine::Engine;
use crate::peer::Peer;
use crate::refusal::{Refusal, Rescued, Scope};
use crate::reply::Reply;
use crate::session::Session;
use crate::share::Share;
use crate::{stage, trace};

/// Result of methods that return an empty object.
const EMPTY: &[u8] = b"{}";

/// Returns true for requests besides tool calls that an emergency stop refuses too, because they make a server act. A
/// `subscriptions/listen` that names resources subscribes to them at their server; one for list changes alone does
/// not.
fn reaches_a_server(request: &Request<'_>) -> bool {
    match &*request.method {
        "prompts/get" | "resources/read" | "resources/subscribe" | "completion/complete" => true,
        "subscriptions/listen" => {
            let filter = request.params.get("notifications");
            let uris = filter.and_then(|filter| filter.get("resourceSubscriptions"));
            uris.is_some_and(|uris| !uris.is_empty())
        }
        _ => false,
    }
}

impl Engine {
    /// Answers a request.
    pub async fn request(&self, caller: &Caller<'_>, request: &Request<'_>) -> Reply {
        let outcome = match &caller.peer {
            Peer::Modern(_) => self.followed(caller, request).await,
            Peer::Legacy(session) => match session.enter(request.id, &caller.exchange) {
                Ok(_in_flight) => self.followed(caller, request).await,
                Err(busy) => Err(busy.into()),
            },
        };
        caller.exchange.finish();
        match outcome {
            Ok(reply) => reply,
            Err(refusal) => self.rescue(caller.peer.revision(), request, refusal),
        }
    }

    async fn followed(&self, caller: &Caller<'_>, request: &Request<'_>) -> Result<Reply, Refusal> {
        match &self.options().spans {
            Some(sink) if trace::is_followed(&request.method) => {
                // Boxed, so that a span does not enlarge the future of requests without one.
                let work = Box::pin(self.dispatch(caller, request));
                Box::pin(trace::follow(sink, caller, request, work)).await
            }
            _ => self.dispatch(caller, request).await,
        }
    }

    /// Returns the answer to a refused request.
    #[must_use]
    pub fn rescue(
        &self,
        revision: toolcrib_protocol::Revision,
        request: &Request<'_>,
        refusal: Refusal,
    ) -> Reply {
        let scope = if request.method == "tools/call" { Scope::ToolCall } else { Scope::Other };
        match refusal.rescue(scope, revision, self.options().bad_arguments) {
            Rescued::Error { status, error } => Reply::error(status, Some(request.id), &error),
            Rescued::Result(result) => stage::written(self, request.id, revision, &result),
            Rescued::Asks(required) => stage::asked(self, request.id, required),
            Rescued::Silence => Reply::accepted(),
        }
    }

    /// Methods that are rarer than calls are boxed: they must not enlarge every call's state.
    async fn dispatch(&self, caller: &Caller<'_>, request: &Request<'_>) -> Result<Reply, Refusal> {
        let era = caller.peer.era();
        if reaches_a_server(request)
            && let Some(text) = self.safety().and_then(|safety| stage::gate::stopped(caller, safety))
        {
            return Err(Refusal::Failed(text.into()));
        }
        match (&*request.method, era) {
            ("tools/call", _) => self.metered(caller, request).await,
            ("tools/list", _) => {
                let cursor = request.params.optional_string("cursor")?;
                if let Some(session) = caller.peer.session() {
                    session.lists();
                }
                let view = self.listed(caller);
                let page = view.listing().page(era, cursor.as_deref(), self.list_render(caller))?;
                Ok(Reply::prepared(request.id, page))
            }
            ("resources/list", _) if self.offers_resources() => self.list_resources(era, request),
            ("resources/templates/list", _) if self.offers_resources() => self.list_templates(era, request),
            ("resources/read", _) if self.offers_resources() => {
                Box::pin(self.read_resource(caller, request)).await
            }
            ("prompts/list", _) if self.offers_prompts() => self.list_prompts(era, request),
            ("prompts/get", _) if self.offers_prompts() => Box::pin(self.get_prompt(caller, request)).await,
            ("completion/complete", _) if self.offers_completions() => {
                Box::pin(self.complete(caller, request)).await
            }
            ("server/discover", Era::Modern) => Ok(self.discover(caller, request)),
            ("subscriptions/listen", Era::Modern) => Box::pin(self.listen(caller, request)).await,
            ("ping", Era::Legacy) => Ok(Reply::result(request.id, EMPTY)),
            ("logging/setLevel", Era::Legacy) => set_level(caller, request),
            ("resources/subscribe" | "resources/unsubscribe", Era::Legacy) if self.offers_resources() => {
                Box::pin(self.follow_resource(caller, request)).await
            }
            ("initialize", Era::Legacy) => {
                let error = RpcError::new(Code::InvalidRequest, "this session is initialized already");
                Err(Refusal::Protocol(Box::new(error)))
            }
            _ => Err(Refusal::MethodNotFound(request.method.as_ref().into())),
        }
    }

    /// Handles a notification; unknown ones are ignored.
    pub fn notification(&self, session: Option<&Arc<Session>>, notification: &Notification<'_>) {
        if let ("notifications/cancelled", Some(session)) = (&*notification.method, session)
            && let Some(id) = notification.params.get("requestId")
        {
            session.cancel(id.raw());
        }
    }

    /// Handles a client's answer to a question; returns false if no question is open under its id. While the caller
    /// is stopped, the answer is dropped and the gate or server that asked gets an error.
    pub fn response(&self, session: &Session, response: &Response<'_>) -> bool {
        let Some(id) = response.id else { return false };
        if self.is_stopped(session) {
            let error = RpcError::new(Code::Legacy, "an emergency stop is in force; nothing is answered");
            return session.answer(id, Err(error));
        }
        let answered = match response.outcome {
            Outcome::Result(result) => Ok(result.raw().into()),
            Outcome::Error(error) => Err(RpcError {
                code: error
                    .get("code")
                    .and_then(toolcrib_contract::json::Node::as_i64)
                    .and_then(|code| i32::try_from(code).ok())
                    .unwrap_or(Code::InternalError.number()),
                message: error
                    .get("message")
                    .and_then(toolcrib_contract::json::Node::as_str)
                    .map_or_else(|| "no message".into(), |message| message.into_owned().into()),
                data: None,
            }),
        };
        session.answer(id, answered)
    }

    /// Returns true if a stop applies to the client of a session.
    fn is_stopped(&self, session: &Session) -> bool {
        let Some(safety) = self.safety().filter(|safety| safety.stops().any()) else { return false };
        let share = Share::of(session.principal(), session.id(), session.opened_from());
        safety.stops().of(session.principal(), &share, safety.now_ms()).is_some()
    }

    pub(crate) fn offers_prompts(&self) -> bool {
        self.options().offers_prompts || !self.registry().load().prompts.is_empty()
    }

    pub(crate) fn offers_resources(&self) -> bool {
        let snapshot = self.registry().load();
        self.options().offers_resources || !snapshot.resources.is_empty() || !snapshot.templates.is_empty()
    }

    pub(crate) fn offers_completions(&self) -> bool {
        !self.registry().load().completers.is_empty()
    }
}

fn set_level(caller: &Caller<'_>, request: &Request<'_>) -> Result<Reply, Refusal> {
    let level = request.params.string("level")?;
    let level = Level::parse(&level)
        .ok_or_else(|| RpcError::new(Code::InvalidParams, "params.level is no log level"))?;
    if let Some(session) = caller.peer.session() {
        session.set_log_level(level);
    }
    Ok(Reply::result(request.id, EMPTY))
}
