//! Limits of calls that a process makes to its own server.

/// Maximum times that an in-process call may ask before it fails.
pub const LOCAL_ROUNDS_MAX: usize = 10;
