//! Every limit of this crate, with its unit. LIMITS.md is checked against this file.

/// Bytes that may wait between the adapter and the adopted server, each way.
pub const PIPE_BYTES_MAX: usize = 1024 * 1024;

/// Messages that may wait to be written to the adopted server.
pub const WAITING_MESSAGES_MAX: usize = 1_024;

/// Pages of `tools/list` that are read from an adopted server.
pub const LIST_PAGES_MAX: usize = 100;

/// How long an adopted server may take to initialize and to list its tools, in milliseconds.
pub const ADOPT_MS_MAX: u64 = 10_000;

/// Bytes of one message from an adopted server.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
