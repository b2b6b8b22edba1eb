//! `_meta` of a modern request: protocol version, client capabilities, client info and log level.
//!
//! Refuses (-32602 invalid params) a missing or wrongly typed `protocolVersion` or `clientCapabilities`, and an
//! unknown log level. `clientInfo` is optional and never trusted.

use std::borrow::Cow;

use toolcrib_contract::json::{Keys, Node};

use crate::capability::ClientCapabilities;
use crate::error::{Code, RpcError};
use crate::frame::Params;
use crate::log::Level;

pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

static IMPLEMENTATION: Keys<2> = Keys::new(["name", "version"]);
static KNOWN: Keys<5> =
    Keys::new([PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, "progressToken"]);

/// Self-reported name and version of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientInfo {
    pub name: Box<str>,
    pub version: Box<str>,
}

impl ClientInfo {
    /// Reads `{name, version}`; `None` without a string `name`.
    #[must_use]
    pub fn read(node: Node<'_>) -> Option<Self> {
        let [name, version] = node.pick(&IMPLEMENTATION);
        let version = version.and_then(Node::as_str).unwrap_or_default();
        Some(Self { name: name?.as_str()?.into(), version: version.into() })
    }
}

/// Members of `_meta` that are looked up in every request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KnownMeta<'a> {
    protocol_version: Option<Node<'a>>,
    capabilities: Option<Node<'a>>,
    client_info: Option<Node<'a>>,
    log_level: Option<Node<'a>>,
    pub(crate) progress_token: Option<Node<'a>>,
}

impl<'a> KnownMeta<'a> {
    pub(crate) fn pick(meta: Node<'a>) -> Self {
        let [protocol_version, capabilities, client_info, log_level, progress_token] = meta.pick(&KNOWN);
        Self { protocol_version, capabilities, client_info, log_level, progress_token }
    }
}

/// Validated members of a modern request's `_meta`.
#[derive(Debug, Clone)]
pub struct Meta<'a> {
    pub protocol_version: Cow<'a, str>,
    pub capabilities: ClientCapabilities,
    pub client_info: Option<ClientInfo>,
    pub log_level: Option<Level>,
}

impl<'a> Meta<'a> {
    /// Validates the `_meta` of a modern request.
    pub fn read(params: &Params<'a>) -> Result<Self, RpcError> {
        if params.meta.is_none() {
            return Err(refuse(format!(
                "params._meta is missing; it must hold {PROTOCOL_VERSION} and {CLIENT_CAPABILITIES}"
            )));
        }
        let KnownMeta { protocol_version, capabilities, client_info, log_level, .. } = params.known_meta;
        let protocol_version = protocol_version
            .and_then(toolcrib_contract::json::Node::as_str)
            .ok_or_else(|| refuse(format!("params._meta must hold {PROTOCOL_VERSION}, a string")))?;
        let capabilities = capabilities
            .filter(|node| node.is_object())
            .ok_or_else(|| refuse(format!("params._meta must hold {CLIENT_CAPABILITIES}, an object")))?;
        let log_level = match log_level {
            None => None,
            Some(node) => Some(
                node.as_str()
                    .and_then(|text| Level::parse(&text))
                    .ok_or_else(|| refuse(format!("params._meta: {LOG_LEVEL} is no log level")))?,
            ),
        };
        Ok(Self {
            protocol_version,
            capabilities: ClientCapabilities::read(capabilities),
            client_info: client_info.and_then(ClientInfo::read),
            log_level,
        })
    }

    /// `true` if `_meta` names a protocol version, which makes the message modern whatever else it contains.
    #[must_use]
    pub fn names_version(params: &Params<'_>) -> bool {
        params.known_meta.protocol_version.is_some()
    }
}

fn refuse(message: String) -> RpcError {
    RpcError::new(Code::InvalidParams, message)
}
