//! Daily prices.

use crate::date::Day;
use crate::money::Money;

/// Prices of one share on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    pub day: Day,
    pub open: Money,
    pub high: Money,
    pub low: Money,
    pub close: Money,
}
