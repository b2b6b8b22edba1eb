//! [`Connection`]: the pipe to an adopted server, which carries requests, answers, notifications and questions.
//!
//! Guarantees: an answer reaches the request it belongs to; a call whose future is dropped is cancelled on the other
//! side; when the server is gone, every waiting request fails.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use toolcrib_contract::json::{Document, Node};
use toolcrib_engine::{Context, Question};
use toolcrib_protocol::frame::Outcome;
use toolcrib_protocol::{Code, Frame, Level, Notification, RpcError, write};

use crate::AdoptError;
use crate::limits::{MESSAGE_BYTES_MAX, WAITING_MESSAGES_MAX};

/// Bytes of line buffer kept between messages: most messages fit, and a larger buffer is freed.
const LINE_KEPT_BYTES: usize = 64 * 1024;

type Waiting = (oneshot::Sender<Result<Box<str>, RpcError>>, Option<Context>);

/// Connection to an adopted server.
#[derive(Debug)]
pub(crate) struct Connection {
    out: mpsc::Sender<Vec<u8>>,
    /// Requests without an answer; `None` once the server is gone, so that no further request waits.
    waiting: Mutex<Option<HashMap<u64, Waiting>>>,
    last: AtomicU64,
}

impl Connection {
    pub(crate) fn open(pipe: DuplexStream) -> Arc<Self> {
        let (read, write) = tokio::io::split(pipe);
        let (out, outgoing) = mpsc::channel(WAITING_MESSAGES_MAX);
        let waiting = Mutex::new(Some(HashMap::new()));
        let connection = Arc::new(Self { out, waiting, last: AtomicU64::new(0) });
        let writing = tokio::spawn(write_all(outgoing, write));
        tokio::spawn(read_all(Arc::downgrade(&connection), read, writing.abort_handle()));
        connection
    }

    /// Sends a request and waits for its answer; `params` gets the request's id, which is its progress token too.
    pub(crate) async fn request(
        self: &Arc<Self>,
        method: &str,
        params: impl FnOnce(u64) -> String,
        context: Option<&Context>,
    ) -> Result<Box<str>, AdoptError> {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, receiver) = oneshot::channel();
        self.lock().as_mut().ok_or(AdoptError::Gone)?.insert(id, (sender, context.cloned()));
        let mut open = OpenRequest { connection: self.clone(), id, answered: false };
        let message = write::request(&id.to_string(), method, Some(&params(id)));
        self.out.send(message).await.map_err(|_| AdoptError::Gone)?;
        let answer = receiver.await.map_err(|_| AdoptError::Gone)?;
        open.answered = true;
        answer.map_err(AdoptError::Refused)
    }

    pub(crate) async fn notify(&self, method: &str) {
        let _ = self.out.send(write::notification(method, None)).await;
    }

    fn take(self: &Arc<Self>, line: &[u8]) {
        let Ok(document) = Document::parse(line, &crate::limits()) else { return };
        match Frame::read(document.root()) {
            Ok(Frame::Response(response)) => {
                let id = response.id.and_then(|id| id.parse::<u64>().ok());
                let Some((sender, _)) = id.and_then(|id| self.remove(id)) else { return };
                let _ = sender.send(match response.outcome {
                    Outcome::Result(result) => Ok(result.to_compact().into()),
                    Outcome::Error(error) => Err(rpc_error(error)),
                });
            }
            Ok(Frame::Notification(notification)) => self.hear(&notification),
            Ok(Frame::Request(request)) => {
                let context = self.only_call();
                let question = request.params.node().map_or_else(
                    || (request.method == "roots/list").then(Question::roots),
                    |params| Question::relay(&request.method, params),
                );
                let (id, out) = (request.id.to_owned(), self.out.clone());
                let is_ping = request.method == "ping";
                tokio::spawn(async move {
                    let answer = match (is_ping, context, question) {
                        (true, _, _) => write::result(&id, b"{}"),
                        (false, Some(context), Some(question)) => {
                            match context.ask("adopted", question).await {
                                Ok(reply) => write::result(&id, reply.as_json().as_bytes()),
                                Err(error) => write::error(Some(&id), &refusal(error.to_string())),
                            }
                        }
                        (false, None, _) => write::error(
                            Some(&id),
                            &refusal("it cannot be told which of several calls asks this".to_owned()),
                        ),
                        (false, Some(_), None) => {
                            write::error(Some(&id), &RpcError::new(Code::MethodNotFound, "not supported"))
                        }
                    };
                    let _ = out.send(answer).await;
                });
            }
            Err(_) => {}
        }
    }

    fn hear(&self, notification: &Notification<'_>) {
        let params = notification.params;
        match &*notification.method {
            "notifications/progress" => {
                let token = params.get("progressToken").and_then(Node::as_u64);
                let context = token.and_then(|token| self.context(token));
                let number = |name: &str| {
                    params.get(name).and_then(Node::as_number).map(toolcrib_contract::json::Number::as_f64)
                };
                if let (Some(context), Some(progress)) = (context, number("progress")) {
                    let message = params.get("message").and_then(Node::as_str);
                    context.progress(progress, number("total"), message.as_deref());
                }
            }
            "notifications/message" => {
                let level = params.get("level").and_then(Node::as_str).and_then(|text| Level::parse(&text));
                if let (Some(context), Some(level), Some(data)) =
                    (self.only_call(), level, params.get("data"))
                {
                    let logger = params.get("logger").and_then(Node::as_str);
                    context.log(level, logger.as_deref(), &data.to_value());
                }
            }
            _ => {}
        }
    }

    /// Returns the context of the call in flight, if there is exactly one.
    fn only_call(&self) -> Option<Context> {
        let waiting = self.lock();
        let mut contexts =
            waiting.iter().flat_map(HashMap::values).filter_map(|(_, context)| context.as_ref());
        match (contexts.next(), contexts.next()) {
            (Some(context), None) => Some(context.clone()),
            _ => None,
        }
    }

    fn remove(&self, id: u64) -> Option<Waiting> {
        self.lock().as_mut()?.remove(&id)
    }

    fn context(&self, id: u64) -> Option<Context> {
        self.lock().as_ref()?.get(&id)?.1.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn rpc_error(node: Node<'_>) -> RpcError {
    let code = node.get("code").and_then(Node::as_i64).and_then(|code| i32::try_from(code).ok());
    RpcError {
        code: code.unwrap_or(Code::InternalError.number()),
        message: node
            .get("message")
            .and_then(Node::as_str)
            .map_or_else(|| "no message".into(), |message| message.into_owned().into()),
        data: node.get("data").map(|data| data.to_compact().into()),
    }
}

fn refusal(message: String) -> RpcError {
    RpcError::new(Code::InvalidRequest, message)
}

/// Request that waits; dropping it before its answer cancels it.
struct OpenRequest {
    connection: Arc<Connection>,
    id: u64,
    answered: bool,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if !self.answered && self.connection.remove(self.id).is_some() {
            let params = format!("{{\"requestId\":{}}}", self.id);
            let message = write::notification("notifications/cancelled", Some(&params));
            // If the channel is full, the server does not read, and would not read this either.
            let _ = self.connection.out.try_send(message);
        }
    }
}

async fn write_all(mut outgoing: mpsc::Receiver<Vec<u8>>, mut pipe: WriteHalf<DuplexStream>) {
    while let Some(mut message) = outgoing.recv().await {
        // One message per line: a client's arguments may contain line breaks between tokens.
        if message.contains(&b'\n') {
            let Ok(document) = Document::parse(&message, &crate::limits()) else { continue };
            let compact = document.root().to_compact().into_bytes();
            drop(document);
            message = compact;
        }
        message.push(b'\n');
        if pipe.write_all(&message).await.is_err() {
            return;
        }
    }
}

/// Reads messages until the server is gone or sends one over [`MESSAGE_BYTES_MAX`], which ends the connection: the
/// request that it answers is not known without parsing it.
async fn read_all(
    connection: std::sync::Weak<Connection>,
    pipe: ReadHalf<DuplexStream>,
    writing: AbortHandle,
) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    // One byte more than a message: its line break, or the proof that it is too long.
    while let Ok(1..) = (&mut pipe).take(MESSAGE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line).await {
        if line.pop_if(|last| *last == b'\n').is_none() && line.len() > MESSAGE_BYTES_MAX {
            let limit = format!("MESSAGE_BYTES_MAX: a message of more than {MESSAGE_BYTES_MAX} bytes");
            tracing::warn!(target: "toolcrib", "an adopted server is let go: {limit}");
            break;
        }
        let Some(connection) = connection.upgrade() else { return };
        connection.take(&line);
        line.clear();
        line.shrink_to(LINE_KEPT_BYTES);
    }
    // Dropping the writer closes the pipe, which ends the server's side too.
    writing.abort();
    if let Some(connection) = connection.upgrade() {
        // Dropping the senders makes every waiting request fail.
        connection.lock().take();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::duplex;

    use super::*;

    /// R2.9: `WAITING_MESSAGES_MAX` messages wait for a server that does not read; the next sender waits itself.
    #[tokio::test(start_paused = true)]
    async fn senders_wait_at_waiting_messages_max() {
        let (ours, _theirs) = duplex(1);
        let connection = Connection::open(ours);
        let mut sent = 0;
        while tokio::time::timeout(Duration::from_secs(1), connection.notify("x")).await.is_ok() {
            sent += 1;
            assert!(sent <= WAITING_MESSAGES_MAX + 1);
        }
        // The writer holds one more.
        assert_eq!(sent, WAITING_MESSAGES_MAX + 1);
    }

    /// Sends an answer of `bytes` bytes to a request and returns how many bytes of result came back.
    async fn answered(bytes: usize) -> Result<usize, AdoptError> {
        let (ours, theirs) = duplex(1024 * 1024);
        let connection = Connection::open(ours);
        let (read, mut write) = tokio::io::split(theirs);
        tokio::spawn(async move {
            let mut lines = BufReader::new(read).lines();
            while let Ok(Some(_)) = lines.next_line().await {
                let (start, end) = ("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"", "\"}}");
                let fill = "x".repeat(bytes - start.len() - end.len());
                let _ = write.write_all(format!("{start}{fill}{end}\n").as_bytes()).await;
            }
        });
        let first = connection.request("m", |_| "{}".to_owned(), None).await;
        if first.is_err() {
            let second = connection.request("m", |_| "{}".to_owned(), None).await;
            assert!(matches!(second, Err(AdoptError::Gone)), "later requests are refused at once");
        }
        first.map(|result| result.len())
    }

    /// R2.9: a message over `MESSAGE_BYTES_MAX` ends the connection, and waiting requests fail.
    #[tokio::test]
    async fn a_message_over_message_bytes_max_ends_the_connection() {
        assert!(answered(MESSAGE_BYTES_MAX).await.is_ok_and(|length| length > MESSAGE_BYTES_MAX - 100));
        assert!(matches!(answered(MESSAGE_BYTES_MAX + 1).await, Err(AdoptError::Gone)));
    }
}
