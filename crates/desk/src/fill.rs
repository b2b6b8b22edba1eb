//! Execution of an order, with the quote at that time and its costs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::date::Moment;
use crate::instrument::Instrument;
use crate::money::Money;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Side {
    Buy,
    Sell,
}

impl Side {
    /// Returns 1 for a buy, -1 for a sale.
    #[must_use]
    pub const fn sign(self) -> i64 {
        match self {
            Self::Buy => 1,
            Self::Sell => -1,
        }
    }

    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Buy => Self::Sell,
            Self::Sell => Self::Buy,
        }
    }
}

/// Where an order was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Venue {
    /// Wholesalers pay the broker for its orders.
    WholesalerA,
    WholesalerB,
    Exchange,
    Midpoint,
}

impl Venue {
    pub const ALL: [Self; 4] = [Self::WholesalerA, Self::WholesalerB, Self::Exchange, Self::Midpoint];

    #[must_use]
    pub const fn pays_for_orders(self) -> bool {
        matches!(self, Self::WholesalerA | Self::WholesalerB)
    }
}

/// Why a trade was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Strategy {
    Breakout,
    Pullback,
    MeanReversion,
    News,
    Investing,
    Options,
    /// Placed through the desk's own order tool.
    Discretionary,
}

impl Strategy {
    pub const ALL: [Self; 7] = [
        Self::Breakout,
        Self::Pullback,
        Self::MeanReversion,
        Self::News,
        Self::Investing,
        Self::Options,
        Self::Discretionary,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Breakout => "breakout",
            Self::Pullback => "pullback",
            Self::MeanReversion => "mean-reversion",
            Self::News => "news",
            Self::Investing => "investing",
            Self::Options => "options",
            Self::Discretionary => "discretionary",
        }
    }
}

/// Costs of an execution besides its price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fees {
    pub commission: Money,
    pub regulatory: Money,
    pub exchange: Money,
}

impl Fees {
    #[must_use]
    pub fn total(self) -> Money {
        self.commission + self.regulatory + self.exchange
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fill {
    pub id: u32,
    /// Number shared by all legs and parts of an order.
    pub order: u32,
    pub at: Moment,
    pub account: Account,
    pub instrument: Instrument,
    pub side: Side,
    pub quantity: i64,
    /// Price per share, also for an option.
    pub price: Money,
    pub bid: Money,
    pub ask: Money,
    pub venue: Venue,
    pub fees: Fees,
    /// Payment of the venue to the broker for the order.
    pub payment_for_order_flow: Money,
    pub strategy: Strategy,
}

impl Fill {
    /// Returns the number of shares; for an option, of the shares that it stands for.
    #[must_use]
    pub const fn shares(&self) -> i64 {
        self.quantity.saturating_mul(self.instrument.multiplier())
    }

    /// Returns price times shares.
    #[must_use]
    pub const fn value(&self) -> Money {
        self.price.times(self.shares())
    }

    #[must_use]
    pub fn middle(&self) -> Money {
        Money::micros((self.bid.as_micros() + self.ask.as_micros()) / 2)
    }

    /// Returns the price improvement over the quote for all shares; negative is worse.
    #[must_use]
    pub fn improvement(&self) -> Money {
        let per_share = match self.side {
            Side::Buy => self.ask - self.price,
            Side::Sell => self.price - self.bid,
        };
        per_share.times(self.shares())
    }

    /// Returns the cost against the middle of the quote for all shares.
    #[must_use]
    pub fn spread_cost(&self) -> Money {
        (self.price - self.middle()).times(self.side.sign()).times(self.shares())
    }
}
