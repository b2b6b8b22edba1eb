//! Concurrent calls: models call several tools in one turn.

use std::sync::Arc;

use toolcrib_engine::Principal;

use crate::support::{SETS, Side, engine};

async fn enable_all_at_once(side: Side) {
    let engine = Arc::new(engine());
    let calls = (0..SETS).map(|set| {
        let (engine, side) = (engine.clone(), side.clone());
        tokio::spawn(async move { side.call(&engine, "enable_toolset", set).await })
    });
    for call in calls.collect::<Vec<_>>() {
        let answer = call.await.unwrap();
        assert_eq!(answer["result"]["structuredContent"]["changed"], true, "{answer}");
    }
    assert_eq!(side.sees(&engine).await, (0..SETS).collect());
}

/// R3.4: of several toolsets enabled concurrently in one session, none is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn toolsets_enabled_at_once_in_a_session_are_all_loaded() {
    for _ in 0..50 {
        enable_all_at_once(Side::legacy(&Principal::Anonymous)).await;
    }
}

/// R3.4: of several toolsets enabled concurrently in one profile, none is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn toolsets_enabled_at_once_in_a_profile_are_all_loaded() {
    for _ in 0..50 {
        enable_all_at_once(Side::modern(&Principal::subject("ann"))).await;
    }
}
