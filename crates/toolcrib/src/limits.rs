//! Limits of calls that a process makes to its own server.

/// Times that a call which a process makes to its own server may ask before it is given up.
pub const LOCAL_ROUNDS_MAX: usize = 10;
