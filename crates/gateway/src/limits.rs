//! Every limit of this crate, with its unit. LIMITS.md is checked against this file.

/// Servers behind one gateway.
pub const UPSTREAMS_MAX: usize = 256;

/// Characters of the prefix that a server gives its tools.
pub const PREFIX_CHARS_MAX: usize = 24;

/// Bytes of a configuration file.
pub const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// Characters of what all servers say about themselves together.
pub const INSTRUCTIONS_CHARS_MAX: usize = 32_768;
