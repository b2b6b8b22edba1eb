//! Resources that are in no list, which a tool's answer may link to.
//!
//! The servers that offer resources are asked in turn; the first one that knows the URI answers. Only servers that
//! have shown a URI of the same scheme are asked, unless there is only one server.

use std::sync::Weak;

use toolcrib_contract::json::Node;
use toolcrib_engine::resource::Reader;
use toolcrib_engine::{BoxFuture, Context, Forwarded, ResourceContents, ToolError};

use crate::gateway::Gateway;

/// Reader of resources that are in no list.
pub(crate) struct Elsewhere(pub(crate) Weak<Gateway>);

impl Reader for Elsewhere {
    fn read<'a>(
        &'a self,
        _uri: &'a str,
        _variables: &'a [(Box<str>, String)],
        _context: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>> {
        Box::pin(async { Err(ToolError::NotFound) })
    }

    fn relay<'a>(
        &'a self,
        params: Node<'a>,
        context: &'a Context,
    ) -> Option<BoxFuture<'a, Result<Forwarded, ToolError>>> {
        Some(Box::pin(async move {
            let uri = params.get("uri").and_then(Node::as_str).unwrap_or_default();
            let Some(gateway) = self.0.upgrade() else { return Err(ToolError::NotFound) };
            if let Some(kept) = gateway.kept(&uri, context.principal()) {
                return kept;
            }
            for offer in gateway.candidates(&uri) {
                let Some(relayed) = Reader::relay(&offer, params, context) else { continue };
                match relayed.await {
                    Err(
                        ToolError::NotFound
                        | ToolError::Protocol(_)
                        | ToolError::Failed(_)
                        | ToolError::Unknown(_),
                    ) => {}
                    other => return other,
                }
            }
            Err(ToolError::NotFound)
        }))
    }
}
