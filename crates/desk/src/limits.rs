//! Limits of what callers may store on the desk.

/// Maximum trade plans.
pub const DESK_PLANS_MAX: usize = 1_000;
/// Maximum resting limit orders.
pub const DESK_RESTING_MAX: usize = 1_000;
/// Maximum executions in the book, generated ones included.
pub const DESK_FILLS_MAX: usize = 20_000;
