//! Results that somebody else's server gave, for a client of whatever revision.

use toolcrib_protocol::{CacheHint, Request};

use crate::caller::Caller;
use crate::engine::Engine;
use crate::forwarded::Forwarded;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::tool::{BoxFuture, ToolError};

impl Engine {
    /// Waits for a relayed result, bounded like any handler.
    pub(super) async fn relayed(
        &self,
        caller: &Caller<'_>,
        request: &Request<'_>,
        relayed: BoxFuture<'_, Result<Forwarded, ToolError>>,
        hint: Option<CacheHint>,
    ) -> Result<Result<Reply, ToolError>, Refusal> {
        let outcome = self.guarded(|| relayed, &caller.exchange).await?;
        Ok(outcome.map(|forwarded| Reply::forwarded(request.id, forwarded, caller.peer.revision(), hint)))
    }

    /// Tells whoever has a resource that a client follows it.
    pub(super) fn follow_source(&self, uri: &str) {
        let snapshot = self.registry().load_full();
        let plain = snapshot.resources.get(uri).map(|resource| resource.reader.clone());
        let matching = || {
            let mut templates = snapshot.templates.iter();
            templates
                .find(|template| template.pattern.matches(uri).is_some())
                .map(|found| found.reader.clone())
        };
        if let Some(reader) = plain.or_else(matching) {
            reader.follow(uri);
        }
    }
}
