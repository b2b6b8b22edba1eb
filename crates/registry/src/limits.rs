//! Limits of this crate, listed in LIMITS.md.

/// Maximum nesting depth of a YAML text.
pub const YAML_DEPTH_MAX: usize = 64;
/// Maximum bytes of JSON that one YAML text becomes; aliases are refused, so it cannot multiply.
pub const YAML_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Maximum issues kept in one report; further ones are only counted.
pub const REPORT_ISSUES_MAX: usize = 10_000;
/// Maximum characters of a description in server.json.
pub const SERVER_DESCRIPTION_CHARS_MAX: usize = 100;
/// Maximum characters of a title in server.json.
pub const SERVER_TITLE_CHARS_MAX: usize = 100;
/// Maximum bytes indexed for search of a tool's description, and again of its parameters.
pub const INDEX_TEXT_BYTES_MAX: usize = 4_096;
/// Maximum results of one page of the HTTP API.
pub const PAGE_RESULTS_MAX: u32 = 100;
/// Default results of one page of the HTTP API.
pub const PAGE_RESULTS_DEFAULT: u32 = 30;
/// Maximum bytes of a published server.json.
pub const PUBLISH_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Maximum characters of the message of a status change.
pub const STATUS_MESSAGE_CHARS_MAX: usize = 500;
/// Maximum bytes of a query parameter, such as a search or a cursor.
pub const QUERY_BYTES_MAX: usize = 1_024;
