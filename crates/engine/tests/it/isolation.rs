//! R3.4: a toolset that one caller enables is seen by no other caller, over many random steps.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use toolcrib_engine::{Principal, ToolsetOptions};

use crate::support::{SETS, Side, engine, engine_with, toolsets};

/// Ten runs of a thousand steps each.
const CASES: u32 = 10;
const STEPS: usize = 1_000;

#[derive(Debug, Clone, Copy)]
enum Act {
    Enable,
    Disable,
    Call,
    CallThrough,
    List,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Act, usize)>> {
    let act = prop_oneof![
        Just(Act::Enable),
        Just(Act::Disable),
        Just(Act::Call),
        Just(Act::CallThrough),
        Just(Act::List)
    ];
    vec((0..2_usize, act, 0..SETS), STEPS)
}

/// Checks after every step that each caller lists exactly the toolsets that it enabled itself.
async fn run(sides: [Side; 2], steps: Vec<(usize, Act, usize)>) -> Result<(), TestCaseError> {
    let engine = engine();
    let mut expected = [BTreeSet::new(), BTreeSet::new()];
    for (who, act, set) in steps {
        let side = &sides[who];
        match act {
            Act::Enable => {
                side.call(&engine, "enable_toolset", set).await;
                expected[who].insert(set);
            }
            Act::Disable => {
                side.call(&engine, "disable_toolset", set).await;
                expected[who].remove(&set);
            }
            Act::Call => {
                // R3.6: a tool that is not listed cannot be called.
                let answer = side.ask(&engine, "tools/call", json!({"name": format!("t{set}")})).await;
                prop_assert_eq!(answer.get("error").is_none(), expected[who].contains(&set), "{}", answer);
            }
            Act::CallThrough => {
                let params = json!({"name": "call_tool", "arguments": {"name": format!("t{set}")}});
                let answer = side.ask(&engine, "tools/call", params).await;
                prop_assert_eq!(&answer["result"]["structuredContent"], &json!({"text": "x"}), "{}", answer);
            }
            Act::List => {}
        }
        for (side, expected) in sides.iter().zip(&expected) {
            prop_assert_eq!(&side.sees(&engine).await, expected);
        }
    }
    Ok(())
}

/// Checks that a modern client's list stays the same, whatever it or a legacy session of its principal calls.
async fn run_modern(steps: Vec<(usize, Act, usize)>) -> Result<(), TestCaseError> {
    let engine = engine_with(ToolsetOptions { profiles_change: false, ..toolsets() });
    let ann = Principal::subject("ann");
    let sides = [Side::legacy(&ann), Side::modern(&ann)];
    let list = async || sides[1].ask(&engine, "tools/list", json!({})).await.to_string();
    let first = list().await;
    for (who, act, set) in steps {
        let params = match act {
            Act::Enable => {
                json!({"name": "enable_toolset", "arguments": {"toolset_name": format!("s{set}")}})
            }
            Act::Disable => {
                json!({"name": "disable_toolset", "arguments": {"toolset_name": format!("s{set}")}})
            }
            Act::Call => json!({"name": "search_tools", "arguments": {"query": format!("t{set}")}}),
            Act::CallThrough => json!({"name": "call_tool", "arguments": {"name": format!("t{set}")}}),
            Act::List => {
                json!({"name": "describe_toolset", "arguments": {"toolset_name": format!("s{set}")}})
            }
        };
        sides[who].ask(&engine, "tools/call", params).await;
        prop_assert_eq!(&list().await, &first);
    }
    Ok(())
}

fn walk(sides: [Side; 2], steps: Vec<(usize, Act, usize)>) -> Result<(), TestCaseError> {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(run(sides, steps))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    /// R3.4: two sessions of one principal, 10,000 random steps.
    #[test]
    fn two_sessions_never_see_each_others_toolsets(steps in steps()) {
        let nobody = Principal::Anonymous;
        walk([Side::legacy(&nobody), Side::legacy(&nobody)], steps)?;
    }

    /// R3.4: two modern principals with stored profiles, 10,000 random steps.
    #[test]
    fn two_principals_never_see_each_others_toolsets(steps in steps()) {
        let (ann, bob) = (Principal::subject("ann"), Principal::subject("bob"));
        walk([Side::modern(&ann), Side::modern(&bob)], steps)?;
    }

    /// R3.4: the list of a modern client never changes because of a call, 10,000 random steps.
    #[test]
    fn a_modern_list_never_changes_because_of_a_call(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(run_modern(steps))?;
    }

    /// R3.4: a legacy session and a modern client of one principal do not change each other.
    #[test]
    fn a_session_and_a_profile_of_one_principal_stay_apart(steps in steps()) {
        let ann = Principal::subject("ann");
        walk([Side::legacy(&ann), Side::modern(&ann)], steps)?;
    }
}
