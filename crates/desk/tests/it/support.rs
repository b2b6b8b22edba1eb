//! A desk for the tests to call.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolcrib::Server;
use toolcrib_desk::{
    Account, Bar, Book, Day, Desk, Fees, Fill, Instrument, Money, Side, Strategy, Symbol, Venue,
};

pub(crate) struct Asked {
    server: Server,
}

impl Asked {
    pub(crate) fn generated() -> Self {
        Self::over(Desk::generated())
    }

    pub(crate) fn over(desk: Desk) -> Self {
        let server = toolcrib_desk::builder("1.0.0").build().unwrap();
        toolcrib_desk::stock_with(&server, desk).unwrap();
        Self { server }
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    async fn result(&self, tool: &str, arguments: Value) -> Value {
        self.server.call(tool, arguments).await.unwrap()
    }

    pub(crate) async fn ask(&self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments).await;
        assert_ne!(result["isError"], json!(true), "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that must refuse, and returns its text.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> String {
        let result = self.result(tool, arguments).await;
        assert_eq!(result["isError"], json!(true), "{tool}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn close(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{found} is no number"));
    assert!((found - expected).abs() < 1e-4 + expected.abs() * 1e-9, "{found} is not {expected}");
}

pub(crate) fn day(number: i64) -> Day {
    Day::new(2025, 3, number).unwrap()
}

/// Returns an execution in ACME of the main account, with a quote one cent around its price.
pub(crate) fn fill(id: u32, on: Day, side: Side, quantity: i64, cents: i64) -> Fill {
    let price = Money::cents(cents);
    Fill {
        id,
        order: id,
        at: on.at(60_000 + i64::from(id)),
        account: Account::Main,
        instrument: Instrument::Share(Symbol::Acme),
        side,
        quantity,
        price,
        bid: price - Money::cents(1),
        ask: price + Money::cents(1),
        venue: Venue::Exchange,
        fees: Fees::default(),
        payment_for_order_flow: Money::ZERO,
        strategy: Strategy::Breakout,
    }
}

/// Returns a desk with one daily bar per price, half a dollar around it.
pub(crate) fn desk(fills: Vec<Fill>, prices: &[i64]) -> Desk {
    let bar = |(number, cents): (usize, &i64)| {
        let [open, high, low, close] = [*cents, cents + 50, cents - 50, *cents].map(Money::cents);
        Bar { day: day(number as i64 + 1), open, high, low, close }
    };
    let bars = BTreeMap::from([(Symbol::Acme, prices.iter().enumerate().map(bar).collect())]);
    Desk::over(Book::new(bars, fills))
}
