//! Daily prices.

use crate::date::Day;
use crate::money::Money;

/// One day of one share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    pub day: Day,
    pub open: Money,
    pub high: Money,
    pub low: Money,
    pub close: Money,
}
