//! `server/discover` and `initialize`: identity and capabilities of the server.

use std::sync::Arc;

use toolcrib_contract::json::ObjectWriter;
use toolcrib_protocol::{ClientCapabilities, ClientInfo, Code, Era, Request, Revision, RpcError};

use crate::caller::Caller;
use crate::discovery::enable::obstacle;
use crate::engine::Engine;
use crate::exchange::Exchange;
use crate::principal::Principal;
use crate::reply::Reply;
use crate::safety::vouch;
use crate::session::{Session, SessionId};
use crate::stage::caller;
use crate::toolset::catalogue::enumerated;
use crate::toolset::selection::Approach;

impl Engine {
    pub(super) fn discover(&self, caller: &Caller<'_>, request: &Request<'_>) -> Reply {
        let versions: Vec<String> = Revision::ALL.iter().map(|revision| format!("\"{revision}\"")).collect();
        let mut object = ObjectWriter::new();
        object
            .string("resultType", "complete")
            .raw("supportedVersions", &format!("[{}]", versions.join(",")))
            .raw("capabilities", &self.capabilities(Era::Modern));
        if let Some(instructions) = self.instructions_for(caller) {
            object.string("instructions", &instructions);
        }
        let hint = self.list_render(caller).hint;
        object
            .raw("ttlMs", &hint.ttl_ms.to_string())
            .string("cacheScope", hint.scope.as_str())
            .raw("_meta", self.meta());
        Reply::result(request.id, object.finish().as_bytes())
    }

    /// Opens a legacy session; `id` is the transport's session id, if it has one.
    pub fn initialize(
        &self,
        principal: Principal,
        id: Option<SessionId>,
        approach: Arc<Approach>,
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
        session.come_by(approach);
        let caller = caller::legacy(&session, Exchange::silent());
        session.sees(self.listed(&caller).fingerprint());
        if self.toolsets().is_on() {
            tracing::info!(target: "toolcrib", "a session begins, client mode {}", self.client_mode(&caller));
        }
        self.hub().join(session.news());
        let mut object = ObjectWriter::new();
        object
            .string("protocolVersion", revision.as_str())
            .raw("capabilities", &self.capabilities(Era::Legacy))
            .raw("serverInfo", &self.info().implementation());
        if let Some(instructions) = self.instructions_for(&caller) {
            object.string("instructions", &instructions);
        }
        let reply = Reply::result(request.id, object.finish().as_bytes());
        Ok((session, reply))
    }

    /// Returns the author's instructions; if the caller can reach tools that are not listed, they also tell how to
    /// find them.
    fn instructions_for(&self, caller: &Caller<'_>) -> Option<String> {
        let own = self.instructions();
        let snapshot = self.registry().load();
        let catalogue = &snapshot.catalogue;
        let standing = self.standing(caller, catalogue);
        if !catalogue.options().has_discovery() || standing.loaded == standing.reach {
            return own.map(|own| String::clone(&own));
        }
        let hidden = catalogue.reachable_kits(&standing).filter(|(at, _)| !standing.loaded.has(*at));
        let names = enumerated(hidden.map(|(_, kit)| kit.name.to_string()), ", ");
        let mut text = own.map_or_else(String::new, |own| format!("{own}\n\n"));
        text.push_str(&format!(
            "More tools are available than are listed, in these toolsets: {names}. search_tools finds one by what it \
             does, call_tool calls it."
        ));
        if obstacle(self, caller, "").is_none() {
            text.push_str(" enable_toolset lists a whole toolset.");
        }
        Some(text)
    }

    /// Returns the capabilities: only methods that would be answered are advertised.
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
        if let Some(voucher) = self.safety().and_then(|safety| safety.voucher()) {
            let (name, key) = (vouch::CAPABILITY, voucher.public());
            object.raw("experimental", &format!(r#"{{"{name}":{{"key":"{key}"}}}}"#));
        }
        object.finish()
    }
}
