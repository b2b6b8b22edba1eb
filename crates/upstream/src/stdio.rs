//! A server on stdin and stdout of a child process: one message per line, many calls at once.
//!
//! Guarantees: a line that is not a message, or is over the limit, does not end the connection but counts as garbage.
//! When the child exits, every call in flight fails. When the link is dropped, the child and its process group are
//! killed.

mod writer;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::sync::{oneshot, watch};
use toolcrib_contract::json::Document;

use crate::brake::Brake;
use crate::error::{Cause, UpstreamError};
use crate::limits::{UPSTREAM_GARBAGE_LINES_MAX, UPSTREAM_MESSAGE_BYTES_MAX};
use crate::link::{Delivery, Link, Seat};
use crate::message::Message;
use crate::process::Child;
use crate::request::Asker;
use crate::spec::Command;
pub(crate) use crate::stdio::writer::LineNumber;
use crate::stdio::writer::Writer;

/// A connection to a child process over stdio.
pub(crate) struct StdioLink {
    pub(crate) link: Arc<Link>,
    writer: Arc<Writer>,
    /// Stops the child when it is sent or dropped.
    stop: Mutex<Option<oneshot::Sender<()>>>,
    gone: watch::Receiver<bool>,
}

impl StdioLink {
    pub(crate) fn start(name: &str, command: &Command) -> Result<Self, Cause> {
        let (child, stdin, stdout) = Child::start(name, command)?;
        let link = Arc::new(Link::default());
        let writer = Writer::new(stdin);
        let (stop, stopped) = oneshot::channel();
        let input = BufReader::with_capacity(64 * 1024, stdout);
        let answers = writer.clone();
        let send = move |line| {
            let _ = answers.try_send(line);
        };
        let reading = tokio::spawn(read(name.into(), input, link.clone(), send));
        let (going, gone) = watch::channel(false);
        let supervised = supervise(child, link.clone(), stopped, reading, writer.clone());
        tokio::spawn(async move {
            supervised.await;
            let _ = going.send(true);
        });
        Ok(Self { link, writer, stop: Mutex::new(Some(stop)), gone })
    }

    /// Stops the child, also with calls in flight; returns when it and its process group are gone.
    pub(crate) async fn shut(&self) {
        drop(self.stop.lock().unwrap_or_else(PoisonError::into_inner).take());
        let _ = self.gone.clone().wait_for(|gone| *gone).await;
    }

    /// Queues a whole message.
    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<LineNumber, UpstreamError> {
        let line = single_line(message)?;
        self.writer.send(line).await.map_err(|writer::Closed| self.gone())
    }

    /// Returns `true` if the server may have seen something of a message.
    pub(crate) fn has_begun(&self, line: LineNumber) -> bool {
        self.writer.has_begun(line)
    }

    pub(crate) fn try_send(&self, message: Vec<u8>) {
        if let Ok(line) = single_line(message) {
            // A server that does not read its stdin gains nothing from a notification.
            let _ = self.writer.try_send(line);
        }
    }

    pub(crate) fn sit(&self, id: u64, asker: Option<Asker>) -> Result<Seat, UpstreamError> {
        self.link.sit(id, asker)
    }

    fn gone(&self) -> UpstreamError {
        UpstreamError::unsent(self.link.why_closed().unwrap_or(Cause::Closed))
    }
}

/// Removes line breaks, which JSON allows between tokens and a line does not.
fn single_line(mut message: Vec<u8>) -> Result<Vec<u8>, UpstreamError> {
    if message.contains(&b'\n') || message.contains(&b'\r') {
        let limits = toolcrib_contract::json::Limits::file();
        let document = Document::parse(&message, &limits)
            .map_err(|_| UpstreamError::unsent(Cause::Garbage("the request is no valid JSON")))?;
        message = document.root().to_compact().into_bytes();
    }
    message.push(b'\n');
    Ok(message)
}

async fn supervise(
    mut child: Child,
    link: Arc<Link>,
    stopped: oneshot::Receiver<()>,
    mut reading: tokio::task::JoinHandle<Cause>,
    writer: Arc<Writer>,
) {
    let writing = tokio::spawn({
        let writer = writer.clone();
        async move { writer.drain().await }
    });
    let ended = tokio::select! {
        // The remaining output of a process is read before its end is reported.
        cause = &mut reading => {
            let code = tokio::time::timeout(std::time::Duration::from_millis(100), child.ended()).await;
            match (cause, code) {
                (Ok(Cause::Closed), Ok(code)) => Cause::Exited { code },
                (Ok(cause), _) => cause,
                (Err(_), _) => Cause::Closed,
            }
        }
        _ = stopped => Cause::Closed,
    };
    link.close(ended);
    // Its stdin is closed when the last reference is dropped.
    writer.close();
    writing.abort();
    let _ = writing.await;
    child.stop().await;
    reading.abort();
}

/// Reads a server's lines until it closes its stdout or violates the protocol; returns the reason. `send` gets the
/// replies to the server's own requests.
pub(crate) async fn read(
    name: Arc<str>,
    mut input: impl AsyncBufRead + Unpin,
    link: Arc<Link>,
    send: impl Fn(Vec<u8>),
) -> Cause {
    let garbage = AtomicU64::new(0);
    let mut brake = Brake::default();
    loop {
        let line = match read_line(&mut input).await {
            Ok(Some(line)) => line,
            Ok(None) => return Cause::Closed,
            Err(cause) => return cause,
        };
        let bytes = line.len();
        if line.iter().all(u8::is_ascii_whitespace) {
            brake.hold(bytes).await;
            continue;
        }
        match Message::receive_bytes(line).await {
            Ok(message) => {
                let delivery = link.deliver(message);
                brake.after(&delivery, bytes).await;
                if let Delivery::Answer(answer) = delivery
                    && let Ok(answer) = single_line(answer)
                {
                    send(answer);
                }
            }
            Err(cause) => {
                brake.hold(bytes).await;
                // A banner is logged for debugging only; a lost message is a warning.
                match cause {
                    Cause::Garbage(_) => {
                        tracing::debug!(target: "toolcrib", upstream = &*name, "a line on stdout: {cause}");
                    }
                    _ => tracing::warn!(target: "toolcrib", upstream = &*name, "a line on stdout: {cause}"),
                }
                // Some servers print a banner; none prints without end.
                if garbage.fetch_add(1, Ordering::Relaxed) >= UPSTREAM_GARBAGE_LINES_MAX {
                    return Cause::Garbage("its stdout is no MCP");
                }
            }
        }
    }
}

/// Returns the next line without its end; `None` at the end of the stream.
async fn read_line(input: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Vec<u8>>, Cause> {
    let mut line = Vec::new();
    let mut limited = input.take(UPSTREAM_MESSAGE_BYTES_MAX as u64 + 1);
    limited.read_until(b'\n', &mut line).await.map_err(|_| Cause::Closed)?;
    match line.last() {
        Some(b'\n') => {
            line.pop();
            Ok(Some(line))
        }
        _ if line.len() > UPSTREAM_MESSAGE_BYTES_MAX => Err(crate::message::too_large()),
        // Half a line is not a message: the server closed stdout in the middle of it.
        _ => Ok(None),
    }
}
