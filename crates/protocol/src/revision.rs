//! MCP revisions and their differences for a tool server.
//!
//! Guarantees: a [`Revision`] is one of the five published ones, ordered by date; every difference that the server
//! acts on is a method here, so that no other module compares dates.

use std::fmt;

/// A published revision of the Model Context Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

/// Protocol era: legacy has `initialize` and sessions, modern is stateless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    Legacy,
    Modern,
}

impl Revision {
    /// Every supported revision, newest first, in the order in which `server/discover` and error -32022 list them.
    pub const ALL: [Self; 5] =
        [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26, Self::V2024_11_05];

    /// Revision that `initialize` returns for an unknown version.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;

    /// Revision of a legacy HTTP request that has neither a version header nor a session.
    pub const ASSUMED: Self = Self::V2025_03_26;

    /// First stateless revision.
    pub const FIRST_MODERN: Self = Self::V2026_07_28;

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text)
    }

    /// Returns the revision for `initialize`: the requested one if it is a supported legacy revision, else the newest
    /// legacy one.
    #[must_use]
    pub fn negotiate(requested: &str) -> Self {
        match Self::parse(requested) {
            Some(revision) if revision.era() == Era::Legacy => revision,
            _ => Self::NEWEST_LEGACY,
        }
    }

    /// `true` if the version string has a date at or after the first stateless revision, whether supported or not.
    #[must_use]
    pub fn is_modern_date(text: &str) -> bool {
        let bytes = text.as_bytes();
        let dated = bytes.len() == 10
            && bytes.iter().enumerate().all(|(index, byte)| match index {
                4 | 7 => *byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        dated && text >= Self::FIRST_MODERN.as_str()
    }

    #[must_use]
    pub fn era(self) -> Era {
        if self >= Self::FIRST_MODERN { Era::Modern } else { Era::Legacy }
    }

    /// `true` if bad arguments are reported as a tool result, which the model can repair, instead of a protocol error
    /// (SEP-1303).
    #[must_use]
    pub fn reports_bad_arguments_as_result(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// `true` if JSON-RPC batches are accepted: up to 2025-03-26.
    #[must_use]
    pub fn accepts_batches(self) -> bool {
        self <= Self::V2025_03_26
    }

    #[must_use]
    pub fn has_annotations(self) -> bool {
        self >= Self::V2025_03_26
    }

    #[must_use]
    pub fn has_audio(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// `true` if the revision has `structuredContent`, which came with `outputSchema`, `title`, `resource_link` and
    /// elicitation.
    #[must_use]
    pub fn has_structured_content(self) -> bool {
        self >= Self::V2025_06_18
    }

    #[must_use]
    pub fn has_resource_links(self) -> bool {
        self >= Self::V2025_06_18
    }

    #[must_use]
    pub fn has_elicitation(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// `true` if an elicitation has `mode`, and its schema may have arrays, titled enums and defaults of any type.
    #[must_use]
    pub fn has_rich_elicitation(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// `true` if a resumable stream starts with an event of empty data (SEP-1699).
    #[must_use]
    pub fn primes_streams(self) -> bool {
        self == Self::V2025_11_25
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_reads_back_from_its_name() {
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.as_str()), Some(revision));
        }
        assert_eq!(Revision::parse("2025-11-26"), None);
    }

    #[test]
    fn initialize_never_negotiates_the_stateless_revision() {
        assert_eq!(Revision::negotiate("2025-06-18"), Revision::V2025_06_18);
        assert_eq!(Revision::negotiate("2026-07-28"), Revision::V2025_11_25);
        assert_eq!(Revision::negotiate("banana"), Revision::V2025_11_25);
    }

    #[test]
    fn only_dates_from_the_stateless_revision_on_count_as_modern() {
        assert!(Revision::is_modern_date("2026-07-28"));
        assert!(Revision::is_modern_date("2031-01-01"));
        assert!(!Revision::is_modern_date("2026-07-27"));
        assert!(!Revision::is_modern_date("v999.0.0"));
        assert!(!Revision::is_modern_date("9999-99-9x"));
    }
}
