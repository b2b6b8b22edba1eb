//! Results of upstream servers, in the form of the client's revision.

use toolcrib_protocol::{CacheHint, Request};

use crate::caller::Caller;
use crate::engine::Engine;
use crate::forwarded::Forwarded;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::tool::{BoxFuture, ToolError};

impl Engine {
    /// Awaits a relayed result, with the deadline and cancellation of any handler.
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
}
