//! Backoff, deadlines and waits of a supervised server, on a paused clock.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::fake;
use crate::limits::UPSTREAM_CALL_MS_MAX;

/// Observer that records when each attempt to start began.
struct Diary {
    begun: Instant,
    starts_ms: Mutex<Vec<u64>>,
}

impl Diary {
    fn new() -> Arc<Self> {
        Arc::new(Self { begun: Instant::now(), starts_ms: Mutex::default() })
    }

    fn starts_ms(&self) -> Vec<u64> {
        self.starts_ms.lock().unwrap().clone()
    }

    /// Returns the pauses between the attempts so far.
    fn pauses_ms(&self) -> Vec<u64> {
        self.starts_ms().windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

impl Observer for Diary {
    fn listed(&self, _upstream: &Arc<Upstream>, _catalogue: Catalogue) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn state_changed(&self, _upstream: &Arc<Upstream>, state: &State) {
        if matches!(state, State::Starting(_)) {
            let now = self.begun.elapsed().as_millis() as u64;
            let mut starts = self.starts_ms.lock().unwrap();
            // The end of a connection and the next attempt may be reported at the same time.
            if starts.last() != Some(&now) {
                starts.push(now);
            }
        }
    }
}

fn is_ready(state: &State) -> bool {
    matches!(state, State::Ready(_))
}

/// A URL at which nobody listens.
async fn nowhere() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/mcp", listener.local_addr().unwrap())
}

/// R5.6: the backoff doubles from `UPSTREAM_RETRY_MS_MIN` and stays at `UPSTREAM_RETRY_MS_MAX`.
#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_be_reached_is_tried_again_with_growing_pauses() {
    let diary = Diary::new();
    let upstream = Upstream::start(Spec::url("down", &nowhere().await), diary.clone());
    tokio::time::sleep(Duration::from_millis(6 * UPSTREAM_RETRY_MS_MAX)).await;
    let mut expected = UPSTREAM_RETRY_MS_MIN;
    let pauses = diary.pauses_ms();
    assert!(pauses.len() >= 10, "{pauses:?}");
    for pause in &pauses {
        // A timer fires up to a millisecond late.
        assert!((expected..=expected + 2).contains(pause), "{expected} in {pauses:?}");
        expected = (expected * 2).min(UPSTREAM_RETRY_MS_MAX);
    }
    assert!(pauses.last().is_some_and(|last| *last >= UPSTREAM_RETRY_MS_MAX));
    upstream.stop().await;
}

/// R5.6: a server that ran for `UPSTREAM_STEADY_MS_MIN` is restarted at once; one that did not, after the next longer
/// pause.
#[tokio::test(start_paused = true)]
async fn pauses_start_small_again_after_a_server_was_steady() {
    let is_up = Arc::new(AtomicBool::new(false));
    let url = fake::serve({
        let is_up = is_up.clone();
        move |asked| Some(if is_up.load(Ordering::Relaxed) { asked.usual() } else { "no HTTP".to_owned() })
    })
    .await;
    for (held_ms, is_steady) in [(UPSTREAM_STEADY_MS_MIN / 2, false), (UPSTREAM_STEADY_MS_MIN, true)] {
        is_up.store(false, Ordering::Relaxed);
        let diary = Diary::new();
        let upstream = Upstream::start(Spec::url("flaky", &url), diary.clone());
        tokio::time::sleep(Duration::from_millis(5 * UPSTREAM_RETRY_MS_MIN)).await;
        is_up.store(true, Ordering::Relaxed);
        let mut states = upstream.watch();
        states.wait_for(is_ready).await.unwrap();
        tokio::time::sleep(Duration::from_millis(held_ms)).await;
        let ended = Instant::now();
        let connection = upstream.connection(None).await.unwrap();
        upstream.renew(&connection, Cause::Closed);
        states.wait_for(|state| !is_ready(state)).await.unwrap();
        states.wait_for(is_ready).await.unwrap();
        let paused = ended.elapsed();
        assert_eq!(paused < Duration::from_millis(UPSTREAM_RETRY_MS_MIN), is_steady, "{paused:?}");
        upstream.stop().await;
    }
}

/// R5.6: a call waits a limited time for a server that is starting.
#[tokio::test(start_paused = true)]
async fn a_call_waits_upstream_ready_ms_max_for_a_server_that_is_starting() {
    let url = fake::serve(|_| None).await;
    let upstream = Upstream::start(Spec::url("slow", &url), Diary::new());
    let begun = Instant::now();
    let error = upstream.connection(None).await.unwrap_err();
    assert_eq!(begun.elapsed(), Duration::from_millis(UPSTREAM_READY_MS_MAX));
    assert_eq!(
        (error.to_string().as_str(), error.sent),
        ("the server is not available: it is still starting", false)
    );
    upstream.stop().await;
}

/// R5.6: default timeout of a call.
#[tokio::test(start_paused = true)]
async fn a_call_has_upstream_call_ms_max_by_default() {
    let upstream = Upstream::start(Spec::url("any", &nowhere().await), Diary::new());
    let begun = Instant::now();
    assert_eq!(upstream.alarm().within(std::pin::pin!(std::future::pending::<()>())).await, None);
    assert_eq!(begun.elapsed(), Duration::from_millis(UPSTREAM_CALL_MS_MAX));
    upstream.stop().await;
}
