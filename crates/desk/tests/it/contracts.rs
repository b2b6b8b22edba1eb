//! The contracts that the desk advertises.

use serde_json::json;
use toolcrib::Filter;
use toolcrib_contract::lint::{Level, lint};

use crate::support::Asked;

/// R3.2: `core`, `discovery` and `trade-analytics` are loaded at the start; the other toolsets are deferred.
#[tokio::test]
async fn the_rest_is_found_when_it_is_needed() {
    let desk = Asked::generated();
    let answer = desk.server().call("list_available_toolsets", json!({})).await.unwrap();
    let toolsets = answer["structuredContent"]["toolsets"].as_array().unwrap().clone();
    let count = |name: &str| toolsets.iter().find(|set| set["name"] == name).unwrap()["tool_count"].as_u64();
    let counts = ["core", "trade-analytics", "trade-planning", "accounts", "tax"].map(count);
    assert_eq!(counts, [Some(3), Some(12), Some(5), Some(8), Some(4)]);
    let sees = |tool: &str| desk.server().explain(tool, "claude-code").unwrap().as_json();
    for (tool, listed) in
        [("get_sqn", true), ("get_quote", true), ("transfer_cash", false), ("estimate_tax", false)]
    {
        assert_eq!(sees(tool)["listed"], listed, "{}", sees(tool));
    }
}

/// R1.2: every tool of the desk has full annotations, and both schemas.
#[test]
fn every_tool_is_annotated_and_clean() {
    let desk = Asked::generated();
    let tools = desk.server().list(&Filter::default());
    let mut analytics = (0, 0);
    for entry in tools.iter().filter(|entry| entry.toolset() != "discovery") {
        let (contract, definition) = (entry.contract(), entry.contract().definition());
        let name = definition.name();
        let effect = contract.effect();
        assert!(!effect.open_world, "{name}: the desk is a closed world");
        let reads = ["get_", "list_", "find_", "size_", "project_", "estimate_"]
            .iter()
            .any(|verb| name.starts_with(verb));
        assert_eq!(effect.read_only, reads, "{name}");
        let text: serde_json::Value = serde_json::from_str(definition.text()).unwrap();
        assert!(text["outputSchema"].is_object() && text["title"].is_string(), "{name}");
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(text["annotations"][hint].is_boolean(), "{name} says nothing of {hint}");
        }
        let findings = lint(definition).findings;
        assert!(findings.iter().all(|finding| finding.level < Level::Warning), "{name}: {findings:?}");
        if entry.toolset() == "trade-analytics" {
            analytics = (analytics.0 + usize::from(reads), analytics.1 + usize::from(!reads));
        }
    }
    assert_eq!(analytics, (11, 1));
    let destructive = |name: &str| desk.server().get(name).unwrap().contract().effect().destructive;
    for name in [
        "place_order",
        "cancel_order",
        "transfer_cash",
        "close_position",
        "close_account",
        "discard_trade_plan",
    ] {
        assert!(destructive(name), "{name}");
    }
    for name in ["enrich_excursions", "save_trade_plan", "set_account_label"] {
        assert!(!destructive(name), "{name}");
    }
}
