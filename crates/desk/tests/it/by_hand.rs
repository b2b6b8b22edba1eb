//! A book that is small enough to compute on paper.

use serde_json::json;
use toolcrib_desk::{Fees, Money, Side, Venue};

use crate::support::{Asked, close, day, desk, fill};

/// Long: 100 at 10 and 100 at 11 in, 150 at 12 and 50 at 9 out, 150 gross. Short: 100 at 10, covered at 12, -200.
/// Long: 10 at 10, out at 13, 30.
fn small() -> Asked {
    let mut fills = vec![
        fill(1, day(1), Side::Buy, 100, 1_000),
        fill(2, day(1), Side::Buy, 100, 1_100),
        fill(3, day(2), Side::Sell, 150, 1_200),
        fill(4, day(3), Side::Sell, 50, 900),
        fill(5, day(4), Side::Sell, 100, 1_000),
        fill(6, day(5), Side::Buy, 100, 1_200),
        fill(7, day(6), Side::Buy, 10, 1_000),
        fill(8, day(7), Side::Sell, 10, 1_300),
    ];
    fills[0].fees =
        Fees { commission: Money::cents(100), regulatory: Money::cents(2), exchange: Money::cents(3) };
    fills[1].venue = Venue::WholesalerA;
    fills[1].payment_for_order_flow = Money::cents(20);
    // Half a cent better than the ask: 50 cents for 100 shares.
    fills[1].ask = fills[1].price + Money::micros(5_000);
    fills[1].bid = fills[1].price - Money::micros(15_000);
    Asked::over(desk(fills, &[1_050, 1_200, 900, 1_000, 1_200, 1_000, 1_300]))
}

#[tokio::test]
async fn round_trips_run_from_flat_to_flat() {
    let answer = small().ask("get_round_trips", json!({})).await;
    assert_eq!(answer["total"], 3);
    let trips = answer["trips"].as_array().unwrap();
    assert_eq!(trips.iter().map(|trip| trip["id"].as_u64().unwrap()).collect::<Vec<_>>(), [3, 2, 1]);
    let first = &trips[2];
    assert_eq!((&first["direction"], &first["quantity"]), (&json!("long"), &json!(200)));
    close(&first["entry_price"], 10.5);
    close(&first["exit_price"], 11.25);
    close(&first["gross"], 150.0);
    close(&first["fees"], 1.05);
    close(&first["net"], 148.95);
    assert_eq!(trips[1]["direction"], "short");
    close(&trips[1]["net"], -200.0);
    close(&answer["net"], -21.05);
}

#[tokio::test]
async fn expectancy_drawdown_and_sqn_are_those_on_paper() {
    let desk = small();
    let expectancy = desk.ask("get_expectancy", json!({})).await;
    close(&expectancy["win_rate"], 0.6667);
    close(&expectancy["average_win"], (148.95 + 30.0) / 2.0);
    close(&expectancy["average_loss"], 200.0);
    close(&expectancy["profit_factor"], 0.8948);
    close(&expectancy["expectancy"], -7.016_666);
    close(&expectancy["expectancy_r"], -0.0351);
    let drawdown = desk.ask("get_drawdown", json!({"account": "main"})).await;
    close(&drawdown["max_drawdown"], 200.0);
    close(&drawdown["current_drawdown"], 170.0);
    close(&drawdown["end"], 100_000.0 - 21.05);
    assert!(drawdown["peak"].as_str().unwrap().starts_with("2025-03-03"), "{drawdown}");
    assert!(drawdown["trough"].as_str().unwrap().starts_with("2025-03-05"), "{drawdown}");
    assert_eq!(drawdown["recovered"], json!(null));
    assert_eq!(drawdown["longest_losing_streak"], 1);
    let sqn = desk.ask("get_sqn", json!({})).await;
    // Deviations 155.96667, -192.98333, 37.01667: variance 31,469.19/… over two.
    let variance = (155.966_667f64.powi(2) + 192.983_333f64.powi(2) + 37.016_667f64.powi(2)) / 2.0;
    close(&sqn["deviation"], (variance.sqrt() * 10_000.0).round() / 10_000.0);
    assert!(
        (sqn["sqn"].as_f64().unwrap() - 3f64.sqrt() * -7.016_667 / variance.sqrt()).abs() < 1e-3,
        "{sqn}"
    );
    assert_eq!(sqn["rating"], "hard-to-trade");
}

#[tokio::test]
async fn fees_venues_and_payments_are_those_on_paper() {
    let desk = small();
    let fees = desk.ask("get_fee_breakdown", json!({})).await;
    close(&fees["total"]["total"], 1.05);
    // 1000 + 1100 + 1800 + 450 + 1000 + 1200 + 100 + 130.
    close(&fees["total"]["traded"], 6_780.0);
    close(&fees["total"]["basis_points"], 1.5487);
    let quality = desk.ask("get_execution_quality", json!({})).await;
    let wholesaler = &quality["venues"][0];
    assert_eq!(wholesaler["venue"], "wholesaler-a");
    close(&wholesaler["quoted_spread"], 0.02);
    // Half a cent above the middle, doubled.
    close(&wholesaler["effective_spread"], 0.01);
    close(&wholesaler["effective_over_quoted"], 0.5);
    close(&wholesaler["price_improvement"], 0.5);
    let impact = desk.ask("get_pfof_impact", json!({})).await;
    close(&impact["paid_to_broker"], 0.2);
    close(&impact["improvement_to_customer"], 0.5);
    close(&impact["broker_part"], 0.2857);
    close(&impact["shortfall_to_middle"], 0.5);
    close(&impact["routed"], 0.125);
}

#[tokio::test]
async fn excursions_are_those_of_the_days_it_was_open() {
    let desk = small();
    assert_eq!(desk.ask("get_round_trips", json!({})).await["trips"][0]["excursion"], json!(null));
    let enriched = desk.ask("enrich_excursions", json!({})).await;
    assert_eq!(
        (&enriched["enriched"], &enriched["new"], &enriched["skipped"]),
        (&json!(3), &json!(3), &json!(0))
    );
    let again = desk.ask("enrich_excursions", json!({})).await;
    assert_eq!((&again["enriched"], &again["new"]), (&json!(3), &json!(0)));
    let trips = desk.ask("get_round_trips", json!({})).await["trips"].clone();
    // Days 1 to 3 close at 10.50, 12.00 and 9.00, half a dollar around each; 200 shares at 10.50.
    close(&trips[2]["excursion"]["adverse"], (10.5 - 8.5) * 200.0);
    close(&trips[2]["excursion"]["favorable"], (12.5 - 10.5) * 200.0);
    // Short at 10.00; days 4 and 5 close at 10.00 and 12.00.
    close(&trips[1]["excursion"]["adverse"], (12.5 - 10.0) * 100.0);
    close(&trips[1]["excursion"]["favorable"], (10.0 - 9.5) * 100.0);
}

#[tokio::test]
async fn a_fill_that_turns_a_position_is_split_between_two_trips() {
    let mut fills = vec![
        fill(1, day(1), Side::Buy, 100, 1_000),
        fill(2, day(2), Side::Sell, 300, 1_100),
        fill(3, day(3), Side::Buy, 200, 1_000),
    ];
    fills[1].fees.commission = Money::cents(300);
    let answer = Asked::over(desk(fills, &[1_000; 3])).ask("get_round_trips", json!({})).await;
    let trips = answer["trips"].as_array().unwrap();
    close(&trips[1]["gross"], 100.0);
    close(&trips[1]["fees"], 1.0);
    assert_eq!((&trips[0]["direction"], &trips[0]["quantity"]), (&json!("short"), &json!(200)));
    close(&trips[0]["gross"], 200.0);
    close(&trips[0]["fees"], 2.0);
}

#[tokio::test]
async fn nothing_to_count_is_absent_and_not_zero() {
    let desk = Asked::over(desk(Vec::new(), &[1_000]));
    let expectancy = desk.ask("get_expectancy", json!({})).await;
    assert_eq!((&expectancy["trades"], &expectancy["win_rate"]), (&json!(0), &json!(null)));
    let sqn = desk.ask("get_sqn", json!({})).await;
    assert_eq!((&sqn["sqn"], &sqn["rating"]), (&json!(null), &json!("undecided")));
    assert!(desk.refused("get_cost_of_free", json!({})).await.contains("no trades of both kinds"));
}
