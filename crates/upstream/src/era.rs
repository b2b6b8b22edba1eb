//! Detection of a server's era, by `server/discover` and never by a call.
//!
//! A discovery result or one of the modern errors means modern, in a version that the server lists. Anything else, or
//! silence over stdio, means legacy, and `initialize` follows. A process that exits on `server/discover` is restarted
//! and gets `initialize` first. If the operator sets a revision, only that one is negotiated.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_contract::json::Node;
use toolcrib_protocol::{Code, Era, Revision};

use crate::connection::{CLIENT_INFO, Introduction, Wire, send};
use crate::error::{Cause, UpstreamError};
use crate::http::HttpLink;
use crate::limits::UPSTREAM_DISCOVER_MS_MAX;
use crate::message::Message;
use crate::pending::Pending;
use crate::request::Request;
use crate::spec::{Command, Endpoint};
use crate::sse::SseLink;
use crate::stdio::StdioLink;

/// Capabilities that some client of the gateway may have. A call whose client lacks one gets an error when the server
/// asks.
const CAPABILITIES: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;

enum Discovered {
    Modern(Introduction),
    /// The server is modern and lists this version, which is known here; discovery is repeated in it.
    Again(Revision),
    /// The server is legacy: `initialize` follows.
    Legacy,
}

pub(crate) async fn over_stdio(
    name: &str,
    command: &Command,
    wanted: Option<Revision>,
) -> Result<(Wire, Introduction), UpstreamError> {
    let start = || StdioLink::start(name, command).map(|link| Wire::Stdio(Arc::new(link)));
    let wire = start().map_err(UpstreamError::unsent)?;
    if let Some(wanted) = wanted {
        let introduction = asked_for(&wire, wanted).await?;
        return Ok((wire, introduction));
    }
    match first_contact(&wire).await {
        Ok(introduction) => Ok((wire, introduction)),
        Err(error) if matches!(*error.cause, Cause::Exited { .. } | Cause::Closed) => {
            drop(wire);
            let wire = start().map_err(UpstreamError::unsent)?;
            let introduction = initialize(&wire, Revision::NEWEST_LEGACY).await?;
            Ok((wire, introduction))
        }
        Err(error) => Err(error),
    }
}

async fn first_contact(wire: &Wire) -> Result<Introduction, UpstreamError> {
    let mut discovery = send(wire, &discover(), Revision::FIRST_MODERN).await?;
    let patience = Duration::from_millis(UPSTREAM_DISCOVER_MS_MAX);
    match tokio::time::timeout(patience, discovery.answer()).await {
        Ok(answer) => settle(wire, discovered(answer?)?).await,
        // The server starts slowly, or ignores unknown requests: the first answer decides.
        Err(_) => {
            let mut initialization =
                send(wire, &initialize_request(Revision::NEWEST_LEGACY), Revision::NEWEST_LEGACY).await?;
            tokio::select! {
                // A modern server that was slow answers both, and refuses the second.
                biased;
                answer = discovery.answer() => match discovered(answer?)? {
                    Discovered::Legacy => initialized(initialization.answer().await?),
                    modern => settle(wire, modern).await,
                },
                answer = initialization.answer() => initialized(answer?),
            }
        }
    }
}

/// Negotiates the revision that the operator set.
async fn asked_for(wire: &Wire, wanted: Revision) -> Result<Introduction, UpstreamError> {
    let other = |offered| UpstreamError::sent(Cause::OtherRevision { wanted, offered });
    if wanted.era() == Era::Legacy {
        return match initialize(wire, wanted).await {
            Ok(introduction) if introduction.revision == wanted => Ok(introduction),
            Ok(introduction) => Err(other(Some(introduction.revision))),
            Err(error) if *error.cause == Cause::NoVersion => Err(other(None)),
            Err(error) => Err(error),
        };
    }
    let message = send(wire, &discover(), wanted).await?.answer().await?;
    let versions = message.result().ok().and_then(|result| result.get("supportedVersions"));
    let speaks = versions.is_some_and(|all| all.elements().any(|one| one.is_text(wanted.as_str())));
    if !speaks {
        return Err(other(versions.and_then(newest)));
    }
    Ok(Introduction { revision: wanted, message: message.into_document() })
}

/// Connects over Streamable HTTP, or over HTTP+SSE if the server has nothing else.
pub(crate) async fn over_http(
    name: &str,
    endpoint: &Endpoint,
    http: &Arc<HttpLink>,
    wanted: Option<Revision>,
) -> Result<(Wire, Introduction), UpstreamError> {
    let wire = Wire::Http(http.clone());
    let greeted = match wanted {
        Some(wanted) => asked_for(&wire, wanted).await,
        None => first_request(&wire).await,
    };
    match greeted {
        Ok(introduction) => {
            http.agree(introduction.revision);
            Ok((wire, introduction))
        }
        Err(error)
            if matches!(*error.cause, Cause::Status { status: 400 | 404 | 405 })
                && wanted.is_none_or(|wanted| wanted.era() == Era::Legacy) =>
        {
            let patience = Duration::from_millis(UPSTREAM_DISCOVER_MS_MAX);
            let sse = match tokio::time::timeout(patience, SseLink::open(name, endpoint)).await {
                Ok(Ok(sse)) => sse,
                // It speaks that transport but violates it.
                Ok(Err(broken)) if matches!(*broken.cause, Cause::Garbage(_)) => return Err(broken),
                _ => return Err(error),
            };
            let wire = Wire::Sse(Arc::new(sse));
            let introduction = match wanted {
                Some(wanted) => asked_for(&wire, wanted).await?,
                None => initialize(&wire, Revision::NEWEST_LEGACY).await?,
            };
            Ok((wire, introduction))
        }
        Err(error) => Err(error),
    }
}

async fn first_request(wire: &Wire) -> Result<Introduction, UpstreamError> {
    let discovery = async {
        let mut pending: Pending = send(wire, &discover(), Revision::FIRST_MODERN).await?;
        pending.answer().await
    };
    match discovery.await {
        Ok(answer) => settle(wire, discovered(answer)?).await,
        Err(error) => match *error.cause {
            // Legacy servers answer an unknown request in any of these ways.
            Cause::Status { .. } | Cause::Garbage(_) | Cause::Closed | Cause::SessionGone => {
                initialize(wire, Revision::NEWEST_LEGACY).await
            }
            _ => Err(error),
        },
    }
}

/// Turns a discovery into an introduction; repeats discovery at most once.
async fn settle(wire: &Wire, found: Discovered) -> Result<Introduction, UpstreamError> {
    let found = match found {
        Discovered::Again(revision) => discovered(send(wire, &discover(), revision).await?.answer().await?)?,
        settled => settled,
    };
    match found {
        Discovered::Modern(introduction) => Ok(introduction),
        Discovered::Legacy => initialize(wire, Revision::NEWEST_LEGACY).await,
        Discovered::Again(_) => Err(UpstreamError::sent(Cause::NoVersion)),
    }
}

fn discover() -> Request<'static> {
    Request::new("server/discover")
}

fn initialize_request(revision: Revision) -> Request<'static> {
    Request::new("initialize")
        .string("protocolVersion", revision.as_str())
        .raw("capabilities", CAPABILITIES)
        .raw("clientInfo", CLIENT_INFO)
}

async fn initialize(wire: &Wire, revision: Revision) -> Result<Introduction, UpstreamError> {
    initialized(send(wire, &initialize_request(revision), revision).await?.answer().await?)
}

fn initialized(message: Message) -> Result<Introduction, UpstreamError> {
    let result = message.result().map_err(|error| UpstreamError::sent(Cause::Refused(error)))?;
    let version = result.get("protocolVersion").and_then(Node::as_str).unwrap_or_default();
    let revision = Revision::parse(&version)
        .filter(|revision| revision.era() == Era::Legacy)
        .ok_or(UpstreamError::sent(Cause::NoVersion))?;
    Ok(Introduction { revision, message: message.into_document() })
}

fn discovered(message: Message) -> Result<Discovered, UpstreamError> {
    match message.result() {
        Ok(result) => {
            let Some(versions) = result.get("supportedVersions") else { return Ok(Discovered::Legacy) };
            match newest(versions) {
                Some(revision) if revision.era() == Era::Modern => {
                    Ok(Discovered::Modern(Introduction { revision, message: message.into_document() }))
                }
                Some(_) => Ok(Discovered::Legacy),
                None => Err(UpstreamError::sent(Cause::NoVersion)),
            }
        }
        Err(error) => {
            let supported = || {
                let data = error.data.as_deref()?;
                let document = toolcrib_contract::json::OwnedDocument::parse(
                    data,
                    &toolcrib_contract::json::Limits::message(),
                )
                .ok()?;
                newest(document.root().get("supported")?)
            };
            let is_version = error.code == Code::UnsupportedVersion.number();
            match (is_version, supported()) {
                // The server is modern, but none of its versions is known here.
                (true, None) => Err(UpstreamError::sent(Cause::NoVersion)),
                (true, Some(revision)) if revision.era() == Era::Modern => Ok(Discovered::Again(revision)),
                _ => Ok(Discovered::Legacy),
            }
        }
    }
}

/// Returns the newest revision in a list that both sides know.
fn newest(versions: Node<'_>) -> Option<Revision> {
    versions.elements().filter_map(Node::as_str).filter_map(|version| Revision::parse(&version)).max()
}
