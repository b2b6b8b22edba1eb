//! Limits of calls that a process makes to its own server.

/// Times that one call of [`crate::Server::call_asking`] may ask before it is given up.
pub const LOCAL_ROUNDS_MAX: usize = 10;
