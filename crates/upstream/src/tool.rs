//! A tool of another server, as the engine calls it.
//!
//! Guarantees: arguments are forwarded as the client wrote them and the engine checked them; the answer is forwarded
//! in the server's own text.

use std::borrow::Cow;
use std::sync::Arc;

use toolcrib_contract::json::{Node, ObjectWriter};
use toolcrib_engine::safety::ticket;
use toolcrib_engine::safety::vouch::ConfirmedBy;
use toolcrib_engine::{Answer, BoxFuture, Invocation, Tool, ToolError};
use toolcrib_protocol::param_header::ParamHeaders;
use toolcrib_protocol::write;

use crate::called::Called;
use crate::remote::{Brought, CONFIRMED, Remote, Source};
use crate::request::Request;
use crate::supervisor::Upstream;

/// A tool of another server, callable by the engine.
#[derive(Debug)]
pub struct RemoteTool {
    remote: Remote,
    called: Called,
    param_headers: ParamHeaders,
}

impl RemoteTool {
    /// `is_repeatable`: `true` if a repeated call has no further effect.
    #[must_use]
    pub fn new(
        upstream: Arc<Upstream>,
        name: &str,
        param_headers: ParamHeaders,
        is_repeatable: bool,
    ) -> Self {
        Self { remote: Remote { upstream, is_repeatable }, called: Called::new(name), param_headers }
    }

    fn request<'r>(&'r self, invocation: &Invocation<'r>, brought: Option<Brought<'_>>) -> Request<'r> {
        let mut request = Request::call(&self.called, self.arguments(invocation));
        request.headers = self.param_headers.headers_for(Some(invocation.arguments));
        let mut sent = Sent::default();
        if let Some(params) = invocation.params {
            for (key, value) in params.members() {
                let name = key.as_str().unwrap_or_default();
                // `task` belongs to an extension that the gateway does not relay.
                if !sent.takes(&name, value) && !matches!(&*name, "name" | "arguments" | "task") {
                    request.copy(key, value);
                }
            }
        }
        sent.bring(&mut request, brought, invocation.context);
        if let Some(by) = invocation.context.confirmed_by()
            && let Some(key) = self.remote.upstream.gate_key()
            && let Some(said) = invocation.context.vouch(&key, &self.called.name, invocation.arguments)
        {
            request.vouched(&said, by == ConfirmedBy::Person);
        }
        request
    }

    /// Returns the arguments to send. An unused confirmation token is passed on as an argument to the server's own
    /// gate.
    fn arguments<'r>(&self, invocation: &Invocation<'r>) -> Cow<'r, str> {
        let raw = invocation.arguments.raw();
        let Some(token) = invocation.context.unused_token() else { return raw.into() };
        if self.remote.upstream.gate_key().is_none() {
            return raw.into();
        }
        let mut arguments = ObjectWriter::new();
        for (key, value) in invocation.arguments.members() {
            arguments.copy(key, value);
        }
        arguments.string(ticket::ARGUMENT, token);
        arguments.finish().into()
    }
}

/// Members of a client's `params` that concern the call and not the called item.
#[derive(Default)]
pub(crate) struct Sent<'a> {
    meta: Option<Node<'a>>,
    answers: Option<Node<'a>>,
    has_state: bool,
}

impl<'a> Sent<'a> {
    /// Takes such a member; returns `false` for any other.
    pub(crate) fn takes(&mut self, name: &str, value: Node<'a>) -> bool {
        match name {
            "_meta" => self.meta = Some(value),
            "inputResponses" => self.answers = Some(value),
            "requestState" => self.has_state = true,
            _ => return false,
        }
        true
    }

    /// Adds the answers to a modern server's questions from the previous round, or answers that the client sent
    /// unasked, and what a server should know about the caller.
    pub(crate) fn bring(
        self,
        request: &mut Request<'_>,
        brought: Option<Brought<'_>>,
        context: &toolcrib_engine::Context,
    ) {
        match brought {
            Some((state, keys, source)) => {
                let answer = |key| match source {
                    Source::Client => context.round().answer(key),
                    Source::Gate => Some(CONFIRMED),
                };
                let answers: Vec<String> = keys
                    .iter()
                    .filter_map(|key| Some(format!("{}:{}", write::quoted(key), answer(key)?)))
                    .collect();
                request.push("inputResponses", &format!("{{{}}}", answers.join(",")));
                if let Some(state) = state {
                    request.push("requestState", &write::quoted(state));
                }
            }
            // With a state, the answers belong to questions of this gateway itself.
            None if self.has_state => {}
            None => {
                if let Some(answers) = self.answers {
                    request.push_modern("inputResponses", &answers.to_compact());
                }
            }
        }
        request.for_caller(context, self.meta);
    }
}

impl Tool for RemoteTool {
    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move {
            let make = |brought: Option<Brought<'_>>| self.request(&invocation, brought);
            self.remote.run(make, invocation.context).await.map(Answer::Forwarded)
        })
    }
}
