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
    loop {
        let Some(first) = spans.recv().await else { return };
        let mut flushed = take(first, &mut batch);
        let end = tokio::time::Instant::now() + settings.delay;
        while flushed.is_none() && batch.len() < SPANS_BATCH_MAX {
            match tokio::time::timeout_at(end, spans.recv()).await {
                Ok(Some(item)) => flushed = take(item, &mut batch),
                Ok(None) | Err(_) => break,
            }
        }
        if !batch.is_empty() {
            is_well = send(&settings, &batch, &counts, is_well).await;
            batch.clear();
        }
        if let Some(done) = flushed {
            let _ = done.send(());
        }
    }
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
