//! Limits of safety that only a running server reaches: times, and the default number of equal calls.

use std::time::Duration;

use serde_json::json;

use crate::running::{Folder, Serving, handle, is_refused, pause, text};

const GATED: &str = "launch_confetti";
const READS: &str = "generate_fantasy_character";

/// R4.5, `APPROVAL_MS`: a call waits an hour by default; one that nobody decides in time leaves the queue.
#[test]
fn a_call_that_nobody_decides_within_approval_ms_leaves_the_queue() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    assert!(text(&serving.client().call(GATED, json!({"count": 1}))).contains("valid for 3600 seconds"));
    serving.end();
    let folder = Folder::new();
    let serving = Serving::policy(&folder, "[safety]\napproval_ms = 3000\n");
    let client = serving.client();
    let (early, late) = (client.call(GATED, json!({"count": 1})), client.call(GATED, json!({"count": 2})));
    folder.does(&["approve", "allow", &handle(&early)]);
    pause(Duration::from_millis(3_100));
    assert_ne!(folder.run(&["approve", "allow", &handle(&late)]).status.code(), Some(0));
    let expired = client.confirmed(GATED, &json!({"count": 1}), &handle(&early));
    assert!(is_refused(&expired) && text(&expired).contains("expired"), "{expired}");
    assert_ne!(handle(&client.call(GATED, json!({"count": 2}))), handle(&late), "it waits anew");
}

/// R4.7, `REPEATS_READ_ONLY_MAX`, `REPEAT_WINDOW_MS`: a thousand equal read-only calls pass within five minutes, and
/// the next one does not.
#[test]
fn the_default_stops_a_read_only_call_after_repeats_read_only_max() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let client = serving.client();
    for number in 0..1_000 {
        assert!(client.call(READS, json!({"theme": "sea"}))["isError"].is_null(), "{number}");
    }
    let looped = client.call(READS, json!({"theme": "sea"}));
    assert!(is_refused(&looped), "{looped}");
    assert!(text(&looped).contains("1001 times with the same arguments within 300 s"), "{looped}");
}

/// R4.7, `REPEAT_WINDOW_MS`: after the window the count starts again.
#[test]
fn repetitions_are_counted_within_repeat_window_ms_only() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, "[safety]\nrepeats_read_only_max = 3\nrepeat_window_ms = 3000\n");
    let client = serving.client();
    let runs = || client.call(READS, json!({"theme": "sea"}))["isError"].is_null();
    assert!((0..3).all(|_| runs()));
    pause(Duration::from_millis(3_100));
    assert!((0..3).all(|_| runs()));
    assert!(!runs());
}

/// R4.8, `AUDIT_FLUSH_MS`: the record of a read-only call is on disk after that time, even if the process is killed.
/// The test waits five times as long, for a busy machine.
#[test]
fn a_record_survives_a_kill_after_audit_flush_ms() {
    let folder = Folder::new();
    let mut serving = Serving::start(&folder);
    assert!(serving.client().call(READS, json!({"theme": "sea"}))["isError"].is_null());
    pause(Duration::from_millis(1_000));
    serving.process.kill();
    assert!(folder.does(&["audit", "list", "--format", "json"]).contains(READS));
}
