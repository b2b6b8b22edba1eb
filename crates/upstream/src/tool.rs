//! A tool of somebody else's server, as the engine calls it.
//!
//! Guarantees: the arguments go out as the client wrote them and the engine checked them; the answer comes back in the
//! text the server sent.

use std::sync::Arc;

use toolcrib_contract::json::Node;
use toolcrib_engine::{Answer, BoxFuture, Invocation, Tool, ToolError};
use toolcrib_protocol::param_header::ParamHeaders;
use toolcrib_protocol::write;

use crate::remote::{Brought, Remote};
use crate::request::Request;
use crate::supervisor::Upstream;

#[derive(Debug)]
pub struct RemoteTool {
    remote: Remote,
    /// As the server calls it.
    name: Box<str>,
    param_headers: ParamHeaders,
}

impl RemoteTool {
    /// `is_repeatable`: a second call does no more than the first.
    #[must_use]
    pub fn new(
        upstream: Arc<Upstream>,
        name: &str,
        param_headers: ParamHeaders,
        is_repeatable: bool,
    ) -> Self {
        Self { remote: Remote { upstream, is_repeatable }, name: name.into(), param_headers }
    }

    fn request(&self, invocation: &Invocation<'_>, brought: Option<Brought<'_>>) -> Request {
        let mut request = Request::new("tools/call").string("name", &self.name);
        request.name = Some(self.name.clone());
        request.headers = self.param_headers.headers_for(Some(invocation.arguments));
        request = request.raw("arguments", invocation.arguments.raw());
        for (key, value) in invocation.params.into_iter().flat_map(Node::members) {
            let name = key.as_str().unwrap_or_default();
            // `task` asks for an extension that ends here.
            if !matches!(&*name, "name" | "arguments" | "_meta" | "inputResponses" | "requestState" | "task")
            {
                request = request.raw(&name, &value.to_compact());
            }
        }
        bring(request, brought, invocation.context, invocation.params)
            .for_caller(invocation.context, invocation.params)
    }
}

/// Adds what a modern server asked for in an earlier round, or what the client answers before it was asked.
pub(crate) fn bring(
    mut request: Request,
    brought: Option<Brought<'_>>,
    context: &toolcrib_engine::Context,
    params: Option<Node<'_>>,
) -> Request {
    let Some((state, keys)) = brought else {
        // With a state, the answers are to questions of this gateway's own.
        let unasked = params.filter(|params| params.get("requestState").is_none());
        return match unasked.and_then(|params| params.get("inputResponses")) {
            Some(answers) => request.modern_raw("inputResponses", &answers.to_compact()),
            None => request,
        };
    };
    let answers: Vec<String> = keys
        .iter()
        .filter_map(|key| Some(format!("{}:{}", write::quoted(key), context.round().answer(key)?)))
        .collect();
    request = request.raw("inputResponses", &format!("{{{}}}", answers.join(",")));
    match state {
        Some(state) => request.string("requestState", state),
        None => request,
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
