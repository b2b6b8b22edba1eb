//! MCP over stdin and stdout, both eras: one message per line, nothing else on stdout.
//!
//! Guarantees: `initialize` selects legacy for the process; a request with a modern `_meta` is still served as modern.
//! Requests run concurrently. A line that is too long or is not a message is answered with an error and does not end
//! the process. When stdin ends, requests in flight finish.

mod streams;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use toolcrib_contract::json::{Document, Limits, OwnedDocument, ReadError};
use toolcrib_engine::stage::caller;
use toolcrib_engine::{Engine, Exchange, Outbox, Outgoing, Payload, Principal, Reply, Session};
use toolcrib_protocol::{Branch, Code, Frame, Meta, Request, Revision, RpcError, Told, write};

use crate::batch::BatchAnswer;
use crate::limits::{LINE_BYTES_MAX, SHUTDOWN_MS_MAX, STDIO_IN_FLIGHT_MAX};

/// Bytes per read: a client may send many requests at once.
const READ_BYTES: usize = 64 * 1024;

/// Serves the process's own stdin and stdout until stdin ends.
pub async fn serve(engine: Arc<Engine>) -> io::Result<()> {
    let (input, output) = (streams::input(), streams::output());
    serve_on(engine, tokio::io::BufReader::with_capacity(READ_BYTES, input.stream), output.stream).await
}

/// Serves any pair of streams.
pub async fn serve_on(
    engine: Arc<Engine>,
    mut input: impl AsyncBufRead + Unpin + Send,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> io::Result<()> {
    let outbox = Arc::new(Outbox::default());
    let writer = tokio::spawn({
        let outbox = outbox.clone();
        async move {
            let written = write_all(&outbox, output).await;
            // Nobody reads any more: wakes the tasks that wait for room.
            outbox.close();
            written
        }
    });
    let connection = Arc::new(Connection {
        engine: engine.clone(),
        outbox: outbox.clone(),
        session: Mutex::default(),
        in_flight: Mutex::default(),
    });
    let room = Arc::new(Semaphore::new(STDIO_IN_FLIGHT_MAX));
    let mut tasks = JoinSet::new();
    loop {
        // Back-pressure: input is not read while the client does not read its answers.
        outbox.room().await;
        if writer.is_finished() {
            break;
        }
        let Some(line) = next_line(&mut input).await? else { break };
        let line = match line {
            Line::Text(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => continue,
            Line::Text(bytes) => bytes,
            Line::TooLong => {
                let message = format!("a line is over {LINE_BYTES_MAX} bytes");
                connection.say(&Reply::error(400, None, &RpcError::new(Code::InvalidRequest, message)));
                continue;
            }
        };
        while tasks.try_join_next().is_some() {}
        // Messages that only change state are handled in order; requests run concurrently.
        if let Some(request) = connection.clone().take(line) {
            match room.clone().try_acquire_owned() {
                Ok(permit) => {
                    tasks.spawn(async move {
                        request.task.await;
                        drop(permit);
                    });
                }
                // Waiting here would block the answers to the server's own questions.
                Err(_) => connection.refuse_busy(request.id.as_deref()),
            }
        }
    }
    engine.shut_down();
    if let Some(session) = connection.session() {
        session.hang_up();
    }
    let drained = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(Duration::from_millis(SHUTDOWN_MS_MAX), drained).await.is_err() {
        tasks.abort_all();
    }
    engine.flush().await;
    outbox.close();
    writer.await.map_err(io::Error::other)?
}

async fn write_all(outbox: &Outbox, mut output: impl AsyncWrite + Unpin) -> io::Result<()> {
    const GATHERED_BYTES_MAX: usize = 64 * 1024;
    let mut gathered = Vec::new();
    while let Some(outgoing) = outbox.next().await {
        gathered.clear();
        let mut next = Some(outgoing);
        while let Some(outgoing) = next {
            if let Outgoing::Message(message) = outgoing {
                gathered.extend_from_slice(&message);
                gathered.push(b'\n');
            }
            next = if gathered.len() < GATHERED_BYTES_MAX { outbox.try_next() } else { None };
        }
        output.write_all(&gathered).await?;
        output.flush().await?;
        gathered.shrink_to(GATHERED_BYTES_MAX);
    }
    Ok(())
}

enum Line {
    Text(Vec<u8>),
    TooLong,
}

/// Returns the next line; keeps no more of it than the limit.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return Ok(match (too_long, line.is_empty()) {
                (true, _) => Some(Line::TooLong),
                (false, true) => None,
                (false, false) => Some(Line::Text(line)),
            });
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(available.len());
        too_long |= line.len() + taken > LINE_BYTES_MAX;
        if !too_long {
            line.extend_from_slice(available.get(..taken).unwrap_or_default());
        }
        input.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(Some(if too_long { Line::TooLong } else { Line::Text(line) }));
        }
    }
}

/// Parses a line into a document that the answering task owns.
fn read(line: Vec<u8>) -> Result<OwnedDocument, ReadError> {
    let limits = Limits::message().with_bytes_max(LINE_BYTES_MAX);
    OwnedDocument::parse_bytes(line, &limits)
}

struct Connection {
    engine: Arc<Engine>,
    outbox: Arc<Outbox>,
    session: Mutex<Option<Arc<Session>>>,
    in_flight: Mutex<HashMap<Box<str>, Arc<Exchange>>>,
}

/// Work to run, and the id of the request that it answers.
struct Work {
    id: Option<Box<str>>,
    task: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Connection {
    /// Handles one line; returns the work that has to run.
    fn take(self: Arc<Self>, line: Vec<u8>) -> Option<Work> {
        let document = match read(line) {
            Ok(document) => document,
            Err(error) => {
                let error = RpcError::new(Code::ParseError, format!("Parse error: {error}"));
                self.say(&Reply::error(400, None, &error));
                return None;
            }
        };
        let root = document.root();
        if root.is_array() {
            let accepts = self.session().is_none_or(|session| session.revision().accepts_batches());
            if !accepts || root.is_empty() || root.len() > crate::limits::BATCH_MESSAGES_MAX {
                let message = "Invalid request: batches do not exist in this protocol version, or this one has a wrong size";
                self.say(&Reply::error(400, None, &RpcError::new(Code::InvalidRequest, message)));
                return None;
            }
            let session = self.session_or_ephemeral();
            let task = Box::pin(async move { self.run_batch(&document, &session).await });
            return Some(Work { id: None, task });
        }
        let frame = match Frame::read(root) {
            Ok(frame) => frame,
            Err(malformed) => {
                self.say(&Reply::error(400, malformed.id.as_deref(), &malformed.error));
                return None;
            }
        };
        match frame {
            Frame::Notification(notification) => {
                if notification.method == "notifications/cancelled"
                    && let Some(id) = notification.params.get("requestId")
                    && let Some(exchange) = lock(&self.in_flight).get(id.raw())
                {
                    exchange.cancel();
                }
                None
            }
            Frame::Response(response) => {
                if let Some(session) = self.session() {
                    self.engine.response(&session, &response);
                }
                None
            }
            Frame::Request(request) => {
                let is_initialize = request.method == "initialize";
                let names_version = Meta::names_version(&request.params);
                let told = || Told { version: None, has_session: true };
                let branch = Branch::decide(names_version, is_initialize, told);
                if branch == Branch::Initialize {
                    self.initialize(&request);
                    return None;
                }
                let exchange = Exchange::new(self.outbox.clone(), true);
                let id: Box<str> = request.id.into();
                lock(&self.in_flight).insert(id.clone(), exchange.clone());
                let modern = branch == Branch::Modern;
                let task = Box::pin(async move { self.run(&document, modern, exchange).await });
                Some(Work { id: Some(id), task })
            }
        }
    }

    /// Answers one request.
    async fn run(&self, document: &OwnedDocument, modern: bool, exchange: Arc<Exchange>) {
        let Ok(Frame::Request(request)) = Frame::read(document.root()) else { return };
        let reply = if modern {
            match caller::modern(Principal::Local, None, &request, exchange) {
                Ok(caller) => self.engine.request(&caller, &request).await,
                Err(refusal) => self.engine.rescue(Revision::FIRST_MODERN, &request, refusal),
            }
        } else {
            let caller = caller::legacy(&self.session_or_ephemeral(), exchange);
            self.engine.request(&caller, &request).await
        };
        lock(&self.in_flight).remove(request.id);
        self.say(&reply);
    }

    async fn run_batch(&self, document: &OwnedDocument, session: &Arc<Session>) {
        let mut answers = BatchAnswer::default();
        for node in document.root().elements() {
            let reply = match Frame::read(node) {
                Ok(Frame::Request(request)) => match answers.refusal(Some(request.id)) {
                    Some(refusal) => refusal,
                    None => {
                        let exchange = Exchange::new(self.outbox.clone(), true);
                        self.engine.request(&caller::legacy(session, exchange), &request).await
                    }
                },
                Ok(Frame::Notification(notification)) => {
                    self.engine.notification(Some(session), &notification);
                    Reply::accepted()
                }
                Ok(Frame::Response(response)) => {
                    self.engine.response(session, &response);
                    Reply::accepted()
                }
                Err(malformed) => Reply::error(400, malformed.id.as_deref(), &malformed.error),
            };
            answers.add(reply.payload);
        }
        self.say(&Reply { status: 200, payload: answers.finish() });
    }

    fn initialize(self: &Arc<Self>, request: &Request<'_>) {
        if self.session().is_some() {
            let error = RpcError::new(Code::InvalidRequest, "this process is initialized already");
            self.say(&Reply::error(200, Some(request.id), &error));
            return;
        }
        match self.engine.initialize(Principal::Local, None, Arc::default(), request) {
            Err(reply) => self.say(&reply),
            Ok((session, reply)) => {
                *lock(&self.session) = Some(session.clone());
                self.say(&reply);
                let (engine, exchange) = (self.engine.clone(), Exchange::new(self.outbox.clone(), true));
                tokio::spawn(async move { engine.tell_news(&session, &exchange).await });
            }
        }
    }

    fn refuse_busy(&self, id: Option<&str>) {
        if let Some(id) = id {
            lock(&self.in_flight).remove(id);
        }
        let message = format!("more than {STDIO_IN_FLIGHT_MAX} requests are in flight");
        self.say(&Reply::error(400, id, &RpcError::new(Code::InvalidRequest, message)));
    }

    fn session(&self) -> Option<Arc<Session>> {
        lock(&self.session).clone()
    }

    fn session_or_ephemeral(&self) -> Arc<Session> {
        self.session().unwrap_or_else(|| Session::ephemeral(Principal::Local, Revision::ASSUMED))
    }

    /// Queues an answer.
    fn say(&self, reply: &Reply) {
        if reply.payload == Payload::Nothing {
            return;
        }
        let message = single_line(reply.payload.clone().into_bytes());
        if self.outbox.push_answer(Outgoing::Message(message)).is_err() {
            tracing::debug!(target: "toolcrib", "an answer came after the end");
        }
    }
}

/// Removes line breaks, which JSON allows between tokens (in an id or a forwarded result, for example) and a line does
/// not.
fn single_line(message: Bytes) -> Bytes {
    if !message.contains(&b'\n') && !message.contains(&b'\r') {
        return message;
    }
    match Document::parse(&message, &Limits::message().with_bytes_max(usize::MAX)) {
        Ok(document) => document.root().to_compact().into(),
        Err(_) => {
            write::error(None, &RpcError::new(Code::InternalError, "an answer could not be written")).into()
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
