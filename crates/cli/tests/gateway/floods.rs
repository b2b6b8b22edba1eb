//! Servers that send without end, or one byte at a time, behind the real gateway and beside a good server.
//!
//! Two calls run at once, one per worker thread: each fails by a byte limit's name or at its deadline, and the good
//! server keeps answering.

use std::time::Duration;

use super::hostile::Over::{self, Http, Stdio};
use super::hostile::Trial;
use super::running::until;

/// `call_ms_max` of the flooding server.
const CALL_MS: u64 = 2_000;

/// Maximum time of a call: the deadline, and a margin for a machine that builds and tests at the same time. A deadline
/// that a flood blocks does not fire at all.
const CALL_MAX: Duration = Duration::from_millis(CALL_MS + 3_000);

/// Maximum time of nine in ten calls to the good server while both workers are flooded.
const NEIGHBOUR_MAX: Duration = Duration::from_millis(1_000);

const TOO_SLOW: &str = "did not answer within 2000 ms";

/// Calls the flooding server twice at once; both calls must fail with one of the texts `says`.
fn flooded_call(over: Over, behaviour: &str, says: &[&str]) {
    let trial = Trial::timed(over, behaviour, CALL_MS, 5_000);
    let baseline = trial.memory("VmRSS:");
    trial.let_in();
    until("served", || trial.gateway.tools().contains(&"bad__poke".to_owned()));
    let (pokes, waited) = trial.beside_timed(|| {
        std::thread::scope(|scope| {
            let pokes = [scope.spawn(|| trial.poked()), scope.spawn(|| trial.poked())];
            pokes.map(|poke| poke.join().unwrap())
        })
    });
    for (text, took) in pokes {
        assert!(text.contains("Server \"bad\""), "{behaviour}: {text}");
        assert!(says.iter().any(|says| text.contains(says)), "{behaviour}: {text}");
        assert!(took <= CALL_MAX, "{behaviour}: {took:?}");
    }
    assert!(waited <= NEIGHBOUR_MAX, "{behaviour}: the neighbour waited {waited:?}");
    trial.assert_small(baseline, behaviour);
}

/// Floods during start or listing; the server must fail with one of the texts `says`.
fn flooded_start(over: Over, behaviour: &str, says: &[&str]) {
    let trial = Trial::timed(over, behaviour, CALL_MS, CALL_MS);
    let baseline = trial.memory("VmRSS:");
    let ((), waited) = trial.beside_timed(|| {
        trial.let_in();
        until("failed", || trial.state() == "failed");
    });
    let reason = trial.status()["reason"].as_str().unwrap_or_default().to_owned();
    assert!(says.iter().any(|says| reason.contains(says)), "{behaviour}: {reason}");
    assert!(waited <= NEIGHBOUR_MAX, "{behaviour}: the neighbour waited {waited:?}");
    trial.assert_small(baseline, behaviour);
}

/// R5.6: `INTERIM_HEADS_MAX` ends a flood of 103 responses, `HEAD_BYTES_MAX` one of empty lines.
#[test]
fn endless_interim_heads_and_empty_lines_are_refused_by_the_limits_name() {
    flooded_call(Http, "endless-interim-heads", &["INTERIM_HEADS_MAX"]);
    flooded_call(Http, "endless-empty-lines", &["HEAD_BYTES_MAX"]);
}

/// R5.6: `HEADERS_MAX` ends a flood of trailers.
#[test]
fn endless_trailers_are_refused_by_the_limits_name() {
    flooded_call(Http, "endless-trailers", &["HEADERS_MAX"]);
}

/// R5.6: `CHUNK_LINE_BYTES_MAX` limits one line, `CHUNK_EXTENSION_BYTES_MAX` all lines of a body.
#[test]
fn endless_chunk_lines_and_extensions_are_refused_by_the_limits_name() {
    flooded_call(Http, "endless-chunk-line", &["CHUNK_LINE_BYTES_MAX"]);
    flooded_call(Http, "endless-chunk-extensions", &["CHUNK_EXTENSION_BYTES_MAX"]);
}

/// R5.6: a body of one-byte chunks takes far more work than its size suggests.
#[test]
fn a_call_ends_in_time_whatever_the_size_of_its_chunks() {
    flooded_call(Http, "one-byte-chunks", &[TOO_SLOW, "UPSTREAM_MESSAGE_BYTES_MAX"]);
    flooded_call(Http, "one-byte-event-chunks", &[TOO_SLOW, "UPSTREAM_STREAM_BYTES_MAX"]);
}

/// R5.6: endless comments and empty events end at a limit or at the deadline.
#[test]
fn a_call_ends_in_time_under_endless_comments_and_empty_events() {
    flooded_call(Http, "endless-sse-comments", &[TOO_SLOW, "UPSTREAM_STREAM_BYTES_MAX"]);
    flooded_call(Http, "endless-sse-events", &[TOO_SLOW, "UPSTREAM_STREAM_BYTES_MAX"]);
}

/// R5.6: endless pings and notifications, which are read and answered one by one, end at a limit or at the deadline.
#[test]
fn a_call_ends_in_time_under_endless_pings_and_notifications() {
    flooded_call(Http, "endless-pings", &[TOO_SLOW, "UPSTREAM_STREAM_BYTES_MAX"]);
    flooded_call(Http, "endless-notices", &[TOO_SLOW, "UPSTREAM_STREAM_BYTES_MAX"]);
}

/// R5.6: endless lines over stdio end at the deadline, although a flood there affects every call of the server.
#[test]
fn a_stdio_call_ends_in_time_under_endless_lines() {
    for flood in
        ["endless-blank-lines", "endless-pings", "endless-notices", "endless-stray-answers", "endless-stderr"]
    {
        flooded_call(Stdio, flood, &[TOO_SLOW]);
    }
}

/// R5.6: one byte every 100 ms in the head, the body or the trailers ends at the deadline.
#[test]
fn a_call_ends_in_time_when_its_answer_drips() {
    for drip in ["drip", "drip-head", "drip-trailers"] {
        flooded_call(Http, drip, &[TOO_SLOW]);
    }
}

/// R5.6: lists and the first request have the same limits and a deadline of their own.
#[test]
fn a_server_that_floods_its_list_or_its_start_fails_in_time() {
    flooded_start(Http, "endless-interim-heads@start", &["INTERIM_HEADS_MAX"]);
    flooded_start(Http, "endless-trailers@list", &["HEADERS_MAX"]);
    flooded_start(Http, "endless-pings@list", &["within 2000 ms"]);
    flooded_start(Http, "drip@start", &["within 2000 ms"]);
    flooded_start(Http, "drip@list", &["within 2000 ms"]);
}
