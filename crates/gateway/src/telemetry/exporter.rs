//! Gathers spans and sends them, off the path of any call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use toolcrib_engine::trace::{Span, SpanSink};

use super::otlp;
use super::settings::Settings;
use crate::limits::{SPANS_BATCH_MAX, SPANS_WAITING_MAX};

/// How long the last spans are given when the process ends.
const FLUSH: Duration = Duration::from_secs(2);

enum Item {
    Span(Box<Span>),
    /// Send what there is, and say so.
    Flush(oneshot::Sender<()>),
}

#[derive(Debug)]
pub struct Exporter {
    waiting: mpsc::Sender<Item>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    exported: AtomicU64,
    dropped: AtomicU64,
}

impl Exporter {
    /// Starts the task that sends.
    #[must_use]
    pub fn start(settings: Settings) -> Arc<Self> {
        let (waiting, spans) = mpsc::channel(SPANS_WAITING_MAX);
        let counts: Arc<Counts> = Arc::default();
        tokio::spawn(run(settings, spans, counts.clone()));
        Arc::new(Self { waiting, counts })
    }

    /// Sends what is waiting, for as long as the process may take to end.
    pub async fn flush(&self) {
        let (done, told) = oneshot::channel();
        let flushed = async {
            if self.waiting.send(Item::Flush(done)).await.is_ok() {
                let _ = told.await;
            }
        };
        let _ = tokio::time::timeout(FLUSH, flushed).await;
    }

    /// Appends how many spans were sent and lost, in the text format of Prometheus.
    pub fn render(&self, out: &mut String) {
        out.push_str("# HELP toolcrib_spans_total Spans, by what became of them.\n# TYPE toolcrib_spans_total counter\n");
        for (word, count) in [("exported", &self.counts.exported), ("dropped", &self.counts.dropped)] {
            out.push_str(&format!(
                "toolcrib_spans_total{{outcome=\"{word}\"}} {}\n",
                count.load(Ordering::Relaxed)
            ));
        }
    }
}

impl SpanSink for Exporter {
    fn ended(&self, span: Span) {
        if self.waiting.try_send(Item::Span(Box::new(span))).is_err() {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn run(settings: Settings, mut spans: mpsc::Receiver<Item>, counts: Arc<Counts>) {
    let mut batch: Vec<Span> = Vec::new();
    let mut is_well = true;
    while let Some(flushed) = gather(&mut spans, &mut batch, settings.delay).await {
        if !batch.is_empty() {
            is_well = send(&settings, &batch, &counts, is_well).await;
            batch.clear();
        }
        if let Some(done) = flushed {
            let _ = done.send(());
        }
    }
}

/// Waits for a span and gathers those that follow, for so long, or until the batch is full or somebody wants it now, who
/// is given back. Nothing when nobody will send any more.
async fn gather(
    spans: &mut mpsc::Receiver<Item>,
    batch: &mut Vec<Span>,
    delay: Duration,
) -> Option<Option<oneshot::Sender<()>>> {
    let mut flushed = take(spans.recv().await?, batch);
    let end = tokio::time::Instant::now() + delay;
    while flushed.is_none() && batch.len() < SPANS_BATCH_MAX {
        match tokio::time::timeout_at(end, spans.recv()).await {
            Ok(Some(item)) => flushed = take(item, batch),
            Ok(None) | Err(_) => break,
        }
    }
    Some(flushed)
}

fn take(item: Item, batch: &mut Vec<Span>) -> Option<oneshot::Sender<()>> {
    match item {
        Item::Span(span) => {
            batch.push(*span);
            None
        }
        Item::Flush(done) => Some(done),
    }
}

/// Sends one batch; true if it arrived. A failure is logged when it begins and when it ends, not every time.
async fn send(settings: &Settings, batch: &[Span], counts: &Counts, was_well: bool) -> bool {
    let body = otlp::request(&settings.service, batch).to_string();
    match toolcrib_upstream::post_json(&settings.url, &settings.headers, &body).await {
        Ok(()) => {
            counts.exported.fetch_add(batch.len() as u64, Ordering::Relaxed);
            if !was_well {
                tracing::info!(target: "toolcrib", "spans arrive at {} again", settings.url);
            }
            true
        }
        Err(error) => {
            counts.dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
            if was_well {
                tracing::warn!(target: "toolcrib", "spans are lost: {}: {error}", settings.url);
            }
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_engine::trace::{Kind, SpanId, TraceId};

    use super::*;

    fn span() -> Span {
        Span {
            trace: TraceId::from([1; 16]),
            id: SpanId::from([2; 8]),
            parent: None,
            state: None,
            name: "tools/call".to_owned(),
            kind: Kind::Server,
            start_ns: 1,
            end_ns: 2,
            attributes: Vec::new(),
            error: None,
        }
    }

    /// R5.10: what does not fit is dropped and counted, and a batch is no longer than its limit.
    #[tokio::test(start_paused = true)]
    async fn no_more_than_spans_waiting_max_spans_wait_and_spans_batch_max_go_at_once() {
        let settings = Settings {
            url: "http://127.0.0.1:1/v1/traces".to_owned(),
            headers: std::collections::BTreeMap::new(),
            service: "test".to_owned(),
            delay: Duration::from_secs(5),
        };
        let exporter = Exporter::start(settings);
        // The task that sends has not run yet: nothing leaves the queue meanwhile.
        for _ in 0..SPANS_WAITING_MAX + 3 {
            exporter.ended(span());
        }
        assert_eq!(exporter.counts.dropped.load(Ordering::Relaxed), 3);
        assert_eq!(exporter.waiting.capacity(), 0);
        let (mut batch, spans) = (Vec::new(), SPANS_BATCH_MAX + 1);
        let (waiting, mut queue) = mpsc::channel(spans);
        for _ in 0..spans {
            waiting.try_send(Item::Span(Box::new(span()))).unwrap_or_else(|_| panic!("there is room"));
        }
        drop(waiting);
        assert!(gather(&mut queue, &mut batch, Duration::from_secs(5)).await.is_some());
        assert_eq!(batch.len(), SPANS_BATCH_MAX);
        batch.clear();
        assert!(gather(&mut queue, &mut batch, Duration::from_secs(5)).await.is_some());
        assert_eq!(batch.len(), 1);
        assert!(gather(&mut queue, &mut batch, Duration::from_secs(5)).await.is_none());
    }
}
