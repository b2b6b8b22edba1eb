//! Resources, prompts and completions of another server: parameters and results are forwarded as they were written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use toolcrib_contract::json::{Node, ObjectWriter};
use toolcrib_engine::completion::Completer;
use toolcrib_engine::prompt::{PromptArguments, PromptResult, Prompter};
use toolcrib_engine::resource::Reader;
use toolcrib_engine::{BoxFuture, Context, Forwarded, ResourceContents, ToolError};

use crate::remote::{Brought, Remote};
use crate::request::Request;
use crate::supervisor::Upstream;
use crate::tool::Sent;

/// An item of a server that is only read: a resource, prompt or completion.
#[derive(Debug, Clone)]
pub struct RemoteOffer {
    remote: Remote,
    /// The server's own name of a prompt.
    name: Box<str>,
}

impl RemoteOffer {
    #[must_use]
    pub fn new(upstream: Arc<Upstream>, name: &str) -> Self {
        Self { remote: Remote { upstream, is_repeatable: true }, name: name.into() }
    }

    async fn hand_on(
        &self,
        method: &'static str,
        params: Node<'_>,
        changed: Option<(&str, String)>,
        context: &Context,
    ) -> Result<Forwarded, ToolError> {
        let make = |brought: Option<Brought<'_>>| {
            let mut request = Request::new(method);
            let mut sent = Sent::default();
            for (key, value) in params.members() {
                let name = key.as_str().unwrap_or_default();
                if sent.takes(&name, value) {
                    continue;
                }
                if method != "completion/complete" {
                    match &*name {
                        "name" => request.name = Some(Cow::Borrowed(&self.name)),
                        "uri" => request.name = value.as_str(),
                        _ => {}
                    }
                }
                match &changed {
                    Some((changed, text)) if *changed == name => request.replace(key, text),
                    _ => request.copy(key, value),
                }
            }
            sent.bring(&mut request, brought, context);
            request
        };
        self.remote.run(make, context).await
    }

    fn quoted(&self) -> String {
        toolcrib_protocol::write::quoted(&self.name)
    }
}

impl Reader for RemoteOffer {
    fn read<'a>(
        &'a self,
        _uri: &'a str,
        _variables: &'a [(Box<str>, String)],
        _context: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>> {
        // Resources are relayed, never read through this method.
        Box::pin(async { Err(ToolError::NotFound) })
    }

    fn relay<'a>(
        &'a self,
        params: Node<'a>,
        context: &'a Context,
    ) -> Option<BoxFuture<'a, Result<Forwarded, ToolError>>> {
        Some(Box::pin(self.hand_on("resources/read", params, None, context)))
    }

    fn follow(&self, uri: &str) {
        self.remote.upstream.follow(uri);
    }
}

impl Prompter for RemoteOffer {
    fn get<'a>(
        &'a self,
        _arguments: PromptArguments,
        _context: &'a Context,
    ) -> BoxFuture<'a, Result<PromptResult, ToolError>> {
        Box::pin(async { Err(ToolError::NotFound) })
    }

    fn relay<'a>(
        &'a self,
        params: Node<'a>,
        context: &'a Context,
    ) -> Option<BoxFuture<'a, Result<Forwarded, ToolError>>> {
        Some(Box::pin(self.hand_on("prompts/get", params, Some(("name", self.quoted())), context)))
    }
}

impl Completer for RemoteOffer {
    fn complete<'a>(
        &'a self,
        _value: &'a str,
        _given: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<Vec<String>, ToolError>> {
        Box::pin(async { Err(ToolError::NotFound) })
    }

    fn relay<'a>(
        &'a self,
        params: Node<'a>,
        context: &'a Context,
    ) -> Option<BoxFuture<'a, Result<Forwarded, ToolError>>> {
        let mut reference = ObjectWriter::new();
        for (key, value) in params.get("ref").into_iter().flat_map(Node::members) {
            if key.is_text("name") {
                reference.raw("name", &self.quoted());
            } else {
                reference.copy(key, value);
            }
        }
        let changed = Some(("ref", reference.finish()));
        Some(Box::pin(self.hand_on("completion/complete", params, changed, context)))
    }
}
