//! Limits of what callers may leave on the desk.

/// Trade plans kept at once.
pub const DESK_PLANS_MAX: usize = 1_000;
/// Limit orders that rest at once.
pub const DESK_RESTING_MAX: usize = 1_000;
/// Executions in the book, generated ones included.
pub const DESK_FILLS_MAX: usize = 20_000;
