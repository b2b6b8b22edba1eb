//! Served names of tools, and tools that are not served.

use serde_json::json;

use super::bed::{Bed, stdio};

/// R5.5: one invalid tool is quarantined alone, with its reason; it never empties the list.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_invalid_tool_is_quarantined_alone_with_its_reason() {
    let bed = Bed::new(vec![stdio("s", "one-bad-tool")]).await;
    let tools = bed.tools();
    assert!(
        ["s__echo", "s__poke", "s__safe_poke"].iter().all(|name| tools.contains(&(*name).to_owned())),
        "{tools:?}"
    );
    let status = bed.status("s");
    let reason = |tool: &str| {
        let found = status.quarantined.iter().find(|one| one.tool == tool);
        found.unwrap_or_else(|| panic!("{tool}: {status:?}")).reason.clone()
    };
    assert!(reason("no_schema").contains("input schema"));
    assert!(reason("bad_schema").contains("invalid input schema"));
    assert!(reason("echo").contains("twice"));
    assert!(reason("").contains("a definition is a JSON object"));
    // A name that may not be served is shortened to a valid one, under which the tool can be called.
    let spaced =
        tools.iter().find(|name| name.starts_with("s__with-space-")).unwrap_or_else(|| panic!("{tools:?}"));
    bed.text(spaced, json!({})).await;
    bed.gateway.stop().await;
}

/// R5.3: collisions are reported, never silently resolved; the first server in the configuration keeps its names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_two_servers_claim_stays_with_the_first_and_is_reported() {
    let (mut one, mut two) = (stdio("one", "counts"), stdio("two", ""));
    (one.prefix, two.prefix) = (None, None);
    for order in [[one.clone(), two.clone()], [one.clone(), two.clone()]] {
        let bed = Bed::new(order.to_vec()).await;
        assert_eq!(bed.tools(), ["echo", "poke", "safe_poke"]);
        assert_eq!(bed.text("poke", json!({})).await, "1", "the first one answers");
        let status = bed.status("two");
        assert_eq!(status.quarantined.len(), 3);
        assert!(status.quarantined[0].reason.contains("server \"one\" has a tool"), "{status:?}");
        bed.gateway.stop().await;
    }
}

/// R5.3, R5.5: a server's tool with the name of one of the gateway's own is quarantined alone, with its reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_of_the_gateways_own_tools_is_theirs_and_takes_nothing_else_with_it() {
    let mut source = stdio("s", "own-names");
    source.prefix = None;
    let bed = Bed::with_discovery(vec![source]).await;
    let tools = bed.tools();
    for name in ["echo", "poke", "safe_poke", "emergency_status"] {
        assert!(tools.contains(&name.to_owned()), "{name}: {tools:?}");
    }
    let quarantined = bed.status("s").quarantined;
    let names: Vec<&str> = quarantined.iter().map(|one| one.tool.as_str()).collect();
    assert_eq!(names, ["search_tools"]);
    assert!(quarantined[0].reason.contains("the gateway has a tool of its own"), "{quarantined:?}");
    bed.gateway.stop().await;
}

/// R5.3: adding a second server never renames the first one's tools.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_never_renames_the_first_ones_tools() {
    let bed = Bed::new(vec![stdio("one", "")]).await;
    let alone = bed.tools();
    bed.gateway.change(vec![stdio("one", ""), stdio("two", "")]).await.unwrap();
    bed.until("both served", |bed| bed.tools().len() == 6).await;
    assert!(alone.iter().all(|name| bed.tools().contains(name)));
    bed.gateway.stop().await;
}
