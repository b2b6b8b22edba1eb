//! [`Peer`]: the client side of one request, in either era.

use std::sync::Arc;

use toolcrib_protocol::{Capability, ClientCapabilities, ClientInfo, Era, Level, Revision};

use crate::session::Session;

/// Client information in the `_meta` of a modern request.
#[derive(Debug, Clone)]
pub struct ModernPeer {
    pub revision: Revision,
    pub capabilities: ClientCapabilities,
    pub client_info: Option<ClientInfo>,
    pub log_level: Option<Level>,
}

/// Client side of one request.
#[derive(Debug, Clone)]
pub enum Peer {
    Modern(Arc<ModernPeer>),
    Legacy(Arc<Session>),
}

impl Peer {
    #[must_use]
    pub fn revision(&self) -> Revision {
        match self {
            Self::Modern(peer) => peer.revision,
            Self::Legacy(session) => session.revision(),
        }
    }

    #[must_use]
    pub fn era(&self) -> Era {
        match self {
            Self::Modern(_) => Era::Modern,
            Self::Legacy(_) => Era::Legacy,
        }
    }

    /// Returns the client's self-reported name and version; never a reason to allow anything.
    #[must_use]
    pub fn client_info(&self) -> Option<&ClientInfo> {
        match self {
            Self::Modern(peer) => peer.client_info.as_ref(),
            Self::Legacy(session) => session.client_info(),
        }
    }

    #[must_use]
    pub fn can(&self, capability: Capability) -> bool {
        match self {
            Self::Modern(peer) => peer.capabilities.has(capability),
            Self::Legacy(session) => session.can(capability),
        }
    }

    /// Returns true if the client wants log messages of this level.
    #[must_use]
    pub fn logs(&self, level: Level) -> bool {
        match self {
            Self::Modern(peer) => peer.log_level.is_some_and(|least| level >= least),
            Self::Legacy(session) => session.logs(level),
        }
    }

    #[must_use]
    pub fn session(&self) -> Option<&Arc<Session>> {
        match self {
            Self::Modern(_) => None,
            Self::Legacy(session) => Some(session),
        }
    }
}
