//! Validation modes and budgets.

use serde_json::json;
use toolcrib_engine::Strictness;
use toolcrib_gateway::{Pattern, Rule};

use super::bed::{Bed, stdio};

fn rule(tools: &str, input: Strictness, output: Strictness) -> Rule {
    Rule { tools: Pattern::new(tools), input: Some(input), output: Some(output), result_bytes_max: None }
}

/// R5.5: `enforce` refuses, `warn` passes the answer on and reports it, `off` does not look.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_breaks_its_schema_is_refused_or_passed_on_as_the_rule_says() {
    for (mode, passes) in [(Strictness::Enforce, false), (Strictness::Warn, true), (Strictness::Off, true)] {
        let mut source = stdio("s", "strict-output");
        source.rules = vec![rule("li*", Strictness::Enforce, mode)];
        let bed = Bed::new(vec![source]).await;
        let result = bed.server.call("s__liar", json!({})).await.unwrap();
        assert_eq!(result["isError"] != true, passes, "{mode:?}: {result}");
        assert_eq!(result.get("structuredContent").is_some(), passes, "{mode:?}: {result}");
        if !passes {
            assert!(result["content"][0]["text"].as_str().unwrap().starts_with("Output validation failed:"));
        }
        bed.gateway.stop().await;
    }
}

/// R5.10: an answer above a per-tool size is kept as a resource and answered with a shorter result that links to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_answer_is_kept_and_linked_to_where_the_operator_asks_for_it() {
    let mut source = stdio("s", "long");
    source.rules =
        vec![Rule { tools: Pattern::new("*"), input: None, output: None, result_bytes_max: Some(4_096) }];
    let bed = Bed::new(vec![source]).await;
    let result = bed.server.call("s__poke", json!({})).await.unwrap();
    assert!(result.to_string().len() < 4_096, "{result}");
    assert_eq!(result["content"][1]["type"], "resource_link");
    assert!(result["content"][1]["uri"].as_str().unwrap().starts_with("toolcrib-result://"));
    bed.gateway.stop().await;
}
