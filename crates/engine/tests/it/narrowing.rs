//! R3.4: an operator's limit is never widened, whatever a request selects and whatever was called before.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::json;
use toolcrib_engine::toolset::glob::Glob;
use toolcrib_engine::{Names, Principal, Selection, ToolsetOptions};

use crate::support::{SETS, Side, engine_with, toolsets};

type Sets = BTreeSet<usize>;

fn some_sets() -> impl Strategy<Value = Option<Sets>> {
    option::of(btree_set(0..SETS, 0..=SETS))
}

fn named(sets: &Sets) -> Names {
    Names::These(sets.iter().map(|set| format!("s{set}").into()).collect())
}

/// Limits of all callers, of one credential and of one request; toolsets loaded at the start; and calls.
#[derive(Debug, Clone)]
struct Case {
    allowed: Option<Sets>,
    credential: Option<Sets>,
    chosen: Option<Sets>,
    start: Option<Sets>,
    is_legacy: bool,
    calls: Vec<(bool, usize)>,
}

fn case() -> impl Strategy<Value = Case> {
    let calls = vec((any::<bool>(), 0..SETS), 0..12);
    (some_sets(), some_sets(), some_sets(), some_sets(), any::<bool>(), calls).prop_map(
        |(allowed, credential, chosen, start, is_legacy, calls)| Case {
            allowed,
            credential,
            chosen,
            start,
            is_legacy,
            calls,
        },
    )
}

async fn run(case: Case) -> Result<(), TestCaseError> {
    let Case { allowed, credential, chosen, start, is_legacy, calls } = case;
    let engine = engine_with(ToolsetOptions {
        allowed: allowed.as_ref().map(named),
        principals: credential.iter().map(|sets| (Glob::new("ann"), named(sets))).collect(),
        start: start.as_ref().map(named),
        ..toolsets()
    });
    let limit: Sets = (0..SETS)
        .filter(|set| [&allowed, &credential, &chosen].into_iter().flatten().all(|sets| sets.contains(set)))
        .collect();
    let ann = Principal::subject("ann");
    let side = if is_legacy { Side::legacy(&ann) } else { Side::modern(&ann) };
    let side = side.by(Selection { toolsets: chosen.as_ref().map(named), read_only: false });
    for (load, set) in calls {
        side.call(&engine, if load { "enable_toolset" } else { "disable_toolset" }, set).await;
        prop_assert!(side.sees(&engine).await.is_subset(&limit));
    }
    for set in 0..SETS {
        let params = json!({"name": "call_tool", "arguments": {"name": format!("t{set}")}});
        let answer = side.ask(&engine, "tools/call", params).await;
        prop_assert_eq!(answer.get("error").is_none(), limit.contains(&set), "t{}: {}", set, answer);
    }
    let known = side.ask(&engine, "tools/call", json!({"name": "list_available_toolsets"})).await;
    let known = known["result"]["structuredContent"]["toolsets"].as_array().unwrap().iter();
    let known: Sets = known.filter_map(|it| it["name"].as_str()?.strip_prefix('s')?.parse().ok()).collect();
    prop_assert_eq!(known, limit);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// R3.4: a caller lists, calls, searches and names only tools within operator ∩ credential ∩ request.
    #[test]
    fn no_request_and_no_call_reaches_beyond_the_limits(case in case()) {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(run(case))?;
    }
}
