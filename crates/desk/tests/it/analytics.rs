//! The analytics over the generated book, compared with a second computation by another method.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolcrib_desk::{Account, Desk, Fill, Instrument, Side, Venue};

use crate::support::{Asked, close};

fn fills() -> Vec<Fill> {
    Desk::generated().book().fills().to_vec()
}

fn dollars(fill: &Fill) -> f64 {
    let units = if matches!(fill.instrument, Instrument::Contract { .. }) { 100.0 } else { 1.0 };
    fill.price.dollars() * fill.quantity as f64 * units
}

fn fees(fill: &Fill) -> f64 {
    fill.fees.commission.dollars() + fill.fees.regulatory.dollars() + fill.fees.exchange.dollars()
}

async fn all_trips(desk: &Asked) -> Vec<Value> {
    let answer = desk.ask("get_round_trips", json!({"limit": 500})).await;
    let trips = answer["trips"].as_array().unwrap().clone();
    assert_eq!(answer["total"], trips.len(), "the generated book fits into one answer");
    trips
}

fn nets(trips: &[Value]) -> Vec<f64> {
    // The response has the newest first, this list the oldest first.
    trips.iter().rev().map(|trip| trip["net"].as_f64().unwrap()).collect()
}

#[test]
fn the_same_book_is_made_every_time() {
    let first = Desk::generated();
    assert_eq!(first.book().fills(), Desk::generated().book().fills());
    assert!(first.book().fills().len() > 500, "{}", first.book().fills().len());
}

/// The net profit of an instrument's trips equals its cash flow if the position ends flat.
#[tokio::test]
async fn trips_bring_what_the_cash_flows_say() {
    let desk = Asked::generated();
    let mut flows: BTreeMap<(Account, Instrument), (i64, f64, f64)> = BTreeMap::new();
    for fill in fills() {
        let (held, gross, paid) = flows.entry((fill.account, fill.instrument)).or_default();
        let sign = if fill.side == Side::Buy { 1 } else { -1 };
        *held += sign * fill.quantity;
        *gross -= sign as f64 * dollars(&fill);
        *paid += fees(&fill);
    }
    let mut found: BTreeMap<(String, String), (f64, f64)> = BTreeMap::new();
    for trip in all_trips(&desk).await {
        let text = |name: &str| trip[name].as_str().unwrap().to_owned();
        let (gross, paid) = found.entry((text("account"), text("instrument"))).or_default();
        *gross += trip["gross"].as_f64().unwrap();
        *paid += trip["fees"].as_f64().unwrap();
    }
    let mut flat = 0;
    for ((account, instrument), (held, gross, paid)) in flows {
        if held != 0 {
            continue;
        }
        flat += 1;
        let (trips_gross, trips_paid) = found[&(account.name().to_owned(), instrument.to_string())];
        assert!((trips_gross - gross).abs() < 1e-6, "{instrument}: {trips_gross} is not {gross}");
        assert!((trips_paid - paid).abs() < 1e-5, "{instrument}: {trips_paid} is not {paid}");
    }
    assert!(flat > 20, "{flat}");
}

#[tokio::test]
async fn expectancy_is_the_mean_of_the_trips() {
    let desk = Asked::generated();
    let nets = nets(&all_trips(&desk).await);
    let answer = desk.ask("get_expectancy", json!({})).await;
    let (won, lost): (Vec<f64>, Vec<f64>) = nets.iter().partition(|net| **net > 0.0);
    close(&answer["expectancy"], nets.iter().sum::<f64>() / nets.len() as f64);
    close(&answer["average_win"], won.iter().sum::<f64>() / won.len() as f64);
    close(&answer["average_loss"], -lost.iter().sum::<f64>() / lost.len() as f64);
    let factor = won.iter().sum::<f64>() / -lost.iter().sum::<f64>();
    assert!((answer["profit_factor"].as_f64().unwrap() - factor).abs() < 1e-4);
    assert!(won.len() > 20 && lost.len() > 20, "a book with both");
}

/// Compared with the fall between every pair of points.
#[tokio::test]
async fn the_drawdown_is_the_largest_fall_between_any_two_points() {
    let desk = Asked::generated();
    let nets = nets(&all_trips(&desk).await);
    let mut curve = vec![450_000.0];
    for net in nets {
        curve.push(curve.last().unwrap() + net);
    }
    let mut deepest = 0.0f64;
    for (at, from) in curve.iter().enumerate() {
        deepest = curve[at..].iter().fold(deepest, |deepest, to| deepest.max(from - to));
    }
    let answer = desk.ask("get_drawdown", json!({})).await;
    assert!((answer["max_drawdown"].as_f64().unwrap() - deepest).abs() < 1e-3, "{answer} {deepest}");
    let highest = curve.iter().copied().fold(f64::MIN, f64::max);
    assert!((answer["current_drawdown"].as_f64().unwrap() - (highest - curve.last().unwrap())).abs() < 1e-3);
}

/// Compared with the deviation computed from the sum of squares.
#[tokio::test]
async fn sqn_follows_from_sums_and_squares() {
    let desk = Asked::generated();
    let nets = nets(&all_trips(&desk).await);
    let count = nets.len() as f64;
    let (sum, squares) = nets.iter().fold((0.0, 0.0), |(sum, squares), net| (sum + net, squares + net * net));
    let deviation = ((squares - sum * sum / count) / (count - 1.0)).sqrt();
    let answer = desk.ask("get_sqn", json!({})).await;
    close(&answer["deviation"], (deviation * 1e4).round() / 1e4);
    let sqn = count.sqrt() * (sum / count) / deviation;
    assert!((answer["sqn"].as_f64().unwrap() - sqn).abs() < 1e-3, "{answer} {sqn}");
    let capped = count.min(100.0).sqrt() * (sum / count) / deviation;
    assert!((answer["sqn_100"].as_f64().unwrap() - capped).abs() < 1e-3);
}

#[tokio::test]
async fn fees_add_up_over_accounts() {
    let answer = Asked::generated().ask("get_fee_breakdown", json!({})).await;
    let total: f64 = fills().iter().map(fees).sum();
    close(&answer["total"]["total"], total);
    close(&answer["total"]["traded"], fills().iter().map(dollars).sum());
    let accounts = answer["accounts"].as_array().unwrap();
    close(&json!(accounts.iter().map(|row| row["costs"]["total"].as_f64().unwrap()).sum::<f64>()), total);
    assert_eq!(
        accounts.iter().map(|row| row["executions"].as_u64().unwrap()).sum::<u64>() as usize,
        fills().len()
    );
}

#[tokio::test]
async fn execution_quality_is_that_of_each_venue() {
    let answer = Asked::generated().ask("get_execution_quality", json!({})).await;
    for (row, venue) in answer["venues"].as_array().unwrap().iter().zip(Venue::ALL) {
        let own: Vec<Fill> = fills().into_iter().filter(|fill| fill.venue == venue).collect();
        let (mut quoted, mut effective, mut shares, mut good) = (0.0, 0.0, 0.0, 0.0);
        for fill in &own {
            let size = dollars(fill) / fill.price.dollars();
            let (bid, ask, price) = (fill.bid.dollars(), fill.ask.dollars(), fill.price.dollars());
            let sign = if fill.side == Side::Buy { 1.0 } else { -1.0 };
            quoted += (ask - bid) * size;
            effective += 2.0 * sign * (price - (bid + ask) / 2.0) * size;
            shares += size;
            let kept = if fill.side == Side::Buy { fill.price <= fill.ask } else { fill.price >= fill.bid };
            good += f64::from(u8::from(kept));
        }
        assert_eq!(row["executions"], own.len());
        assert!((row["quoted_spread"].as_f64().unwrap() - quoted / shares).abs() < 1e-4, "{row}");
        assert!((row["effective_spread"].as_f64().unwrap() - effective / shares).abs() < 1e-4, "{row}");
        assert!((row["at_or_better"].as_f64().unwrap() - good / own.len() as f64).abs() < 1e-4, "{row}");
    }
}

#[tokio::test]
async fn the_cost_of_free_is_fees_and_spread_beside_commissions_and_their_spread() {
    let desk = Asked::generated();
    let answer = desk.ask("get_cost_of_free", json!({"per_share": 0.01, "minimum": 2})).await;
    let shares: Vec<Fill> =
        fills().into_iter().filter(|fill| matches!(fill.instrument, Instrument::Share(_))).collect();
    let spread = |fill: &Fill| {
        let sign = if fill.side == Side::Buy { 1.0 } else { -1.0 };
        sign * (fill.price.dollars() - (fill.bid.dollars() + fill.ask.dollars()) / 2.0) * fill.quantity as f64
    };
    let free: Vec<&Fill> = shares.iter().filter(|fill| fill.account != Account::Pro).collect();
    let paid: Vec<&Fill> = shares.iter().filter(|fill| fill.account == Account::Pro).collect();
    let cost: f64 = free.iter().map(|fill| fees(fill) + spread(fill)).sum();
    let quantity = |fills: &[&Fill]| fills.iter().map(|fill| fill.quantity as f64).sum::<f64>();
    let commission: f64 = free.iter().map(|fill| (fill.quantity as f64 * 0.01).max(2.0)).sum();
    let other =
        commission + paid.iter().map(|fill| spread(fill)).sum::<f64>() / quantity(&paid) * quantity(&free);
    assert!((answer["free_cost"].as_f64().unwrap() - cost).abs() < 1e-3, "{answer} {cost}");
    assert!((answer["saved"].as_f64().unwrap() - (other - cost)).abs() < 1e-3, "{answer} {}", other - cost);
}

#[tokio::test]
async fn strategies_and_directions_are_parts_of_the_whole() {
    let desk = Asked::generated();
    let whole = desk.ask("get_expectancy", json!({})).await;
    let breakdown = desk.ask("get_strategy_breakdown", json!({})).await;
    let rows = breakdown["strategies"].as_array().unwrap();
    let nets: Vec<f64> = rows.iter().map(|row| row["figures"]["net"].as_f64().unwrap()).collect();
    assert!(nets.is_sorted_by(|a, b| a >= b), "{nets:?}");
    close(&whole["net"], nets.iter().sum());
    let trips = all_trips(&desk).await;
    for row in rows {
        let own = trips.iter().filter(|trip| trip["strategy"] == row["strategy"]);
        close(&row["figures"]["net"], own.clone().map(|trip| trip["net"].as_f64().unwrap()).sum());
        assert_eq!(row["figures"]["trades"], own.count());
    }
    let review = desk.ask("get_trade_review", json!({})).await;
    close(&whole["net"], review["long"]["net"].as_f64().unwrap() + review["short"]["net"].as_f64().unwrap());
    let by_net = |trip: &&Value| (trip["net"].as_f64().unwrap() * 1e6) as i64;
    assert_eq!(review["best"]["net"], trips.iter().max_by_key(by_net).unwrap()["net"]);
    assert_eq!(review["worst"]["net"], trips.iter().min_by_key(by_net).unwrap()["net"]);
}

#[tokio::test]
async fn a_scope_takes_what_it_names_and_nothing_else() {
    let desk = Asked::generated();
    let all = all_trips(&desk).await;
    let scope =
        json!({"account": "pro", "symbol": "BOLT", "from": "2024-06-01", "to": "2025-06-30", "limit": 500});
    let some = desk.ask("get_round_trips", scope).await["trips"].as_array().unwrap().clone();
    let expected: Vec<&Value> = all
        .iter()
        .filter(|trip| {
            let closed = &trip["closed"].as_str().unwrap()[..10];
            trip["account"] == "pro"
                && trip["instrument"] == "BOLT"
                && ("2024-06-01"..="2025-06-30").contains(&closed)
        })
        .collect();
    assert!(!expected.is_empty() && expected.len() < all.len());
    assert_eq!(some.iter().collect::<Vec<_>>(), expected);
}
