//! Decision which era a message belongs to.
//!
//! Guarantees: the rules are checked in one order on every transport, so the server answers a client consistently:
//! 1. `_meta` names a protocol version, whatever its value: modern (`initialize` is then a removed method);
//! 2. else `initialize`: legacy, whatever version it names;
//! 3. else the header names 2026-07-28 or later: modern, and the missing `_meta` will be refused;
//! 4. else the header names a version that is not supported: refused;
//! 5. else a session id: legacy, in that session;
//! 6. else legacy without a session, at the header's version, or at [`Revision::ASSUMED`] without the header.

use crate::revision::Revision;

/// Facts from a transport's headers, for messages that do not decide the era themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Told<'a> {
    /// Value of the `MCP-Protocol-Version` header.
    pub version: Option<&'a str>,
    /// `true` if the request has an `Mcp-Session-Id` header.
    pub has_session: bool,
}

/// Branch of the server that handles a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Branch {
    /// Stateless request of the modern era.
    Modern,
    /// `initialize` of the legacy era.
    Initialize,
    /// Legacy request in a session.
    Session,
    /// Legacy request without a session, at this revision.
    Sessionless(Revision),
    /// The version header names an unsupported version, and the message does not decide the era.
    UnknownVersion,
}

impl Branch {
    /// Decides the branch. `names_version_in_meta` is `true` if `params._meta` has
    /// `io.modelcontextprotocol/protocolVersion`; `is_initialize` is `true` for an `initialize` request. `headers` is
    /// called only if neither decides, because most messages do not need it.
    #[must_use]
    pub fn decide<'a>(
        names_version_in_meta: bool,
        is_initialize: bool,
        headers: impl FnOnce() -> Told<'a>,
    ) -> Self {
        if names_version_in_meta {
            return Self::Modern;
        }
        if is_initialize {
            return Self::Initialize;
        }
        let told = headers();
        if told.version.is_some_and(Revision::is_modern_date) {
            return Self::Modern;
        }
        let spoken = match told.version {
            None => Some(Revision::ASSUMED),
            Some(text) => Revision::parse(text),
        };
        match (told.has_session, spoken) {
            (_, None) => Self::UnknownVersion,
            (true, Some(_)) => Self::Session,
            (false, Some(revision)) => Self::Sessionless(revision),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(meta: bool, initialize: bool, header: Option<&str>, session: bool) -> Branch {
        Branch::decide(meta, initialize, || Told { version: header, has_session: session })
    }

    /// R2.8: both eras are served on one endpoint, by one order of rules.
    #[test]
    fn the_era_is_decided_in_one_order() {
        let modern = Some("2026-07-28");
        let legacy = Some("2025-11-25");
        let table = [
            (true, false, modern, false, Branch::Modern),
            (true, true, modern, false, Branch::Modern),
            (true, true, None, true, Branch::Modern),
            (true, false, legacy, true, Branch::Modern),
            (false, true, modern, true, Branch::Initialize),
            (false, true, legacy, false, Branch::Initialize),
            (false, true, Some("1999-01-01"), false, Branch::Initialize),
            (false, false, modern, true, Branch::Modern),
            (false, false, Some("2027-01-01"), false, Branch::Modern),
            (false, false, legacy, true, Branch::Session),
            (false, false, None, true, Branch::Session),
            (false, false, Some("2025-06-18"), false, Branch::Sessionless(Revision::V2025_06_18)),
            (false, false, None, false, Branch::Sessionless(Revision::V2025_03_26)),
            (false, false, Some("v999.0.0"), false, Branch::UnknownVersion),
            (false, false, Some("1999-01-01"), true, Branch::UnknownVersion),
        ];
        for (meta, initialize, header, session, expected) in table {
            assert_eq!(
                decide(meta, initialize, header, session),
                expected,
                "meta {meta}, initialize {initialize}, header {header:?}, session {session}"
            );
        }
    }
}
