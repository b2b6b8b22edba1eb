//! The desk's state: the generated book, and what callers wrote since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolcrib::{Context, RegisterError, Server, ToolError, ToolSpec};

use crate::account::Account;
use crate::accounts::order::Resting;
use crate::book::Book;
use crate::generate;
use crate::money::Money;
use crate::planning::plans::Plan;

/// How far prices went against and for a trip while it was open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Excursion {
    /// The largest loss that stood open, in dollars, not negative.
    pub adverse: Money,
    /// The largest gain that stood open, in dollars, not negative.
    pub favorable: Money,
}

#[derive(Debug, Clone, Default)]
pub struct Desk {
    pub(crate) book: Book,
    pub(crate) excursions: BTreeMap<u32, Excursion>,
    pub(crate) plans: BTreeMap<u32, Plan>,
    pub(crate) resting: BTreeMap<u32, Resting>,
    /// Deposits and transfers, signed.
    pub(crate) transfers: BTreeMap<Account, Money>,
    pub(crate) closed: BTreeSet<Account>,
    pub(crate) labels: BTreeMap<Account, String>,
    last_number: u32,
}

impl Desk {
    #[must_use]
    pub fn generated() -> Self {
        Self::over(generate::book())
    }

    #[must_use]
    pub fn over(book: Book) -> Self {
        let transfers = Account::ALL.into_iter().map(|account| (account, account.deposit())).collect();
        Self { book, transfers, ..Self::default() }
    }

    #[must_use]
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// Returns a new number for a plan or an order.
    pub(crate) fn number(&mut self) -> u32 {
        self.last_number = self.last_number.saturating_add(1);
        self.last_number
    }

    /// Returns the cash: deposits and transfers, minus purchases, plus sales, minus fees.
    #[must_use]
    pub fn cash(&self, account: Account) -> Money {
        let moved = self.transfers.get(&account).copied().unwrap_or_default();
        let fills = self.book.fills().iter().filter(|fill| fill.account == account);
        fills.fold(moved, |cash, fill| cash - fill.value().times(fill.side.sign()) - fill.fees.total())
    }
}

/// Desk shared by all tools.
#[derive(Debug)]
pub(crate) struct Shared(RwLock<Desk>);

impl Shared {
    pub(crate) fn new(desk: Desk) -> Self {
        Self(RwLock::new(desk))
    }
}

/// Registers a read-only tool.
pub(crate) fn reader<A, R>(
    server: &Server,
    desk: &Arc<Shared>,
    spec: ToolSpec,
    answer: fn(&Desk, A) -> Result<R, ToolError>,
) -> Result<(), RegisterError>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    R: Serialize + JsonSchema + Send + 'static,
{
    let desk = desk.clone();
    let spec = spec.read_only(true).destructive(false).idempotent(true).open_world(false);
    server.add_typed(spec, move |arguments: A, _: Context| {
        // A poisoned lock is usable: writers check everything before they change the desk.
        let answer = answer(&desk.0.read().unwrap_or_else(PoisonError::into_inner), arguments);
        async move { answer }
    })?;
    Ok(())
}

/// Registers a writing tool. `spec` says whether it is destructive and idempotent.
pub(crate) fn writer<A, R>(
    server: &Server,
    desk: &Arc<Shared>,
    spec: ToolSpec,
    answer: fn(&mut Desk, A) -> Result<R, ToolError>,
) -> Result<(), RegisterError>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    R: Serialize + JsonSchema + Send + 'static,
{
    let desk = desk.clone();
    let spec = spec.read_only(false).open_world(false);
    server.add_typed(spec, move |arguments: A, _: Context| {
        let answer = answer(&mut desk.0.write().unwrap_or_else(PoisonError::into_inner), arguments);
        async move { answer }
    })?;
    Ok(())
}
