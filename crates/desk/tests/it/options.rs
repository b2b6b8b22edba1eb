//! Payoffs of option orders against prices tried one by one.

use serde_json::json;
use toolcrib_desk::{Desk, Instrument, Right, Side};

use crate::support::Asked;

/// Returns the profit of an order's legs at expiry, in plain floating point.
fn profit(desk: &Desk, order: u64, price: f64) -> f64 {
    let own = desk.book().fills().iter().filter(|fill| u64::from(fill.order) == order);
    own.map(|fill| {
        let Instrument::Contract { right, strike, .. } = fill.instrument else { panic!("an option") };
        let inside = if right == Right::Call { price - strike.dollars() } else { strike.dollars() - price };
        let sign = if fill.side == Side::Buy { 1.0 } else { -1.0 };
        sign * (inside.max(0.0) - fill.price.dollars()) * 100.0 * fill.quantity as f64
    })
    .sum()
}

#[tokio::test]
async fn no_price_wins_or_loses_more_than_the_answer_says() {
    let answer = Asked::generated().ask("get_options_strategy", json!({})).await;
    let book = Desk::generated();
    let orders = answer["orders"].as_array().unwrap();
    assert!(orders.len() >= 15, "{}", orders.len());
    let mut kinds: Vec<&str> = orders.iter().map(|order| order["strategy"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "credit-put-spread",
            "debit-call-spread",
            "iron-condor",
            "long-call",
            "long-put",
            "long-straddle",
            "long-strangle"
        ]
    );
    for order in orders {
        let number = order["order"].as_u64().unwrap();
        let payoff = &order["payoff"];
        let profits: Vec<f64> = (0..=400).map(|price| profit(&book, number, f64::from(price))).collect();
        let (best, worst) =
            profits.iter().fold((f64::MIN, f64::MAX), |(best, worst), one| (best.max(*one), worst.min(*one)));
        match payoff["max_profit"].as_f64() {
            Some(bound) => assert!((bound - best).abs() < 0.01, "{order}: {best}"),
            None => assert!(profits[400] > profits[399], "{order}"),
        }
        let bound = payoff["max_loss"].as_f64().unwrap();
        assert!(-worst <= bound + 0.01, "{order}: {worst}");
        // Strikes are whole dollars, so the corner is among the prices.
        assert!((bound + worst).abs() < 0.01, "{order}: {worst}");
        for even in payoff["breakevens"].as_array().unwrap() {
            assert!(profit(&book, number, even.as_f64().unwrap()).abs() < 0.01, "{order}");
        }
        assert!(!payoff["breakevens"].as_array().unwrap().is_empty(), "{order}");
    }
}

#[tokio::test]
async fn open_orders_have_no_realised_profit_and_closed_ones_do() {
    let desk = Asked::generated();
    let open = desk.ask("get_options_strategy", json!({"open_only": true})).await["orders"].clone();
    let all = desk.ask("get_options_strategy", json!({})).await["orders"].clone();
    let (open, all) = (open.as_array().unwrap(), all.as_array().unwrap());
    assert!(open.len() < all.len());
    for order in all {
        assert_eq!(order["realized"].is_null(), order["open"] == json!(true), "{order}");
    }
    let realized: f64 = all.iter().filter_map(|order| order["realized"].as_f64()).sum();
    let trips = desk.ask("get_expectancy", json!({"strategy": "options"})).await;
    assert!((trips["net"].as_f64().unwrap() - realized).abs() < 1e-4, "{trips} {realized}");
}
