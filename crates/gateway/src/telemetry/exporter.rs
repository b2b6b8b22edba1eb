//! Queues spans and sends them in batches, outside the path of any call.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use flate2::write::GzEncoder;
use tokio::sync::{mpsc, oneshot};
use toolcrib_engine::trace::{Span, SpanSink};
use toolcrib_upstream::{Cause, Outbox, UpstreamError};

use super::settings::{Compression, Encoding, Settings};
use super::{json, protobuf};
use crate::limits::{SPANS_BATCH_MAX, SPANS_PAUSE_MS_MAX, SPANS_TRIES_MAX, SPANS_WAITING_MAX};

/// Pause before the first retry of a batch, in milliseconds; doubled for each further retry.
const FIRST_PAUSE_MS: u64 = 500;

/// Timeout of the last flush when the process ends.
const FLUSH: Duration = Duration::from_secs(2);

enum Item {
    Span(Box<Span>),
    /// Sends the current batch; the sender is used when that is done.
    Flush(oneshot::Sender<()>),
}

/// Sink of ended spans: queues them for the export task.
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
    /// Starts the export task; refuses an unusable endpoint.
    pub fn start(settings: Settings) -> Result<Arc<Self>, UpstreamError> {
        let outbox = Outbox::new(&settings.endpoint, settings.timeout)?;
        let (waiting, spans) = mpsc::channel(SPANS_WAITING_MAX);
        let counts: Arc<Counts> = Arc::default();
        tokio::spawn(run(settings, outbox, spans, counts.clone()));
        Ok(Arc::new(Self { waiting, counts }))
    }

    /// Sends the queued spans; waits a limited time, because the process is about to end.
    pub async fn flush(&self) {
        let (done, told) = oneshot::channel();
        let flushed = async {
            if self.waiting.send(Item::Flush(done)).await.is_ok() {
                let _ = told.await;
            }
        };
        let _ = tokio::time::timeout(FLUSH, flushed).await;
    }

    /// Appends the numbers of exported and dropped spans, in the text format of Prometheus.
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

async fn run(settings: Settings, outbox: Outbox, mut spans: mpsc::Receiver<Item>, counts: Arc<Counts>) {
    let mut batch: Vec<Span> = Vec::new();
    let mut is_well = true;
    while let Some(flushed) = gather(&mut spans, &mut batch, settings.delay).await {
        if !batch.is_empty() {
            is_well = deliver(&settings, &outbox, &batch, &counts, is_well).await;
            batch.clear();
        }
        if let Some(done) = flushed {
            let _ = done.send(());
        }
    }
}

/// Waits for a span and collects further ones until `delay` has passed, the batch is full, or a flush is requested;
/// the sender of the flush is returned. Returns `None` when the queue is closed.
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

/// Sends one batch; returns `true` if it arrived. Logs when failures begin and when they end, not every failure.
async fn deliver(
    settings: &Settings,
    outbox: &Outbox,
    batch: &[Span],
    counts: &Counts,
    was_well: bool,
) -> bool {
    let url = &settings.endpoint.url;
    match send(settings, outbox, batch).await {
        Ok(()) => {
            counts.exported.fetch_add(batch.len() as u64, Ordering::Relaxed);
            if !was_well {
                tracing::info!(target: "toolcrib", "spans arrive at {url} again");
            }
            true
        }
        Err(reason) => {
            counts.dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
            if was_well {
                tracing::warn!(target: "toolcrib", "spans are lost: {url}: {reason}");
            }
            false
        }
    }
}

/// Sends one batch; retries if the collector cannot be reached or answers 429, 502, 503 or 504.
async fn send(settings: &Settings, outbox: &Outbox, batch: &[Span]) -> Result<(), String> {
    let (body, fields) = written(settings, batch).map_err(|error| error.to_string())?;
    let mut pause_ms = FIRST_PAUSE_MS + jitter(batch);
    let mut tries = 1;
    loop {
        let (reason, asked) = match outbox.post(&fields, &body).await {
            Ok(receipt) => match receipt.status {
                200..=299 => return Ok(()),
                429 | 502..=504 => (format!("HTTP {}", receipt.status), receipt.retry_after),
                status => return Err(format!("HTTP {status}")),
            },
            Err(error) => (reason(&error), None),
        };
        if tries == SPANS_TRIES_MAX {
            return Err(format!("{reason}, {SPANS_TRIES_MAX} times"));
        }
        let pause = asked.unwrap_or(Duration::from_millis(pause_ms));
        tokio::time::sleep(pause.min(Duration::from_millis(SPANS_PAUSE_MS_MAX))).await;
        pause_ms *= 2;
        tries += 1;
    }
}

/// Text for a request that failed. It names the variables of OpenTelemetry where a server's error names keys of the
/// configuration file.
fn reason(error: &UpstreamError) -> String {
    let (address, help) = match &*error.cause {
        Cause::UnknownAuthority { address } => (
            address,
            "its certificate is signed by an authority that is not trusted here; OTEL_EXPORTER_OTLP_CERTIFICATE names one \
             that is",
        ),
        Cause::ClientCertificate { address } => (
            address,
            "it wants another client certificate than it was shown; OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and \
             OTEL_EXPORTER_OTLP_CLIENT_KEY name one",
        ),
        cause => return cause.to_string(),
    };
    format!("no secure connection to {address}: {help}")
}

/// Jitter in milliseconds that keeps many processes from retrying at once; taken from the random span id.
fn jitter(batch: &[Span]) -> u64 {
    batch.first().map_or(0, |span| u64::from(span.id.as_bytes()[7]))
}

/// Returns the body of the request and the header fields that describe it.
fn written(settings: &Settings, batch: &[Span]) -> std::io::Result<(Vec<u8>, String)> {
    let (body, media) = match settings.encoding {
        Encoding::Protobuf => (protobuf::request(&settings.resource, batch), "application/x-protobuf"),
        Encoding::Json => (json::request(&settings.resource, batch).to_string().into(), "application/json"),
    };
    let fields = format!("Content-Type: {media}\r\n");
    match settings.compression {
        Compression::None => Ok((body, fields)),
        Compression::Gzip => {
            let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(&body)?;
            Ok((packed.finish()?, fields + "Content-Encoding: gzip\r\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tokio::io::AsyncWriteExt as _;
    use toolcrib_engine::trace::{Kind, SpanId, TraceId};
    use toolcrib_upstream::spec::Endpoint;

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

    fn settings(url: &str) -> Settings {
        Settings {
            endpoint: Endpoint { url: url.to_owned(), ..Endpoint::default() },
            encoding: Encoding::Json,
            compression: Compression::None,
            resource: BTreeMap::new(),
            delay: Duration::from_secs(5),
            timeout: Duration::from_secs(1),
        }
    }

    /// R5.10: a batch is sent at most `SPANS_TRIES_MAX` times, with pauses of at most `SPANS_PAUSE_MS_MAX`, if the
    /// status allows a retry; once if it does not.
    #[tokio::test(start_paused = true)]
    async fn a_batch_is_sent_again_a_few_times() {
        for (status, times) in [("503 Busy", SPANS_TRIES_MAX), ("400 Bad", 1)] {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let settings = settings(&format!("http://{}/v1/traces", listener.local_addr().unwrap()));
            let asked = Arc::new(AtomicU64::new(0));
            let count = asked.clone();
            tokio::spawn(async move {
                loop {
                    let (mut client, _) = listener.accept().await.unwrap();
                    count.fetch_add(1, Ordering::Relaxed);
                    let answer = format!(
                        "HTTP/1.1 {status}\r\nRetry-After: 9999\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                    );
                    let _ = client.write_all(answer.as_bytes()).await;
                }
            });
            let outbox = Outbox::new(&settings.endpoint, Duration::from_secs(3_600)).unwrap();
            let begun = tokio::time::Instant::now();
            assert!(send(&settings, &outbox, &[span()]).await.is_err());
            assert_eq!(asked.load(Ordering::Relaxed), u64::from(times));
            assert_eq!(begun.elapsed().as_millis() as u64, SPANS_PAUSE_MS_MAX * u64::from(times - 1));
        }
    }

    /// R5.10: spans that do not fit are dropped and counted, and a batch is not longer than its limit.
    #[tokio::test(start_paused = true)]
    async fn no_more_than_spans_waiting_max_spans_wait_and_spans_batch_max_go_at_once() {
        let exporter = Exporter::start(settings("http://127.0.0.1:1/v1/traces")).unwrap();
        // The export task has not run yet, so nothing leaves the queue.
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
