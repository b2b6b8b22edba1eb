//! Quotas of confirmations: per share, per address, for all anonymous callers, and in total.
//!
//! Guarantees: one session cannot use up another's share; opening more sessions multiplies the share of an address by
//! at most `ADDRESS_SHARES_MAX`; anonymous callers together leave half of the total to authenticated ones.

use std::fmt;
use std::net::IpAddr;

use crate::caller::Caller;
use crate::limits::ADDRESS_SHARES_MAX;
use crate::share::{Share, network};

/// Caller for which use is counted: its share, and the network address that its sessions have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct User {
    pub share: Share,
    /// `None` for authenticated and local callers, and if the transport has no addresses.
    pub address: Option<IpAddr>,
}

impl User {
    #[must_use]
    pub fn new(share: Share, address: Option<IpAddr>) -> Self {
        let user = Self { share, address: None };
        let address = address.filter(|_| user.is_anonymous()).map(network);
        Self { address, ..user }
    }

    #[must_use]
    pub fn of(caller: &Caller<'_>) -> Self {
        Self::new(caller.share(), caller.address())
    }

    /// Returns the user of a credential's subject.
    #[must_use]
    pub fn subject(name: &str) -> Self {
        Self { share: Share::Subject(name.into()), address: None }
    }

    /// Returns true if the bounds for anonymous callers apply.
    #[must_use]
    pub const fn is_anonymous(&self) -> bool {
        !matches!(self.share, Share::Subject(_) | Share::Local)
    }
}

/// Bounds of one kind of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Plural noun for the counted things, used in refusals.
    pub what: &'static str,
    pub share_max: usize,
    /// Bound of all anonymous callers of one address together.
    pub address_max: usize,
    /// Bound of all anonymous callers together.
    pub anonymous_max: usize,
    pub total_max: usize,
}

impl Allowance {
    /// Derives the bounds between one share and the total. If an operator sets the bound of a share above the total,
    /// the total grows with it.
    #[must_use]
    pub const fn new(what: &'static str, share_max: usize, total_max: usize) -> Self {
        const fn larger(one: usize, other: usize) -> usize {
            if one > other { one } else { other }
        }
        let total_max = larger(total_max, share_max);
        let anonymous_max = larger(total_max / 2, share_max);
        let address_max = share_max.saturating_mul(ADDRESS_SHARES_MAX);
        let address_max = if address_max < anonymous_max { address_max } else { anonymous_max };
        Self { what, share_max, address_max, anonymous_max, total_max }
    }

    /// Returns an error with the first bound that `more` would exceed for this user.
    pub fn check(&self, user: &User, used: Used, more: usize) -> Result<(), Exceeded> {
        let anonymous = user.is_anonymous();
        let bounds = [
            (Whose::Share, true, used.share, self.share_max),
            (Whose::Address, anonymous, used.address, self.address_max),
            (Whose::Anonymous, anonymous, used.anonymous, self.anonymous_max),
            (Whose::Everybody, true, used.total, self.total_max),
        ];
        let exceeded =
            bounds.into_iter().find(|(_, applies, used, max)| *applies && used.saturating_add(more) > *max);
        exceeded.map_or(Ok(()), |(whose, _, _, max)| Err(Exceeded { what: self.what, whose, max }))
    }
}

/// Current use, as far as it concerns one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    pub share: usize,
    pub address: usize,
    pub anonymous: usize,
    pub total: usize,
}

/// Callers that a bound applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Share,
    Address,
    Anonymous,
    Everybody,
}

/// Bound that a request would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub struct Exceeded {
    pub what: &'static str,
    pub whose: Whose,
    pub max: usize,
}

impl Exceeded {
    /// Returns the HTTP status: 429 if the caller's own use is too much, 503 if that of all callers is.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self.whose {
            Whose::Share | Whose::Address => 429,
            Whose::Anonymous | Whose::Everybody => 503,
        }
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = match self.whose {
            Whose::Share => "one caller",
            Whose::Address => "all anonymous callers of one address together; a credential has its own share",
            Whose::Anonymous => "all anonymous callers together; a credential has its own share",
            Whose::Everybody => "all callers together",
        };
        write!(f, "at most {} {} for {whose}", self.max, self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::SessionId;

    const THINGS: Allowance = Allowance::new("things", 2, 40);

    fn whose(user: &User, used: Used) -> Option<Whose> {
        THINGS.check(user, used, 1).err().map(|exceeded| exceeded.whose)
    }

    /// `ADDRESS_SHARES_MAX`: opening sessions does not multiply the share of an address without end.
    #[test]
    fn sessions_of_one_address_have_address_shares_max_shares_together() {
        let session = User::new(Share::Session(SessionId::random().unwrap()), "10.0.0.1".parse().ok());
        assert_eq!(THINGS.address_max, 2 * ADDRESS_SHARES_MAX);
        let used = |share, address| Used { share, address, anonymous: address, total: address };
        assert_eq!(whose(&session, used(1, 7)), None);
        assert_eq!(whose(&session, used(2, 2)), Some(Whose::Share));
        assert_eq!(whose(&session, used(0, 8)), Some(Whose::Address));
    }

    #[test]
    fn anonymous_callers_leave_half_of_the_total_to_others() {
        let anonymous = User::new(Share::Unknown, None);
        let used = |total| Used { share: 0, address: 0, anonymous: 20, total };
        assert_eq!(whose(&anonymous, used(20)), Some(Whose::Anonymous));
        assert_eq!(whose(&User::subject("ann"), used(39)), None);
        assert_eq!(whose(&User::subject("ann"), used(40)), Some(Whose::Everybody));
    }

    #[test]
    fn a_share_above_the_total_raises_the_total() {
        let large = Allowance::new("things", 1_000, 40);
        assert_eq!((large.total_max, large.anonymous_max, large.address_max), (1_000, 1_000, 1_000));
    }

    #[test]
    fn a_refusal_names_the_bound() {
        let exceeded = Exceeded { what: "things", whose: Whose::Share, max: 2 };
        assert_eq!(exceeded.to_string(), "at most 2 things for one caller");
        assert_eq!(exceeded.status(), 429);
        assert_eq!(Exceeded { whose: Whose::Everybody, ..exceeded }.status(), 503);
    }
}
