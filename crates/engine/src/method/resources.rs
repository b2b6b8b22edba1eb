//! `resources/*`.

use std::sync::Arc;

use toolcrib_protocol::{CacheHint, CacheScope, Era, Request};

use super::EMPTY;
use crate::ask::InputRequired;
use crate::caller::Caller;
use crate::context::Context;
use crate::engine::Engine;
use crate::guarded::Stopped;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::resource::Reader;
use crate::round::Round;
use crate::stage::execute::{ROUNDS_MAX, ask_again};
use crate::template::{Uri, Variables, Work, check_uri_length};
use crate::tool::ToolError;

impl Engine {
    pub(super) fn list_resources(&self, era: Era, request: &Request<'_>) -> Result<Reply, Refusal> {
        let cursor = request.params.optional_string("cursor")?;
        let snapshot = self.registry().load();
        Ok(Reply::prepared(
            request.id,
            snapshot.resources.listing().page(era, cursor.as_deref(), self.render())?,
        ))
    }

    pub(super) fn list_templates(&self, era: Era, request: &Request<'_>) -> Result<Reply, Refusal> {
        let cursor = request.params.optional_string("cursor")?;
        let snapshot = self.registry().load();
        Ok(Reply::prepared(
            request.id,
            snapshot.templates.listing().page(era, cursor.as_deref(), self.render())?,
        ))
    }

    pub(super) async fn read_resource(
        &self,
        caller: &Caller<'_>,
        request: &Request<'_>,
    ) -> Result<Reply, Refusal> {
        let uri = request.params.string("uri")?;
        let found = self.find_reader(&uri, &mut Work::default()).await?;
        let found = found.or_else(|| self.registry().elsewhere().map(|reader| (reader, Vec::new())));
        let (reader, variables) = found.ok_or_else(|| Refusal::ResourceNotFound(uri.as_ref().into()))?;
        let mut context = self.context(caller, request)?;
        for _ in 0..ROUNDS_MAX {
            match self.resource_read(caller, request, &*reader, &variables, &context).await? {
                Ok(reply) => return Ok(reply),
                Err(ToolError::NotFound) => return Err(Refusal::ResourceNotFound(uri.as_ref().into())),
                Err(ToolError::InputRequired(required)) if caller.peer.era() == Era::Legacy => {
                    context = self.asked_again(caller, request, &context, *required).await?;
                }
                Err(error) => return self.asks_or_fails(caller, request, &context, error),
            }
        }
        Err(Refusal::Failed("The resource asked too often.".into()))
    }

    async fn resource_read(
        &self,
        caller: &Caller<'_>,
        request: &Request<'_>,
        reader: &dyn Reader,
        variables: &[(Box<str>, String)],
        context: &Context,
    ) -> Result<Result<Reply, ToolError>, Refusal> {
        let uri = request.params.string("uri")?;
        if let Some(relayed) = request.params.node().and_then(|params| reader.relay(params, context)) {
            let hint = CacheHint { ttl_ms: 0, scope: CacheScope::Private };
            return self.relayed(caller, request, relayed, Some(hint)).await;
        }
        let read = self.guarded(|| reader.read(&uri, variables, context), &caller.exchange);
        let contents = match read.await? {
            Ok(contents) => contents,
            Err(error) => return Ok(Err(error)),
        };
        let mut out = b"{".to_vec();
        let modern = caller.peer.era() == Era::Modern;
        if modern {
            out.extend_from_slice(b"\"resultType\":\"complete\",");
        }
        out.extend_from_slice(b"\"contents\":[");
        for (index, content) in contents.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(content.raw().as_bytes());
        }
        out.push(b']');
        if modern {
            // A handler's contents may differ each time and for each caller.
            let hint = CacheHint { ttl_ms: 0, scope: CacheScope::Private };
            hint.write(&mut out);
            out.extend_from_slice(b",\"_meta\":");
            out.extend_from_slice(self.meta().as_bytes());
        }
        out.push(b'}');
        Ok(Ok(Reply::result(request.id, &out)))
    }

    /// Returns the reader of a URI that is listed: the resource itself, else the first template that matches.
    pub(super) async fn find_reader(
        &self,
        uri: &str,
        work: &mut Work,
    ) -> Result<Option<(Arc<dyn Reader>, Variables)>, Refusal> {
        check_uri_length(uri)?;
        let snapshot = self.registry().load_full();
        if let Some(resource) = snapshot.resources.get(uri) {
            return Ok(Some((resource.reader.clone(), Vec::new())));
        }
        if snapshot.templates.is_empty() {
            return Ok(None);
        }
        let found = snapshot.template_index.find(&Uri::new(uri)?, work).await?;
        Ok(found.map(|(template, variables)| (template.reader.clone(), variables)))
    }

    pub(super) async fn follow_resource(
        &self,
        caller: &Caller<'_>,
        request: &Request<'_>,
    ) -> Result<Reply, Refusal> {
        let uri = request.params.string("uri")?;
        check_uri_length(&uri)?;
        let Some(session) = caller.peer.session() else {
            return Err(Refusal::MethodNotFound(request.method.as_ref().into()));
        };
        if request.method == "resources/subscribe" {
            let found = self.find_reader(&uri, &mut Work::default()).await?;
            self.hub().follow(session.news(), &caller.owner(), &uri)?;
            if let Some((reader, _)) = found {
                reader.follow(&uri);
            }
        } else {
            session.news().unfollow(&uri);
        }
        Ok(Reply::result(request.id, EMPTY))
    }

    /// Returns the context of a request other than a tool call.
    pub(super) fn context(&self, caller: &Caller<'_>, request: &Request<'_>) -> Result<Context, Refusal> {
        Ok(in_round(caller, request, self.round(caller, request)?))
    }

    /// Returns the context for the next round, after a legacy client was asked the questions of an `InputRequired`.
    pub(super) async fn asked_again(
        &self,
        caller: &Caller<'_>,
        request: &Request<'_>,
        context: &Context,
        required: InputRequired,
    ) -> Result<Context, Refusal> {
        Ok(in_round(caller, request, ask_again(context, required).await?))
    }

    /// Turns a handler's questions into `input_required`, and any other error into a refusal.
    pub(super) fn asks_or_fails(
        &self,
        caller: &Caller<'_>,
        request: &Request<'_>,
        context: &Context,
        error: ToolError,
    ) -> Result<Reply, Refusal> {
        match error {
            ToolError::InputRequired(required) if caller.peer.era() == Era::Modern => {
                let mut out = self.require(caller, request, context, &required, None)?;
                out.extend_from_slice(b",\"_meta\":");
                out.extend_from_slice(self.meta().as_bytes());
                out.push(b'}');
                Ok(Reply::result(request.id, &out))
            }
            ToolError::InputRequired(_) => Err(Refusal::Failed("This client cannot be asked.".into())),
            ToolError::Failed(text) | ToolError::Unknown(text) => Err(Refusal::Failed(text)),
            ToolError::Protocol(error) => Err(Refusal::Protocol(error)),
            ToolError::MissingCapability(capability) => Err(Refusal::MissingCapability(capability)),
            ToolError::NotFound => Err(Refusal::Failed("Not found.".into())),
        }
    }
}

fn in_round(caller: &Caller<'_>, request: &Request<'_>, round: Round) -> Context {
    let token = request.params.progress_token();
    let (principal, peer) = (caller.principal.clone(), caller.peer.clone());
    Context::new(principal, peer, caller.exchange.clone(), token, round)
}

impl From<Stopped> for Refusal {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Panicked(text) => {
                tracing::warn!(target: "toolcrib", "a handler panicked: {text}");
                Self::Panicked
            }
            Stopped::TooSlow { ms_max } => Self::TooSlow { ms_max },
            Stopped::Cancelled => Self::Cancelled,
        }
    }
}
