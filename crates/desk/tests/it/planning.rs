//! Sizes, projections and plans.

use serde_json::json;
use toolcrib_desk::limits::DESK_PLANS_MAX;
use toolcrib_desk::{Account, Desk};

use crate::support::{Asked, close, desk};

#[tokio::test]
async fn a_stop_costs_no_more_than_the_risk() {
    let cash = Desk::generated().cash(Account::Main).dollars();
    let desk = Asked::generated();
    let wanted = json!({"account": "main", "symbol": "ACME", "entry": 100, "stop": 96, "risk_percent": 0.5});
    let size = desk.ask("size_position", wanted).await;
    let shares = (cash * 0.005 / 4.0).floor();
    assert_eq!((&size["direction"], size["shares"].as_f64()), (&json!("long"), Some(shares)));
    close(&size["loss_at_stop"], shares * 4.0);
    let tight =
        json!({"account": "main", "symbol": "ACME", "entry": 100, "stop": 99.99, "risk_percent": 100});
    let size = desk.ask("size_position", tight).await;
    assert_eq!(
        (&size["limited_by"], size["shares"].as_f64()),
        (&json!("cash"), Some((cash / 100.0).floor()))
    );
    let none = json!({"account": "main", "symbol": "ACME", "entry": 100, "stop": 100});
    assert!(desk.refused("size_position", none).await.contains("Choose another stop"));
}

#[tokio::test]
async fn a_projection_repeats_the_past() {
    let desk = Asked::generated();
    let past = desk.ask("get_expectancy", json!({"strategy": "pullback"})).await;
    let found = desk.ask("project_trade", json!({"strategy": "pullback", "trades": 50})).await;
    assert!(
        (found["expected_profit"].as_f64().unwrap() - past["expectancy"].as_f64().unwrap() * 50.0).abs()
            < 1e-3
    );
    let (p, win, loss) = (
        past["wins"].as_f64().unwrap() / past["trades"].as_f64().unwrap(),
        past["average_win"].as_f64().unwrap(),
        past["average_loss"].as_f64().unwrap(),
    );
    assert!((found["kelly_fraction"].as_f64().unwrap() - (p - (1.0 - p) * loss / win)).abs() < 1e-4);
}

#[tokio::test]
async fn plans_are_kept_until_they_are_discarded() {
    let desk = Asked::over(desk(Vec::new(), &[1_000]));
    let draft = json!({"symbol": "ACME", "entry": 10, "stop": 9, "target": 13, "shares": 100});
    let plan = desk.ask("save_trade_plan", draft.clone()).await;
    close(&plan["risk"], 100.0);
    close(&plan["reward"], 300.0);
    close(&plan["reward_to_risk"], 3.0);
    close(&plan["breakeven_win_rate"], 0.25);
    let list = desk.ask("list_trade_plans", json!({})).await;
    assert_eq!(list["plans"][0]["plan"], plan);
    let wrong = json!({"symbol": "ACME", "entry": 10, "stop": 9, "target": 8, "shares": 100});
    assert!(desk.refused("save_trade_plan", wrong).await.contains("different sides"));
    for _ in 1..DESK_PLANS_MAX {
        desk.ask("save_trade_plan", draft.clone()).await;
    }
    assert!(desk.refused("save_trade_plan", draft).await.contains("discard some"));
    let gone = desk.ask("discard_trade_plan", json!({"plan": plan["plan"]})).await;
    assert_eq!(gone["discarded"], true);
    assert_eq!(desk.ask("discard_trade_plan", json!({"plan": plan["plan"]})).await["discarded"], false);
}
