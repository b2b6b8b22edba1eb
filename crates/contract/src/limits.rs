//! Every limit of this crate: name, unit, value. LIMITS.md lists the same numbers and CI compares them.

/// Bytes of one message from a peer.
pub const JSON_MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of a file the operator asked to read (catalogue, lock).
pub const JSON_FILE_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Containers inside containers, in any JSON that is read.
pub const JSON_DEPTH_MAX: usize = 128;
/// Values and keys of one message; a tape slot is 16 bytes, so at most 8 MiB of tape.
pub const JSON_NODES_MAX: usize = 512 * 1024;
/// Values and keys of a file the operator asked to read.
pub const JSON_FILE_NODES_MAX: usize = 32 * 1024 * 1024;
/// Bytes of one tool definition.
pub const DEFINITION_BYTES_MAX: usize = 1024 * 1024;

/// Characters of a tool name.
pub const TOOL_NAME_CHARS_MAX: usize = 64;

/// Bytes of one schema.
pub const SCHEMA_BYTES_MAX: usize = 256 * 1024;
/// Schemas inside schemas.
pub const SCHEMA_DEPTH_MAX: usize = 64;
/// Subschemas of one schema.
pub const SCHEMA_SUBSCHEMAS_MAX: usize = 5_000;
/// Schema applications that one value can meet once every reference is expanded.
pub const SCHEMA_EXPANSION_MAX: usize = 20_000;
/// Bytes of one regular expression.
pub const SCHEMA_PATTERN_BYTES_MAX: usize = 4_096;
/// Regular expressions of one schema.
pub const SCHEMA_PATTERNS_MAX: usize = 256;
/// Bytes of one compiled regular expression.
pub const SCHEMA_PATTERN_COMPILED_BYTES_MAX: usize = 512 * 1024;

/// Violations reported for one check.
pub const VIOLATIONS_MAX: usize = 16;
/// Characters of a value shown in a violation.
pub const VIOLATION_VALUE_CHARS_MAX: usize = 80;
/// Enum values shown in a violation.
pub const VIOLATION_ALLOWED_MAX: usize = 20;
/// Depth up to which an answer is explained where a schema multiplies its own recursion.
pub const VIOLATION_EXPLAIN_DEPTH_MAX: usize = 10;
