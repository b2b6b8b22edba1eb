//! Limits of the program, besides those of its libraries.

/// Maximum bytes of log lines that wait to be written; further lines are dropped and counted. Takes about 7,000 calls.
pub const LOG_BYTES_MAX: usize = 1024 * 1024;

/// Longest delay of a log line, in milliseconds, so that one write takes the lines of many calls.
pub const LOG_DELAY_MS_MAX: u64 = 10;

/// Longest time that a clean end waits for the last log lines to be written, in milliseconds.
pub const LOG_END_MS_MAX: u64 = 1_000;
