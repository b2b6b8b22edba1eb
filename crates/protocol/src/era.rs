//! Which era a message belongs to.
//!
//! Guarantees: one order of questions for every transport, so that a client never sees the server change its mind:
//! 1. `_meta` names a protocol version, whatever its value: modern (an `initialize` with it is a removed method);
//! 2. else `initialize`: legacy, whatever version it names;
//! 3. else the header names 2026-07-28 or later: modern, and the missing `_meta` will be refused;
//! 4. else a session id: that session;
//! 5. else legacy without a session, at the header's version, or refused when we do not speak that version.

use crate::revision::Revision;

/// What a transport's headers say, where the message itself says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Told<'a> {
    /// The `MCP-Protocol-Version` header.
    pub version: Option<&'a str>,
    /// The `Mcp-Session-Id` header is there.
    pub has_session: bool,
}

/// The branch that serves the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Branch {
    Modern,
    Initialize,
    Session,
    Sessionless(Revision),
    /// A version header nobody here speaks, and nothing else to go by.
    UnknownVersion,
}

impl Branch {
    /// `names_version_in_meta`: `params._meta` holds `io.modelcontextprotocol/protocolVersion`. `is_initialize`: it is a
    /// request for `initialize`. The headers are asked last: most messages speak for themselves.
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

    /// R2.8: both eras on one endpoint, by the order of the five questions.
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
