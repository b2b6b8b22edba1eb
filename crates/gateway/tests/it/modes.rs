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

/// R5.5: arguments that break their schema are refused, passed on and reported, or not looked at, as the rule says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_that_break_their_schema_reach_the_server_only_where_the_rule_says_so() {
    for (mode, passes) in [(Strictness::Enforce, false), (Strictness::Warn, true), (Strictness::Off, true)] {
        let mut source = stdio("s", "strict-input");
        source.rules = vec![rule("str*", mode, Strictness::Enforce)];
        let bed = Bed::new(vec![source]).await;
        let result = bed.server.call("s__strict", json!({"n": "one"})).await.unwrap();
        assert_eq!(result["isError"] != true, passes, "{mode:?}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(if passes { "\"one\"" } else { "/n: expected" }), "{mode:?}: {text}");
        bed.gateway.stop().await;
    }
}
