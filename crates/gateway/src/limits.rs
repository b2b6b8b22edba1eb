//! Limits of this crate, each with its unit. LIMITS.md is checked against this file.

/// Maximum servers behind one gateway.
pub const UPSTREAMS_MAX: usize = 256;

/// Maximum characters of the prefix of a server's tools.
pub const PREFIX_CHARS_MAX: usize = 24;

/// Maximum bytes of a configuration file.
pub const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// Maximum characters of the joined instructions of all servers.
pub const INSTRUCTIONS_CHARS_MAX: usize = 32_768;

/// Maximum bytes of all answers that are kept because they were too long to send.
pub const KEPT_ANSWERS_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How long such an answer is kept, in milliseconds.
pub const KEPT_ANSWER_MS_MAX: u64 = 1_800_000;

/// Maximum bytes of such an answer's text that are shown in the shortened answer, if the budget allows.
pub const SHOWN_ANSWER_BYTES_MAX: usize = 16_384;

/// Minimum budget of an answer in bytes: a note and a link have to fit.
pub const RESULT_BYTES_MIN: usize = 1_024;

/// Maximum spans in the export queue; further ones are dropped and counted.
pub const SPANS_WAITING_MAX: usize = 4_096;

/// Maximum spans per batch.
pub const SPANS_BATCH_MAX: usize = 512;

/// Maximum attempts to send a batch to a collector that is unavailable; then its spans are dropped and counted.
pub const SPANS_TRIES_MAX: u32 = 5;

/// Maximum pause between two attempts, in milliseconds, whatever the collector asks for.
pub const SPANS_PAUSE_MS_MAX: u64 = 10_000;

/// Timeout for judging the changed tools of one server against the lock, in milliseconds; undecided changes are
/// *unknown*.
pub const DRIFT_JUDGED_MS_MAX: u64 = 5_000;

/// CPU time for compiling the new tools of one server's list, in milliseconds; tools that are left over are
/// quarantined. Ordinary tools take less than a millisecond each.
pub const SERVER_COMPILE_MS_MAX: u64 = 5_000;

/// Maximum log lines when tools of one server are quarantined; the status lists all of them.
pub const QUARANTINE_LINES_MAX: usize = 50;
