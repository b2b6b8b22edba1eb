//! Caller: what a modern request says about itself, and that its headers say the same.
//!
//! Refuses, in this order: `_meta` without its required members (-32602), a version header that differs (-32020), a
//! version we do not speak (-32022), `Mcp-Method` or `Mcp-Name` that differ (-32020). Legacy callers come from their
//! session.

use std::sync::Arc;

use toolcrib_protocol::header::{self, Headers};
use toolcrib_protocol::{ClientCapabilities, ClientInfo, Era, Meta, Request, Revision};

use crate::caller::Caller;
use crate::exchange::Exchange;
use crate::peer::{ModernPeer, Peer};
use crate::principal::Principal;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::toolset::selection::Approach;

/// The caller of a modern request.
pub fn modern<'a>(
    principal: Principal,
    headers: Option<&'a (dyn Headers + Sync)>,
    request: &Request<'_>,
    exchange: Arc<Exchange>,
) -> Result<Caller<'a>, Refusal> {
    let meta = Meta::read(&request.params).map_err(Refusal::BadMeta)?;
    let mirrors = headers.map(Headers::mirrors);
    if let Some(mirrors) = &mirrors {
        mirrors.version.require(header::PROTOCOL_VERSION, &meta.protocol_version)?;
    }
    let revision = Revision::parse(&meta.protocol_version)
        .filter(|revision| revision.era() == Era::Modern)
        .ok_or_else(|| Refusal::UnsupportedVersion(meta.protocol_version.as_ref().into()))?;
    if let Some(mirrors) = &mirrors {
        mirrors.method.require(header::METHOD, &request.method)?;
        if let Some(name) = mirrored_name(request) {
            mirrors.name.require(header::NAME, &name)?;
        }
    }
    let peer = ModernPeer {
        revision,
        capabilities: meta.capabilities,
        client_info: meta.client_info,
        log_level: meta.log_level,
    };
    let peer = Peer::Modern(Arc::new(peer));
    Ok(Caller { principal, peer, headers, exchange, approach: None })
}

/// The caller of a legacy request.
#[must_use]
pub fn legacy<'a>(session: &Arc<Session>, exchange: Arc<Exchange>) -> Caller<'a> {
    exchange.survive_disconnect();
    Caller {
        principal: session.principal().clone(),
        peer: Peer::Legacy(session.clone()),
        headers: None,
        exchange,
        approach: Some(session.approach()),
    }
}

/// A caller that nobody sent, for explaining what a client of this name would meet.
#[must_use]
pub fn supposed<'a>(
    client: &str,
    era: Era,
    capabilities: ClientCapabilities,
    principal: Principal,
    approach: Arc<Approach>,
) -> Caller<'a> {
    let client_info = Some(ClientInfo { name: client.into(), version: "".into() });
    let peer = match era {
        Era::Modern => Peer::Modern(Arc::new(ModernPeer {
            revision: Revision::FIRST_MODERN,
            capabilities,
            client_info,
            log_level: None,
        })),
        Era::Legacy => Peer::Legacy(Session::new(
            None,
            principal.clone(),
            Revision::NEWEST_LEGACY,
            capabilities,
            client_info,
        )),
    };
    Caller { principal, peer, headers: None, exchange: Exchange::silent(), approach: Some(approach) }
}

/// What `Mcp-Name` must repeat. A missing or wrongly typed member is refused later, as the parameter it is.
fn mirrored_name<'a>(request: &Request<'a>) -> Option<std::borrow::Cow<'a, str>> {
    let member = match &*request.method {
        "tools/call" | "prompts/get" => request.params.name,
        "resources/read" => request.params.get("uri"),
        _ => None,
    };
    member?.as_str()
}
