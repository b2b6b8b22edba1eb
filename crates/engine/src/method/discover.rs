//! `server/discover` and `initialize`: what this server is and can do.

use std::sync::Arc;

use toolcrib_contract::json::ObjectWriter;
use toolcrib_protocol::{ClientCapabilities, ClientInfo, Code, Era, Request, Revision, RpcError};

use crate::engine::Engine;
use crate::principal::Principal;
use crate::reply::Reply;
use crate::session::{Session, SessionId};

impl Engine {
    pub(super) fn discover(&self, request: &Request<'_>) -> Reply {
        let versions: Vec<String> = Revision::ALL.iter().map(|revision| format!("\"{revision}\"")).collect();
        let mut object = ObjectWriter::new();
        object
            .string("resultType", "complete")
            .raw("supportedVersions", &format!("[{}]", versions.join(",")))
            .raw("capabilities", &self.capabilities(Era::Modern));
        if let Some(instructions) = self.instructions() {
            object.string("instructions", &instructions);
        }
        let hint = self.render().hint;
        object
            .raw("ttlMs", &hint.ttl_ms.to_string())
            .string("cacheScope", hint.scope.as_str())
            .raw("_meta", self.meta());
        Reply::result(request.id, object.finish().as_bytes())
    }

    /// Opens a legacy session; `id` is what the transport will call it.
    pub fn initialize(
        &self,
        principal: Principal,
        id: Option<SessionId>,
        request: &Request<'_>,
    ) -> Result<(Arc<Session>, Reply), Reply> {
        let refuse = |error: &RpcError| Reply::error(200, Some(request.id), error);
        let requested = request.params.string("protocolVersion").map_err(|error| refuse(&error))?;
        let capabilities = match request.params.get("capabilities") {
            Some(node) if node.is_object() => ClientCapabilities::read(node),
            _ => {
                let error = RpcError::new(Code::InvalidParams, "params.capabilities must be an object");
                return Err(refuse(&error));
            }
        };
        let client_info = request.params.get("clientInfo").and_then(ClientInfo::read);
        let revision = Revision::negotiate(&requested);
        let session = Session::new(id, principal, revision, capabilities, client_info);
        self.hub().join(session.news());
        let mut object = ObjectWriter::new();
        object
            .string("protocolVersion", revision.as_str())
            .raw("capabilities", &self.capabilities(Era::Legacy))
            .raw("serverInfo", &self.info().implementation());
        if let Some(instructions) = self.instructions() {
            object.string("instructions", &instructions);
        }
        let reply = Reply::result(request.id, object.finish().as_bytes());
        Ok((session, reply))
    }

    /// Only what would be answered is advertised.
    fn capabilities(&self, era: Era) -> String {
        let mut object = ObjectWriter::new();
        object.raw("tools", r#"{"listChanged":true}"#);
        if self.offers_resources() {
            object.raw("resources", r#"{"subscribe":true,"listChanged":true}"#);
        }
        if self.offers_prompts() {
            object.raw("prompts", r#"{"listChanged":true}"#);
        }
        if self.offers_completions() {
            object.raw("completions", "{}");
        }
        if era == Era::Legacy {
            object.raw("logging", "{}");
        }
        object.finish()
    }
}
