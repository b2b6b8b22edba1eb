//! Content types with which an MCP server answers.

use toolcrib_http1::ResponseHead;

/// Kind of a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Events,
    Other,
}

impl Media {
    pub(crate) fn of(head: &ResponseHead) -> Self {
        let kind = head.get("content-type").unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if kind.eq_ignore_ascii_case("application/json") {
            Self::Json
        } else if kind.eq_ignore_ascii_case("text/event-stream") {
            Self::Events
        } else {
            Self::Other
        }
    }
}
