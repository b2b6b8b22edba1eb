//! Caller stage: reads what a modern request says about its client, and checks that its headers agree.
//!
//! Refuses, in this order: `_meta` without its required members (-32602), a version header that differs (-32020), an
//! unsupported version (-32022), `Mcp-Method` or `Mcp-Name` that differ (-32020). Legacy callers come from their
//! session.

use std::cell::RefCell;
use std::sync::Arc;

use toolcrib_contract::json::Node;
use toolcrib_protocol::header::{self, Headers};
use toolcrib_protocol::{ClientCapabilities, ClientInfo, Era, Meta, Request, Revision};

use crate::caller::Caller;
use crate::exchange::Exchange;
use crate::peer::{ModernPeer, Peer};
use crate::principal::Principal;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::toolset::selection::Approach;

/// Maximum bytes of a `_meta` that is cached.
const META_BYTES_MAX: usize = 1024;

thread_local! {
    /// Cache of the last `_meta` that this thread read: all requests of one client usually carry an identical one.
    static LAST: RefCell<Option<(Box<str>, Arc<ModernPeer>)>> = const { RefCell::new(None) };
}

/// Returns the cached peer if `meta` is the text that was read last.
fn known(meta: &str) -> Option<Arc<ModernPeer>> {
    LAST.with_borrow(|last| last.as_ref().filter(|(text, _)| **text == *meta).map(|(_, peer)| peer.clone()))
}

fn keep(meta: &str, peer: &Arc<ModernPeer>) {
    if meta.len() <= META_BYTES_MAX {
        LAST.set(Some((meta.into(), peer.clone())));
    }
}

/// Returns the caller of a modern request.
pub fn modern<'a>(
    principal: Principal,
    headers: Option<&'a (dyn Headers + Sync)>,
    request: &Request<'_>,
    exchange: Arc<Exchange>,
) -> Result<Caller<'a>, Refusal> {
    let mirrors = headers.map(Headers::mirrors);
    let is_mirrored = |version: &str| {
        let mirrors = mirrors.as_ref();
        mirrors.map_or(Ok(()), |mirrors| mirrors.version.require(header::PROTOCOL_VERSION, version))
    };
    let meta = request.params.meta.map(Node::raw).unwrap_or_default();
    let peer = match known(meta) {
        Some(peer) => {
            is_mirrored(peer.revision.as_str())?;
            peer
        }
        None => {
            let read = Meta::read(&request.params).map_err(|error| Refusal::BadMeta(Box::new(error)))?;
            is_mirrored(&read.protocol_version)?;
            let revision = Revision::parse(&read.protocol_version)
                .filter(|revision| revision.era() == Era::Modern)
                .ok_or_else(|| Refusal::UnsupportedVersion(read.protocol_version.as_ref().into()))?;
            let Meta { capabilities, client_info, log_level, .. } = read;
            let peer = Arc::new(ModernPeer { revision, capabilities, client_info, log_level });
            keep(meta, &peer);
            peer
        }
    };
    if let Some(mirrors) = &mirrors {
        mirrors.method.require(header::METHOD, &request.method)?;
        if let Some(name) = mirrored_name(request) {
            mirrors.name.require(header::NAME, &name)?;
        }
    }
    let peer = Peer::Modern(peer);
    Ok(Caller { principal, peer, headers, exchange, approach: None, address: None })
}

/// Returns the caller of a legacy request.
#[must_use]
pub fn legacy<'a>(session: &Arc<Session>, exchange: Arc<Exchange>) -> Caller<'a> {
    exchange.survive_disconnect();
    Caller {
        principal: session.principal().clone(),
        peer: Peer::Legacy(session.clone()),
        headers: None,
        exchange,
        approach: Some(session.approach()),
        address: None,
    }
}

/// Returns a hypothetical caller, to explain how a client of this name would be treated.
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
    let (exchange, approach) = (Exchange::silent(), Some(approach));
    Caller { principal, peer, headers: None, exchange, approach, address: None }
}

/// Returns the member that `Mcp-Name` must repeat. A missing or wrongly typed member is refused later, as a bad
/// parameter.
fn mirrored_name<'a>(request: &Request<'a>) -> Option<std::borrow::Cow<'a, str>> {
    let member = match &*request.method {
        "tools/call" | "prompts/get" => request.params.name,
        "resources/read" => request.params.get("uri"),
        _ => None,
    };
    member?.as_str()
}
