//! Replacing the declared and selected toolsets while the server runs.

use toolcrib_engine::{Names, Principal, RegisterError, Toolset, ToolsetOptions};

use crate::support::{Side, engine, engine_with, toolsets};

/// R3.5: a new selection applies to all callers at once; toolsets that a session enabled stay enabled within it.
#[tokio::test]
async fn a_new_selection_takes_the_old_ones_place() {
    let engine = engine();
    let (ann, bob) = (Side::legacy(&Principal::Anonymous), Side::modern(&Principal::Anonymous));
    ann.call(&engine, "enable_toolset", 1).await;
    assert_eq!((ann.sees(&engine).await, bob.sees(&engine).await), ([1].into(), [].into()));
    let narrower = ToolsetOptions {
        start: Some(Names::parse("s2")),
        allowed: Some(Names::parse("s2,s3")),
        ..toolsets()
    };
    engine.registry().set_toolsets(narrower).unwrap();
    assert_eq!((ann.sees(&engine).await, bob.sees(&engine).await), ([].into(), [2].into()));
    engine.registry().set_toolsets(toolsets()).unwrap();
    assert_eq!((ann.sees(&engine).await, bob.sees(&engine).await), ([1].into(), [].into()));
}

/// R3.1: without toolsets the discovery tools are removed, and every tool is listed.
#[tokio::test]
async fn discovery_tools_come_and_go_with_the_selection() {
    let engine = engine();
    let side = Side::modern(&Principal::Anonymous);
    let count = async || {
        let list = side.ask(&engine, "tools/list", serde_json::json!({})).await;
        (list["result"]["tools"].as_array().unwrap().len(), list["result"]["cacheScope"].clone())
    };
    assert_eq!(count().await, (6, "private".into()));
    engine.registry().set_toolsets(ToolsetOptions::default()).unwrap();
    assert_eq!(count().await, (6, "public".into()));
    engine.registry().set_toolsets(toolsets()).unwrap();
    engine.registry().set_toolsets(ToolsetOptions { start: None, ..toolsets() }).unwrap();
    assert_eq!(count().await, (12, "private".into()));
}

/// R3.2: a toolset can be selected before its tools are registered, and has them once they are.
#[tokio::test]
async fn an_expected_toolset_can_be_selected_before_its_tools_come() {
    let select = |expected: Vec<Box<str>>| ToolsetOptions {
        start: Some(Names::parse("later")),
        expected,
        ..toolsets()
    };
    let engine = engine_with(select(vec![]));
    assert!(engine.check_toolsets().unwrap_err().to_string().contains("unknown toolset \"later\""));
    engine.registry().set_toolsets(select(vec!["later".into()])).unwrap();
    assert_eq!(engine.check_toolsets(), Ok(()));
}

/// R2.2: an invalid selection is refused and changes nothing.
#[tokio::test]
async fn a_refused_selection_changes_nothing() {
    let engine = engine();
    let bad = ToolsetOptions { declared: vec![Toolset::new("not a name", "")], ..toolsets() };
    assert!(matches!(engine.registry().set_toolsets(bad), Err(RegisterError::InvalidToolset(_))));
    assert_eq!(engine.toolsets().declared.len(), 6);
}
