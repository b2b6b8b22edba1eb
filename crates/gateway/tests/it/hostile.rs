//! Servers that mean harm.

use std::time::Duration;

use serde_json::json;

use super::bed::{Bed, SOON, http, lives, stdio};

/// What a refusal may take over its deadline.
const GRACE: Duration = Duration::from_millis(250);
const DEADLINE: Duration = Duration::from_millis(1_000);

/// Memory is counted for the whole process: one at a time.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// R5.6, R5.10: each is refused by name within its deadline, costs little memory, and its neighbour answers meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_hostile_answer_over_stdio_is_a_named_refusal_in_time() {
    let _alone = ALONE.lock().await;
    for (behaviour, says) in [
        ("hang", "did not answer within 1000 ms"),
        ("half", "did not answer within 1000 ms"),
        ("garbage", "did not answer within 1000 ms"),
        ("wrong-id", "did not answer within 1000 ms"),
        ("string-id", "did not answer within 1000 ms"),
        ("depth-bomb", "did not answer within 1000 ms"),
        ("no-object", "its result is no object"),
        ("huge", "UPSTREAM_MESSAGE_BYTES_MAX"),
        ("dies", "process ended with exit code 3"),
        ("closes-mid-frame", "process ended"),
    ] {
        let bed = Bed::new(vec![stdio("bad", behaviour), stdio("good", "")]).await;
        let before = resident_kib();
        let (refused, neighbour) = tokio::join!(bed.refusal("bad__poke"), async {
            let mut slowest = Duration::ZERO;
            for number in 0..20 {
                let begun = std::time::Instant::now();
                let text = bed.text("good__echo", json!({"n": number})).await;
                assert!(text.contains(&format!("\"n\":{number}")), "{text}");
                slowest = slowest.max(begun.elapsed());
            }
            slowest
        });
        let (text, took) = refused;
        assert!(text.contains("Server \"bad\"") && text.contains(says), "{behaviour}: {text}");
        assert!(took < DEADLINE + GRACE, "{behaviour}: {took:?}");
        assert!(neighbour < DEADLINE, "{behaviour}: the neighbour waited {neighbour:?}");
        let grown = resident_kib().saturating_sub(before);
        assert!(grown < 64 * 1024, "{behaviour}: {grown} KiB more");
        bed.gateway.stop().await;
    }
}

/// R5.6: the same over HTTP.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_hostile_answer_over_http_is_a_named_refusal_in_time() {
    let _alone = ALONE.lock().await;
    for (behaviour, says) in [
        ("hang", "did not answer within 1000 ms"),
        ("half-head", "did not answer within 1000 ms"),
        ("endless-head", "UPSTREAM_HEAD_BYTES_MAX"),
        ("huge", "UPSTREAM_MESSAGE_BYTES_MAX"),
        ("huge-chunks", "UPSTREAM_MESSAGE_BYTES_MAX"),
        ("endless-sse", "UPSTREAM_STREAM_BYTES_MAX"),
        ("endless-event", "UPSTREAM_MESSAGE_BYTES_MAX"),
        ("closes", "closed the connection"),
        ("closes-body", "closed the connection"),
        ("depth-bomb", "no valid JSON"),
        ("wrong-id", "an id that was not asked"),
        ("garbage", "no valid JSON"),
    ] {
        let (_process, bad) = http("bad", behaviour);
        let bed = Bed::new(vec![bad, stdio("good", "")]).await;
        let before = resident_kib();
        let (refused, _) = tokio::join!(bed.refusal("bad__poke"), bed.text("good__echo", json!({})));
        let (text, took) = refused;
        assert!(text.contains("Server \"bad\"") && text.contains(says), "{behaviour}: {text}");
        assert!(took < DEADLINE + GRACE, "{behaviour}: {took:?}");
        let grown = resident_kib().saturating_sub(before);
        assert!(grown < 64 * 1024, "{behaviour}: {grown} KiB more");
        bed.gateway.stop().await;
    }
}

/// R5.6: a list without end is refused by the limit's name; the neighbours serve on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_lists_are_refused_by_the_name_of_the_limit() {
    let _alone = ALONE.lock().await;
    for (behaviour, says) in [
        ("endless-cursor", "UPSTREAM_PAGES_MAX"),
        ("same-cursor", "goes round in a circle"),
        ("million-tools", "UPSTREAM_MESSAGE_BYTES_MAX"),
    ] {
        let bed = Bed::new(vec![stdio("bad", behaviour), stdio("good", "")]).await;
        bed.until("failed", |bed| bed.status("bad").state == "failed").await;
        let status = bed.status("bad");
        assert!(status.reason.as_deref().unwrap().contains(says), "{behaviour}: {status:?}");
        assert_eq!(bed.tools(), ["good__echo", "good__poke", "good__safe_poke"]);
        bed.text("good__echo", json!({})).await;
        bed.gateway.stop().await;
    }
}

/// R5.6: a server that cries change all the time is asked no more often for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_list_changes_does_not_keep_anybody_from_being_served() {
    let bed = Bed::new(vec![stdio("bad", "storm"), stdio("good", "")]).await;
    for _ in 0..20 {
        bed.text("bad__echo", json!({})).await;
        bed.text("good__echo", json!({})).await;
    }
    assert_eq!(bed.status("bad").state, "ready");
    bed.gateway.stop().await;
}

/// R5.6: child processes are reaped by process group, never leaked, whatever they ignore.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stubborn_children_and_their_children_are_gone_after_the_stop() {
    let mut deaf = stdio("deaf", "deaf");
    if let toolcrib_upstream::Transport::Stdio(command) = &mut deaf.spec.transport {
        let words = format!("trap '' TERM HUP; exec {} stdio deaf", command.program);
        (command.program, command.arguments) = ("sh".to_owned(), vec!["-c".to_owned(), words]);
    }
    let bed = Bed::new(vec![deaf, stdio("forks", "forks")]).await;
    let child: u32 = bed.text("forks__poke", json!({})).await.parse().unwrap();
    assert!(lives(child));
    bed.text("deaf__echo", json!({})).await;
    let begun = std::time::Instant::now();
    bed.gateway.stop().await;
    bed.until("gone", |_| !lives(child)).await;
    assert!(begun.elapsed() < SOON);
    let mine = std::process::id().to_string();
    let left =
        std::process::Command::new("pgrep").args(["-P", &mine, "-f", "hostile stdio deaf"]).output().unwrap();
    assert!(left.stdout.is_empty(), "{left:?}");
}

/// R5.2, R5.6: a server that asks without end is stopped; a client that cannot be asked is not kept waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_asks_for_ever_gets_no_further_than_its_limit() {
    let bed = Bed::new(vec![stdio("bad", "asks-forever")]).await;
    let (text, took) = bed.refusal("bad__poke").await;
    assert!(text.contains("asks without end") || text.contains("did not answer"), "{text}");
    assert!(took < DEADLINE + GRACE, "{took:?}");
    bed.gateway.stop().await;
}
