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
/// Estimated bytes of all compiled regular expressions of one schema, with what matching adds at run time: about 80
/// patterns like that of a UUID.
pub const SCHEMA_PATTERNS_COMPILED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of the cache in which one regular expression keeps the states that it has met, per thread.
pub const SCHEMA_PATTERN_CACHE_BYTES_MAX: usize = 256 * 1024;
/// Bytes of such a cache in a schema of many regular expressions: enough for the states of common patterns.
pub const SCHEMA_PATTERN_CACHE_BYTES_MIN: usize = 32 * 1024;
/// Transitions that are followed to find out how many states the regular expressions of one schema can meet; a pattern
/// that is left over is taken to fill its cache.
pub const SCHEMA_PATTERN_STEPS_MAX: usize = 200_000;
/// Estimated bytes of the compiled schemas of one server behind a gateway.
pub const SERVER_SCHEMAS_BYTES_MAX: usize = 14 * 1024 * 1024;
/// Estimated bytes of compiled schemas that every server may use, whatever the other servers use.
pub const SERVER_SCHEMAS_BYTES_MIN: usize = 1024 * 1024;
/// Estimated bytes of all compiled schemas of one process: sixteen times what one server may use.
pub const SCHEMAS_BYTES_MAX: usize = 224 * 1024 * 1024;

/// Steps (look-ups of the validator, weighted by their cost) of checking a value of up to 1 MiB; larger values have more in
/// proportion. Measured at 10 to 20 ns each, so that a check ends within 50 ms.
pub const CHECK_STEPS_MAX: u64 = 1_300_000;
/// Steps of a check on a thread that serves others, about a millisecond; what needs more is checked elsewhere.
pub const CHECK_BRIEF_STEPS_MAX: u64 = 100_000;
/// Bytes of a text times states of a regular expression that it can be at, where the states are too many for a small automaton. Matching
/// takes at most 10 ns for each, so that one text ends within 50 ms.
pub const CHECK_PATTERN_PAIRS_MAX: u64 = 4_000_000;
/// Bytes of stack that one check may use. Worker threads have 2 MiB.
pub const CHECK_STACK_BYTES_MAX: usize = 1024 * 1024;

/// Violations reported for one check.
pub const VIOLATIONS_MAX: usize = 16;
/// Characters of a value shown in a violation.
pub const VIOLATION_VALUE_CHARS_MAX: usize = 80;
/// Enum values shown in a violation.
pub const VIOLATION_ALLOWED_MAX: usize = 20;
/// Characters of one enum value shown in a violation.
pub const VIOLATION_ALLOWED_CHARS_MAX: usize = 200;
/// Known property names shown beside an unknown one.
pub const VIOLATION_KNOWN_MAX: usize = 100;
/// Bytes of a path shown in a violation; a longer one is cut.
pub const VIOLATION_PATH_BYTES_MAX: usize = 1_024;
/// Bytes of all violations of one report; at least one violation is reported.
pub const VIOLATION_BYTES_MAX: usize = 16 * 1024;
/// Steps (subschemas and keywords applied) of explaining a value of up to 1 MiB; larger values have more in proportion.
pub const VIOLATION_STEPS_MAX: u64 = 400_000;
/// Steps of an explanation on a thread that serves others, about a millisecond; what needs more is explained elsewhere.
pub const VIOLATION_BRIEF_STEPS_MAX: u64 = 20_000;
