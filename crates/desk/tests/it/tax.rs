//! Tax lots and gains.

use serde_json::{Value, json};
use toolcrib_desk::{Day, Money, Side};

use crate::support::{Asked, close, day, desk, fill};

fn three_lots() -> Asked {
    let early = Day::new(2023, 6, 1).unwrap();
    Asked::over(desk(
        vec![
            fill(1, early, Side::Buy, 100, 1_000),
            fill(2, day(1), Side::Buy, 100, 3_000),
            fill(3, day(2), Side::Buy, 100, 2_000),
            fill(4, day(3), Side::Sell, 150, 2_500),
        ],
        &[2_500; 3],
    ))
}

#[tokio::test]
async fn each_method_takes_its_own_lots() {
    let desk = three_lots();
    for (method, short, long) in [
        // Costs: 100 at 10 and 50 at 30; 100 at 20 and 50 at 30; 100 at 30 and 50 at 20.
        ("fifo", 50.0 * -5.0, 100.0 * 15.0),
        ("lifo", 100.0 * 5.0 + 50.0 * -5.0, 0.0),
        ("hifo", 100.0 * -5.0 + 50.0 * 5.0, 0.0),
    ] {
        let gains = desk.ask("get_realized_gains", json!({"year": 2025, "method": method})).await;
        close(&gains["short_term"]["net"], short);
        close(&gains["long_term"]["net"], long);
        close(&gains["proceeds"], 3_750.0);
    }
    let lots = desk.ask("get_tax_lots", json!({})).await;
    let left: Vec<(i64, f64)> = lots["lots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lot| (lot["shares"].as_i64().unwrap(), lot["basis"].as_f64().unwrap()))
        .collect();
    assert_eq!(left, [(50, 30.0), (100, 20.0)]);
    close(&lots["unrealized"], 50.0 * -5.0 + 100.0 * 5.0);
}

#[tokio::test]
async fn losses_are_set_off_and_the_rest_is_carried() {
    let desk = three_lots();
    let rates = json!({"year": 2025, "short_term_rate": 30, "long_term_rate": 15});
    let tax = desk.ask("estimate_tax", rates).await;
    // Long-term 1,500 less short-term 250.
    close(&tax["taxed_long_term"], 1_250.0);
    close(&tax["tax"], 187.5);
    let loss = Asked::over(crate::support::desk(
        vec![fill(1, day(1), Side::Buy, 1_000, 2_000), fill(2, day(2), Side::Sell, 1_000, 1_500)],
        &[1_500; 2],
    ));
    let tax =
        loss.ask("estimate_tax", json!({"year": 2025, "short_term_rate": 30, "long_term_rate": 15})).await;
    close(&tax["deduction"], 3_000.0);
    close(&tax["carried_over"], 2_000.0);
    close(&tax["tax"], 0.0);
}

#[tokio::test]
async fn a_loss_with_a_purchase_within_thirty_days_is_a_wash_sale() {
    let desk = |gap: i64| {
        Asked::over(desk(
            vec![
                fill(1, day(1), Side::Buy, 100, 2_000),
                fill(2, day(2), Side::Sell, 100, 1_500),
                fill(3, day(2).plus(gap), Side::Buy, 40, 1_500),
            ],
            &[1_500; 2],
        ))
    };
    let near = desk(30).ask("find_wash_sales", json!({"year": 2025})).await;
    close(&near["disallowed"], 200.0);
    assert_eq!(near["sales"][0]["bought_shares"], 40);
    let far = desk(31).ask("find_wash_sales", json!({"year": 2025})).await;
    assert_eq!(far["sales"], Value::Array(Vec::new()));
}

/// The gain of flat positions does not depend on the order of lots, and equals the net profit of their trips.
#[tokio::test]
async fn every_method_gains_the_same_in_all_where_all_is_sold() {
    let desk = Asked::generated();
    for account in ["main", "pro"] {
        let trips = desk.ask("get_round_trips", json!({"account": account, "limit": 500})).await;
        let rows = trips["trips"].as_array().unwrap().iter();
        let in_shares = rows.filter(|trip| trip["strategy"] != "options");
        let expected: f64 = in_shares.map(|trip| trip["net"].as_f64().unwrap()).sum();
        for method in ["fifo", "lifo", "hifo"] {
            let mut total = 0.0;
            for year in [2024, 2025] {
                let words = json!({"year": year, "account": account, "method": method});
                total += desk.ask("get_realized_gains", words).await["total"].as_f64().unwrap();
            }
            // The basis is stored per share, to a millionth.
            assert!((total - expected).abs() < 0.25, "{account} {method}: {total} is not {expected}");
        }
    }
    assert_eq!(Money::cents(100).dollars(), 1.0);
}
