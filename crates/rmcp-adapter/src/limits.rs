//! Every limit of this crate, with its unit. LIMITS.md is checked against this file.

/// Maximum bytes buffered between the adapter and the adopted server, in each direction.
pub const PIPE_BYTES_MAX: usize = 1024 * 1024;

/// Maximum messages queued for the adopted server.
pub const WAITING_MESSAGES_MAX: usize = 1_024;

/// Maximum pages of `tools/list` that are read from an adopted server.
pub const LIST_PAGES_MAX: usize = 100;

/// How long an adopted server may take to initialize and list its tools, in milliseconds.
pub const ADOPT_MS_MAX: u64 = 10_000;

/// Maximum bytes of one message from an adopted server.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
