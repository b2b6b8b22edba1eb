//! Limits of this crate: one constant each, with its unit. LIMITS.md is generated from them and compared in CI.

/// Maximum bytes of one message from a peer.
pub const JSON_MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum bytes of a file that the operator asked to read (catalogue, lock).
pub const JSON_FILE_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Maximum nesting depth of objects and arrays in any JSON that is read.
pub const JSON_DEPTH_MAX: usize = 128;
/// Maximum values and keys of one message; a tape slot is 16 bytes, so at most 8 MiB of tape.
pub const JSON_NODES_MAX: usize = 512 * 1024;
/// Maximum values and keys of a file that the operator asked to read.
pub const JSON_FILE_NODES_MAX: usize = 32 * 1024 * 1024;
/// Maximum bytes of one tool definition.
pub const DEFINITION_BYTES_MAX: usize = 1024 * 1024;

/// Maximum characters of a tool name.
pub const TOOL_NAME_CHARS_MAX: usize = 64;

/// Maximum bytes of one schema.
pub const SCHEMA_BYTES_MAX: usize = 256 * 1024;
/// Maximum nesting depth of subschemas.
pub const SCHEMA_DEPTH_MAX: usize = 64;
/// Maximum subschemas of one schema.
pub const SCHEMA_SUBSCHEMAS_MAX: usize = 5_000;
/// Maximum schema applications that one value can meet once every reference is expanded.
pub const SCHEMA_EXPANSION_MAX: usize = 20_000;
/// Maximum bytes of one regular expression.
pub const SCHEMA_PATTERN_BYTES_MAX: usize = 4_096;
/// Maximum regular expressions of one schema.
pub const SCHEMA_PATTERNS_MAX: usize = 256;
/// Maximum bytes of one compiled regular expression.
pub const SCHEMA_PATTERN_COMPILED_BYTES_MAX: usize = 512 * 1024;
/// Maximum estimated bytes of all compiled regular expressions of one schema, with the memory that matching adds at
/// run time: about 80 patterns like that of a UUID.
pub const SCHEMA_PATTERNS_COMPILED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum bytes of one regular expression's lazy-DFA cache, per thread.
pub const SCHEMA_PATTERN_CACHE_BYTES_MAX: usize = 256 * 1024;
/// Minimum bytes of one regular expression's lazy-DFA cache when a schema has many: enough for the states of common
/// patterns.
pub const SCHEMA_PATTERN_CACHE_BYTES_MIN: usize = 32 * 1024;
/// Maximum transitions followed to count the DFA states of one schema's regular expressions; a pattern whose count
/// does not finish is weighed as if it filled its cache.
pub const SCHEMA_PATTERN_STEPS_MAX: usize = 200_000;
/// Maximum estimated bytes of the compiled schemas of one server behind a gateway.
pub const SERVER_SCHEMAS_BYTES_MAX: usize = 14 * 1024 * 1024;
/// Estimated bytes of compiled schemas guaranteed to every server, whatever other servers use.
pub const SERVER_SCHEMAS_BYTES_MIN: usize = 1024 * 1024;
/// Maximum estimated bytes of all compiled schemas of one process: sixteen times `SERVER_SCHEMAS_BYTES_MAX`.
pub const SCHEMAS_BYTES_MAX: usize = 224 * 1024 * 1024;

/// Maximum steps (look-ups of the validator, weighted by their cost) of checking a value of up to 1 MiB; a larger
/// value gets proportionally more. One step was measured at 10 to 20 ns, so a check ends within 50 ms.
pub const CHECK_STEPS_MAX: u64 = 1_300_000;
/// Maximum steps of a check on a serving thread, about a millisecond; a longer check is repeated on another thread.
pub const CHECK_BRIEF_STEPS_MAX: u64 = 100_000;
/// Maximum product of the bytes of one text and the states that a regular expression can have active, where the
/// states are too many for the DFA cache. Matching takes at most 10 ns for each pair, so one text ends within 50 ms.
pub const CHECK_PATTERN_PAIRS_MAX: u64 = 4_000_000;
/// Maximum bytes of stack that one check may use. Worker threads have 2 MiB.
pub const CHECK_STACK_BYTES_MAX: usize = 1024 * 1024;

/// Maximum violations reported for one check.
pub const VIOLATIONS_MAX: usize = 16;
/// Maximum characters of a value shown in a violation.
pub const VIOLATION_VALUE_CHARS_MAX: usize = 80;
/// Maximum enum values shown in a violation.
pub const VIOLATION_ALLOWED_MAX: usize = 20;
/// Maximum characters of one enum value shown in a violation.
pub const VIOLATION_ALLOWED_CHARS_MAX: usize = 200;
/// Maximum known property names shown beside an unknown one.
pub const VIOLATION_KNOWN_MAX: usize = 100;
/// Maximum bytes of a path shown in a violation; a longer one is cut.
pub const VIOLATION_PATH_BYTES_MAX: usize = 1_024;
/// Maximum bytes of all violations of one report; the first violation is reported whatever its size.
pub const VIOLATION_BYTES_MAX: usize = 16 * 1024;
/// Maximum steps (subschemas and keywords applied) of explaining a value of up to 1 MiB; a larger value gets
/// proportionally more.
pub const VIOLATION_STEPS_MAX: u64 = 400_000;
/// Maximum steps of an explanation on a serving thread, about a millisecond; a longer one is repeated on another
/// thread.
pub const VIOLATION_BRIEF_STEPS_MAX: u64 = 20_000;
