//! Traded instruments: shares of six invented companies, and options on them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::date::Day;
use crate::money::Money;

/// A company's ticker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum Symbol {
    Acme,
    Bolt,
    Cedr,
    Dune,
    Elms,
    Fjrd,
}

impl Symbol {
    pub const ALL: [Self; 6] = [Self::Acme, Self::Bolt, Self::Cedr, Self::Dune, Self::Elms, Self::Fjrd];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acme => "ACME",
            Self::Bolt => "BOLT",
            Self::Cedr => "CEDR",
            Self::Dune => "DUNE",
            Self::Elms => "ELMS",
            Self::Fjrd => "FJRD",
        }
    }

    #[must_use]
    pub const fn company(self) -> &'static str {
        match self {
            Self::Acme => "Acme Anvils",
            Self::Bolt => "Bolt Fasteners",
            Self::Cedr => "Cedar Joinery",
            Self::Dune => "Dune Glassworks",
            Self::Elms => "Elms & Sons Nurseries",
            Self::Fjrd => "Fjord Ferries",
        }
    }
}

/// Right that an option gives: to buy (call) or to sell (put).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Right {
    Call,
    Put,
}

/// Traded instrument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Instrument {
    Share(Symbol),
    Contract { underlying: Symbol, right: Right, strike: Money, expiry: Day },
}

impl Instrument {
    /// Returns the ticker of the share, or of an option's underlying.
    #[must_use]
    pub const fn symbol(self) -> Symbol {
        match self {
            Self::Share(symbol) | Self::Contract { underlying: symbol, .. } => symbol,
        }
    }

    /// Returns the number of shares that one unit stands for.
    #[must_use]
    pub const fn multiplier(self) -> i64 {
        match self {
            Self::Share(_) => 1,
            Self::Contract { .. } => 100,
        }
    }

    #[must_use]
    pub const fn is_option(self) -> bool {
        matches!(self, Self::Contract { .. })
    }
}

impl std::fmt::Display for Instrument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Share(symbol) => f.write_str(symbol.name()),
            Self::Contract { underlying, right, strike, expiry } => {
                let letter = if *right == Right::Call { 'C' } else { 'P' };
                write!(f, "{} {expiry} {}{letter}", underlying.name(), strike.dollars())
            }
        }
    }
}
