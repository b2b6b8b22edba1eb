//! The desk's accounts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::money::Money;

/// One of the three accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Account {
    /// Commission-free; the broker is paid for its orders by wholesalers.
    Main,
    /// Pays commissions; orders go to exchanges and a midpoint venue.
    Pro,
    /// Long-term holdings.
    Retirement,
}

impl Account {
    pub const ALL: [Self; 3] = [Self::Main, Self::Pro, Self::Retirement];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Pro => "pro",
            Self::Retirement => "retirement",
        }
    }

    /// Returns the deposit before the first trade.
    #[must_use]
    pub const fn deposit(self) -> Money {
        match self {
            Self::Main => Money::cents(10_000_000),
            Self::Pro => Money::cents(15_000_000),
            Self::Retirement => Money::cents(20_000_000),
        }
    }

    /// Returns true if the account may sell shares that it does not hold.
    #[must_use]
    pub const fn sells_short(self) -> bool {
        !matches!(self, Self::Retirement)
    }
}
