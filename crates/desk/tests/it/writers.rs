//! Effects and refusals of the writing tools.

use serde_json::json;
use toolcrib_desk::limits::{DESK_FILLS_MAX, DESK_RESTING_MAX};
use toolcrib_desk::{Account, Side};

use crate::support::{Asked, close, day, desk, fill};

#[tokio::test]
async fn an_order_moves_cash_and_shares() {
    let desk = Asked::over(desk(Vec::new(), &[1_000]));
    let order = json!({"account": "main", "symbol": "ACME", "side": "buy", "shares": 100});
    let placed = desk.ask("place_order", order).await;
    close(&placed["executed"]["price"], 10.01);
    close(&placed["executed"]["cash_after"], 100_000.0 - 1_001.0);
    let positions = desk.ask("get_positions", json!({"account": "main"})).await;
    assert_eq!(positions["positions"][0]["quantity"], 100);
    close(&positions["unrealized"], -1.0);
    let closed = desk.ask("close_position", json!({"account": "main", "symbol": "ACME"})).await;
    close(&closed["executed"]["price"], 9.99);
    assert_eq!(
        desk.ask("close_position", json!({"account": "main", "symbol": "ACME"})).await["executed"],
        json!(null)
    );
    let trips = desk.ask("get_round_trips", json!({"strategy": "discretionary"})).await;
    assert_eq!(trips["total"], 1);
    close(&trips["trips"][0]["gross"], -2.0);
}

#[tokio::test]
async fn what_the_account_cannot_do_is_refused_and_changes_nothing() {
    let desk = Asked::over(desk(Vec::new(), &[1_000]));
    let before = desk.ask("get_balances", json!({})).await;
    for (order, reason) in [
        (json!({"account": "main", "symbol": "ACME", "side": "buy", "shares": 10_001}), "the order needs"),
        (
            json!({"account": "retirement", "symbol": "ACME", "side": "sell", "shares": 1}),
            "does not sell short",
        ),
        (json!({"account": "main", "symbol": "BOLT", "side": "buy", "shares": 1}), "no price"),
        (json!({"account": "main", "symbol": "ACME", "side": "buy", "shares": 0}), "/shares"),
        (json!({"account": "savings", "symbol": "ACME", "side": "buy", "shares": 1}), "/account"),
    ] {
        let text = desk.refused("place_order", order).await;
        assert!(text.contains(reason), "{text}");
    }
    for (transfer, reason) in [
        (json!({"from": "main", "to": "main", "amount": 1}), "the same"),
        (json!({"from": "main", "to": "pro", "amount": 100_000.01}), "less than"),
    ] {
        assert!(desk.refused("transfer_cash", transfer).await.contains(reason));
    }
    assert_eq!(desk.ask("get_balances", json!({})).await, before);
}

#[tokio::test]
async fn a_limit_order_rests_until_it_is_cancelled() {
    let desk = Asked::over(desk(Vec::new(), &[1_000]));
    let order = json!({"account": "pro", "symbol": "ACME", "side": "buy", "shares": 10, "limit": 10.00});
    let placed = desk.ask("place_order", order.clone()).await;
    let number = placed["resting"]["order"].clone();
    assert_eq!(desk.ask("list_orders", json!({})).await["orders"][0]["order"], number);
    assert_eq!(desk.ask("cancel_order", json!({"order": number})).await["cancelled"], true);
    assert_eq!(desk.ask("cancel_order", json!({"order": number})).await["cancelled"], false);
    for _ in 0..DESK_RESTING_MAX {
        desk.ask("place_order", order.clone()).await;
    }
    assert!(desk.refused("place_order", order).await.contains("cancel some"));
}

#[tokio::test]
async fn an_account_is_closed_when_it_holds_nothing() {
    let desk = Asked::over(desk(vec![fill(1, day(1), Side::Buy, 10, 1_000)], &[1_000]));
    let ending = json!({"account": "main", "send_cash_to": "pro"});
    assert!(desk.refused("close_account", ending.clone()).await.contains("still holds 1 positions"));
    desk.ask("close_position", json!({"account": "main", "symbol": "ACME"})).await;
    let ended = desk.ask("close_account", ending.clone()).await;
    assert_eq!(ended["already"], false);
    assert_eq!(desk.ask("close_account", ending).await["already"], true);
    let balances = desk.ask("get_balances", json!({})).await;
    close(&balances["accounts"][0]["cash"], 0.0);
    close(
        &balances["accounts"][1]["cash"],
        Account::Pro.deposit().dollars() + ended["amount"].as_f64().unwrap(),
    );
    let order = json!({"account": "main", "symbol": "ACME", "side": "buy", "shares": 1});
    assert!(desk.refused("place_order", order).await.contains("closed"));
}

#[tokio::test]
async fn a_full_book_refuses_orders() {
    let many =
        |id: u32| fill(id, day(1), if id.is_multiple_of(2) { Side::Sell } else { Side::Buy }, 1, 1_000);
    let fills = (1..=u32::try_from(DESK_FILLS_MAX).unwrap()).map(many).collect();
    let desk = Asked::over(desk(fills, &[1_000]));
    let order = json!({"account": "main", "symbol": "ACME", "side": "buy", "shares": 1});
    assert!(desk.refused("place_order", order).await.contains("book is full"));
}
