//! Every limit of this crate, with its unit. LIMITS.md is checked against this file.

/// Servers behind one gateway.
pub const UPSTREAMS_MAX: usize = 256;

/// Characters of the prefix that a server gives its tools.
pub const PREFIX_CHARS_MAX: usize = 24;

/// Bytes of a configuration file.
pub const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// Characters of what all servers say about themselves together.
pub const INSTRUCTIONS_CHARS_MAX: usize = 32_768;

/// Bytes of all answers that were too long to send and are kept instead.
pub const KEPT_ANSWERS_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How long such an answer is kept, in milliseconds.
pub const KEPT_ANSWER_MS_MAX: u64 = 1_800_000;

/// Bytes of such an answer's text that are sent all the same, if the budget lets them.
pub const SHOWN_ANSWER_BYTES_MAX: usize = 16_384;

/// Bytes of the least budget of an answer: a note and a link have to fit.
pub const RESULT_BYTES_MIN: usize = 1_024;

/// Spans that wait to be sent; further ones are dropped and counted.
pub const SPANS_WAITING_MAX: usize = 4_096;

/// Spans sent at once.
pub const SPANS_BATCH_MAX: usize = 512;

/// Times that a batch is sent to a collector that cannot take it now; then its spans are dropped and counted.
pub const SPANS_TRIES_MAX: u32 = 5;

/// Longest pause between two of these times, in milliseconds, whatever the collector asks for.
pub const SPANS_PAUSE_MS_MAX: u64 = 10_000;

/// How long the changed tools of one server are judged against the lock, in milliseconds; what is not decided is *unknown*.
pub const DRIFT_JUDGED_MS_MAX: u64 = 5_000;

/// CPU time in which the new tools of one server's list are compiled, in milliseconds; those left over are quarantined.
/// Ordinary tools take less than a millisecond each.
pub const SERVER_COMPILE_MS_MAX: u64 = 5_000;

/// Lines that are logged when tools of one server are quarantined; the status names all of them.
pub const QUARANTINE_LINES_MAX: usize = 50;
