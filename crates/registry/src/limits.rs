//! Every limit of this crate: name, unit, value. LIMITS.md lists the same numbers and CI compares them.

/// Containers inside containers, in YAML that is read.
pub const YAML_DEPTH_MAX: usize = 64;
/// Bytes of JSON that one YAML text may become; aliases are refused, so it cannot multiply.
pub const YAML_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Issues kept in one report; the rest is counted.
pub const REPORT_ISSUES_MAX: usize = 10_000;
/// Characters of a description in server.json.
pub const SERVER_DESCRIPTION_CHARS_MAX: usize = 100;
/// Characters of a title in server.json.
pub const SERVER_TITLE_CHARS_MAX: usize = 100;
/// Bytes of a tool's description, and again of its parameters, that are indexed for search; longer prose adds no words.
pub const INDEX_TEXT_BYTES_MAX: usize = 4_096;
/// Results of one page of the HTTP API.
pub const PAGE_RESULTS_MAX: u32 = 100;
/// Results of a page where nobody said how many.
pub const PAGE_RESULTS_DEFAULT: u32 = 30;
/// Bytes of a server.json that is published.
pub const PUBLISH_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Characters of the message of a change of status.
pub const STATUS_MESSAGE_CHARS_MAX: usize = 500;
/// Bytes of a search or of a cursor.
pub const QUERY_BYTES_MAX: usize = 1_024;
