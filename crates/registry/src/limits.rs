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
