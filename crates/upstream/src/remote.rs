//! One request to another server, from sending it to its result.
//!
//! Guarantees: bounded in time and bytes. Retried only if nothing was sent or a repetition is harmless; a request that
//! the server may have seen is repeated at most once. A question during the call is asked only of this call's client.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use toolcrib_contract::json::{Limits, Node, OwnedDocument};
use toolcrib_engine::alarm::Alarm;
use toolcrib_engine::ask::InputRequired;
use toolcrib_engine::safety::vouch::{self, ConfirmedBy};
use toolcrib_engine::{AskError, Context, Forwarded, Question, ToolError, trace};
use toolcrib_protocol::{Capability, Code, Era, RpcError, write};

use crate::brake::Brake;
use crate::called;
use crate::connection::Connection;
use crate::error::{Cause, UpstreamError};
use crate::limits::CALL_QUESTIONS_MAX;
use crate::message::{Kind, Message};
use crate::parked::Waiting;
use crate::pending::Pending;
use crate::request::Request;
use crate::supervisor::{Entered, Upstream};

/// -32042 of 2025-11-25: the person has to open a page first.
const URL_ELICITATION_REQUIRED: i32 = -32042;

/// Maximum times that a request is sent if the server may have seen it.
const SENT_TIMES_MAX: usize = 2;

/// Maximum times that a request is sent.
const TRIES_MAX: usize = 4;

/// Sends requests to one server, with deadline, retry and questions.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    pub(crate) upstream: Arc<Upstream>,
    /// `true` if a repeated call has no further effect.
    pub(crate) is_repeatable: bool,
}

/// State of a modern server from the previous round, the keys of its questions, and the source of the answers.
pub(crate) type Brought<'a> = (Option<&'a str>, &'a [String], Source);

/// Source of the answers to a modern server's questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The client, in this round.
    Client,
    /// This gateway's gate, which has a person's confirmation.
    Gate,
}

/// Answer to the question of a server's gate about a call that a person confirmed at this gateway.
pub(crate) const CONFIRMED: &str = r#"{"action":"accept","content":{"confirm":true}}"#;

/// State of a call while its client asks a person; sealed by the engine.
#[derive(Debug, Serialize, Deserialize)]
enum Kept {
    /// A legacy server waits in the middle of this parked call.
    Parked(Box<str>),
    /// A modern server waits for these answers and its own state.
    Round {
        state: Option<Box<str>>,
        keys: Vec<String>,
        /// `true` if the server's gate asks for a confirmation that a person already gave here.
        #[serde(default)]
        confirmed: bool,
    },
    /// A legacy server has to be called again after pages were opened.
    Again,
}

impl Remote {
    /// Sends the request from `make` and follows it to its result, in a span of its own if spans are collected.
    pub(crate) async fn run<'r>(
        &self,
        make: impl Fn(Option<Brought<'_>>) -> Request<'r>,
        context: &Context,
    ) -> Result<Forwarded, ToolError> {
        match trace::current() {
            None => self.follow(make, context).await,
            Some(active) => Box::pin(self.run_traced(make, context, active)).await,
        }
    }

    async fn run_traced<'r>(
        &self,
        make: impl Fn(Option<Brought<'_>>) -> Request<'r>,
        context: &Context,
        active: Arc<trace::Active>,
    ) -> Result<Forwarded, ToolError> {
        let about = make(None);
        let target = about.name.as_deref().filter(|_| about.method != "resources/read").unwrap_or_default();
        let attributes = vec![
            ("mcp.method.name", about.method.to_owned()),
            ("server.name", self.upstream.spec().name.clone()),
            ("network.transport", self.upstream.spec().transport.word().to_owned()),
        ];
        let mut span = active.client(format!("{} {target}", about.method).trim_end().to_owned(), attributes);
        let traced = |brought: Option<Brought<'_>>| make(brought).traced(&span, active.state());
        let outcome = self.follow(traced, context).await;
        match &outcome {
            Ok(_) | Err(ToolError::InputRequired(_)) => {}
            Err(_) => span.fail("failed"),
        }
        outcome
    }

    async fn follow<'r>(
        &self,
        make: impl Fn(Option<Brought<'_>>) -> Request<'r>,
        context: &Context,
    ) -> Result<Forwarded, ToolError> {
        let (request, parked) = first_request(&make, context);
        let call = match parked {
            Some(id) => Box::pin(self.take_up(id, context)).await?,
            None => self.begin(&request).await?,
        };
        let outcome = self.follow_sent(call, &request, context).await;
        if let Err(ToolError::InputRequired(_)) = &outcome
            && let Some(Kept::Round { state, keys, confirmed: true }) = context.kept()
        {
            let again = make(Some((state.as_deref(), &keys, Source::Gate)));
            return Box::pin(self.send_confirmed(again, context)).await;
        }
        outcome
    }

    /// Sends a call again with the answer to the question of the server's gate.
    async fn send_confirmed(&self, request: Request<'_>, context: &Context) -> Result<Forwarded, ToolError> {
        let call = self.begin(&request).await?;
        self.follow_sent(call, &request, context).await
    }

    /// Returns `true` if the server's question comes from its gate and is about this call, which a person already
    /// confirmed here.
    fn is_confirmed(&self, method: &str, params: Node<'_>, request: &Request<'_>, context: &Context) -> bool {
        method == "elicitation/create"
            && context.confirmed_by() == Some(ConfirmedBy::Person)
            && self.upstream.gate_key().is_some()
            && request.called().is_some_and(|(tool, arguments)| {
                let message = params.get("message").and_then(Node::as_str);
                message.is_some_and(|message| vouch::is_question_about(&message, tool, arguments))
            })
    }

    /// Follows a call that was sent to its result. A failure is *unknown* unless the server itself reported it,
    /// because the call may have been executed in part.
    async fn follow_sent(
        &self,
        mut call: Call<'_>,
        request: &Request<'_>,
        context: &Context,
    ) -> Result<Forwarded, ToolError> {
        loop {
            let next = self.next(&mut call, request).await;
            let message = next.map_err(|error| self.failed(&UpstreamError { sent: true, ..error }))?;
            match message.kind() {
                Kind::Response(_) => return self.answered(message, request, context),
                Kind::Notification => {
                    Box::pin(self.hold(&mut call, message.bytes())).await?;
                    match message.method().as_str() {
                        method @ ("notifications/progress" | "notifications/message") => {
                            context.relay(method, message.params());
                        }
                        // A list change may be announced in the middle of a call.
                        _ => drop(call.connection.link().deliver(message)),
                    }
                }
                Kind::Request(id) => {
                    let asked = Box::pin(self.asked(call, id, &message, request, context)).await;
                    call = asked.map_err(|error| match error {
                        ToolError::Failed(text) => ToolError::Unknown(text),
                        other => other,
                    })?;
                }
            }
        }
    }

    /// Sends the call; retries if that is safe.
    async fn begin(&self, request: &Request<'_>) -> Result<Call<'_>, ToolError> {
        let mut alarm = self.upstream.alarm();
        // `true` if the server may have seen something of the call when the deadline passes.
        let is_sent = AtomicBool::new(false);
        let begun = pin!(async {
            let seat = self.upstream.enter()?;
            self.upstream.breaker.admit()?;
            let mut connection = self.upstream.connection(None).await?;
            let mut tries = 1;
            loop {
                let was_sent = is_sent.swap(true, Ordering::Relaxed);
                let error = match connection.send(request).await {
                    Ok(pending) => return Ok((pending, connection, tries, seat)),
                    Err(error) => error,
                };
                is_sent.store(was_sent || error.sent, Ordering::Relaxed);
                // A request that the server has not seen can be retried more often.
                if tries >= if is_sent.load(Ordering::Relaxed) { SENT_TIMES_MAX } else { TRIES_MAX } {
                    return Err(error);
                }
                connection = Box::pin(self.second_try(&connection, &error, request.once)).await?;
                tries += 1;
            }
        });
        match alarm.within(begun).await.unwrap_or_else(|| Err(self.too_slow())) {
            Ok((pending, connection, tries, seat)) => {
                let brake = Brake::default();
                Ok(Call { pending, connection, alarm, brake, tries, asked: 0, _seat: seat })
            }
            Err(error) => Err(self.failed(&UpstreamError { sent: is_sent.load(Ordering::Relaxed), ..error })),
        }
    }

    fn too_slow(&self) -> UpstreamError {
        UpstreamError::sent(Cause::TooSlow { ms_max: self.upstream.spec().call_ms_max })
    }

    /// Returns a connection for a retry, if a retry is safe after `error`. A request marked `once` is not repeated if
    /// the server may have seen it.
    async fn second_try(
        &self,
        dead: &Arc<Connection>,
        error: &UpstreamError,
        once: bool,
    ) -> Result<Arc<Connection>, UpstreamError> {
        if !error.is_transport() {
            return Err(error.clone());
        }
        let is_kept_alive = matches!(*error.cause, Cause::Closed) && dead.link().why_closed().is_none();
        if !is_kept_alive {
            self.upstream.renew(dead, Cause::clone(&error.cause));
        }
        if error.sent && (once || !self.is_repeatable) {
            return Err(error.clone());
        }
        self.upstream.connection((!is_kept_alive).then_some(dead)).await
    }

    /// Returns the next message of a call, within its deadline.
    async fn next(&self, call: &mut Call<'_>, request: &Request<'_>) -> Result<Message, UpstreamError> {
        loop {
            let error = match call.alarm.within(pin!(call.pending.next())).await {
                Some(Ok(message)) => return Ok(message),
                Some(Err(error)) => error,
                None => return Err(self.too_slow()),
            };
            if call.tries >= SENT_TIMES_MAX {
                return Err(error);
            }
            call.tries += 1;
            let mut again = Box::pin(async {
                let connection = self.second_try(&call.connection, &error, request.once).await?;
                let pending = connection.send(request).await?;
                Ok::<_, UpstreamError>((connection, pending))
            });
            let sent = call.alarm.within(again.as_mut()).await;
            drop(again);
            (call.connection, call.pending) = sent.unwrap_or_else(|| Err(self.too_slow()))?;
        }
    }

    /// Throttles a server that floods a call with notifications, within the call's deadline.
    async fn hold(&self, call: &mut Call<'_>, bytes: usize) -> Result<(), ToolError> {
        let held = call.alarm.within(pin!(call.brake.hold(bytes))).await;
        held.ok_or_else(|| self.failed(&self.too_slow()))
    }

    /// Answers a request of the server, within the call's deadline.
    async fn reply(&self, call: &mut Call<'_>, text: Vec<u8>) -> Result<(), UpstreamError> {
        let sent = call.alarm.within(pin!(call.pending.reply(text))).await;
        sent.unwrap_or_else(|| Err(self.too_slow()))
    }

    /// Interprets the server's response, which may be a question of a modern server.
    fn answered(
        &self,
        message: Message,
        request: &Request<'_>,
        context: &Context,
    ) -> Result<Forwarded, ToolError> {
        self.upstream.breaker.succeeded();
        let result = message.result().map_err(|error| refused(error, context))?;
        let kind = result.get("resultType").and_then(Node::as_str);
        match kind.as_deref() {
            None | Some("complete") => {
                let garbage = || self.failed(&UpstreamError::sent(Cause::Garbage("its result is no object")));
                message.into_forwarded().ok_or_else(garbage)
            }
            Some("input_required") => Err(self.input_required(&message, request, context)),
            Some(_) => {
                let cause = Cause::Garbage("its result is of a kind that was not agreed on");
                Err(self.failed(&UpstreamError::sent(cause)))
            }
        }
    }

    /// Relays the questions of a modern server to this call's client and keeps the server's state.
    fn input_required(&self, message: &Message, sent: &Request<'_>, context: &Context) -> ToolError {
        let garbage =
            || self.failed(&UpstreamError::sent(Cause::Garbage("it asks for nothing that is known")));
        let (Ok(result), Ok(empty)) = (message.result(), no_params()) else { return garbage() };
        let mut questions = Vec::new();
        let mut confirmed = true;
        for (key, request) in result.get("inputRequests").into_iter().flat_map(Node::members) {
            let method = request.get("method").and_then(Node::as_str).unwrap_or_default();
            // `roots/list` needs no parameters.
            let params = request.get("params").unwrap_or(empty.root());
            let Some(question) = Question::relay(&method, params) else { return garbage() };
            let is_confirmed = self.is_confirmed(&method, params, sent, context);
            confirmed &= is_confirmed;
            // A server may ask only for declared capabilities; a question for another one is refused.
            if !is_confirmed && !context.can(question.capability()) {
                return ToolError::MissingCapability(question.capability());
            }
            questions.push((key.as_str().unwrap_or_default().into(), question));
        }
        let state = result.get("requestState").and_then(Node::as_str).map(|state| state.as_ref().into());
        if questions.is_empty() && state.is_none() {
            return garbage();
        }
        let keys = questions.iter().map(|(key, _): &(Box<str>, _)| key.to_string()).collect();
        confirmed &= !questions.is_empty();
        match context.keep(&Kept::Round { state, keys, confirmed }) {
            Ok(()) => ToolError::InputRequired(Box::new(InputRequired::new(questions))),
            Err(error) => ToolError::from(error),
        }
    }

    /// Handles a question of a legacy server during the call: asks the person now, or parks the call until the client
    /// has asked.
    async fn asked<'c>(
        &self,
        mut call: Call<'c>,
        id: &str,
        message: &Message,
        request: &Request<'_>,
        context: &Context,
    ) -> Result<Call<'c>, ToolError> {
        let method = message.method();
        if method == "ping" {
            // If this fails, the call fails too, by its response or its deadline.
            let _ = self.reply(&mut call, write::result(id, b"{}")).await;
            return Ok(call);
        }
        let empty = no_params()?;
        let params = message.params().unwrap_or(empty.root());
        if self.is_confirmed(&method, params, request, context) {
            let sent = self.reply(&mut call, write::result(id, CONFIRMED.as_bytes())).await;
            return sent.map(|()| call).map_err(|error| self.failed(&error));
        }
        let question = Question::relay(&method, params);
        call.asked += 1;
        let question = match question {
            Some(question) if call.asked <= CALL_QUESTIONS_MAX => question,
            Some(_) => return Err(ToolError::new(format!("{} asks without end.", self.shown()))),
            None => {
                let error = write::error(Some(id), &RpcError::method_not_found(&method));
                let _ = self.reply(&mut call, error).await;
                return Ok(call);
            }
        };
        let key = format!("question-{}", call.asked);
        self.put_question(call, key, question, id.into(), context).await
    }

    async fn put_question<'c>(
        &self,
        mut call: Call<'c>,
        key: String,
        question: Question,
        id: Box<str>,
        context: &Context,
    ) -> Result<Call<'c>, ToolError> {
        let since = Instant::now();
        let reply = match context.ask(&key, question.clone()).await {
            Ok(reply) => write::result(&id, reply.as_json().as_bytes()),
            Err(AskError::InputRequired(required)) => {
                let waiting =
                    Waiting { pending: call.pending, question, question_id: id, key, asked: call.asked };
                let parked = self.upstream.parked.put(waiting);
                let id = parked.map_err(|_| ToolError::new("Too many calls wait for an answer."))?;
                context.keep(&Kept::Parked(id)).map_err(ToolError::from)?;
                return Err(ToolError::InputRequired(required));
            }
            Err(AskError::Cancelled) => return Err(ToolError::new("The call was cancelled.")),
            Err(AskError::Refused(error)) => write::error(Some(&id), &error),
            Err(other) => write::error(Some(&id), &RpcError::new(Code::InvalidRequest, other.to_string())),
        };
        // Time that a person takes does not count towards the call's deadline.
        call.alarm.postpone(since.elapsed());
        self.reply(&mut call, reply).await.map_err(|error| self.failed(&error))?;
        Ok(call)
    }

    /// Resumes a parked call with the client's answer.
    async fn take_up(&self, id: Box<str>, context: &Context) -> Result<Call<'_>, ToolError> {
        let gone = || {
            ToolError::new(format!("{} no longer waits for this answer. Call the tool again.", self.shown()))
        };
        let waiting = self.upstream.parked.take(&id).ok_or_else(gone)?;
        let alarm = self.upstream.alarm();
        let connection = self.upstream.connection(None).await.map_err(|error| self.failed(&error))?;
        let seat = self.upstream.enter().map_err(|error| self.failed(&error))?;
        // The call is half done, so it is never restarted.
        let tries = SENT_TIMES_MAX;
        let (pending, asked) = (waiting.pending, waiting.asked);
        let brake = Brake::default();
        let call = Call { pending, connection, alarm, brake, tries, asked, _seat: seat };
        self.put_question(call, waiting.key, waiting.question, waiting.question_id, context).await
    }

    fn failed(&self, error: &UpstreamError) -> ToolError {
        if error.is_failure() {
            self.upstream.breaker.failed();
        }
        let is_open = error.is_transport() || matches!(*error.cause, Cause::TooSlow { .. });
        let unsure = error.sent && is_open && !self.is_repeatable;
        let hint = if unsure { " The call may have had its effect." } else { "" };
        let text = format!("{}: {}.{hint}", self.shown(), error.cause);
        if error.sent { ToolError::Unknown(text.into()) } else { ToolError::new(text) }
    }

    fn shown(&self) -> String {
        format!("Server {:?}", self.upstream.spec().name)
    }
}

/// Returns the first request by the state that the client brought back, and the id of a parked call.
fn first_request<'r>(
    make: impl Fn(Option<Brought<'_>>) -> Request<'r>,
    context: &Context,
) -> (Request<'r>, Option<Box<str>>) {
    match context.kept() {
        Some(Kept::Parked(id)) => (Request::new(called::METHOD), Some(id)),
        Some(Kept::Round { state, keys, .. }) => {
            (make(Some((state.as_deref(), &keys, Source::Client))), None)
        }
        Some(Kept::Again) | None => (make(None), None),
    }
}

/// Parameters of a question that has none.
fn no_params() -> Result<OwnedDocument, ToolError> {
    OwnedDocument::parse("{}", &Limits::message()).map_err(|error| ToolError::new(error.to_string()))
}

struct Call<'a> {
    pending: Pending,
    connection: Arc<Connection>,
    alarm: Alarm<'a>,
    brake: Brake,
    tries: usize,
    asked: usize,
    _seat: Entered<'a>,
}

/// Translates a server's JSON-RPC error for the caller.
fn refused(error: RpcError, context: &Context) -> ToolError {
    match error.code {
        // These codes are about the connection between gateway and server, not the caller's.
        -32021 => missing_capability(&error),
        -32022 | -32020 => ToolError::new(format!("The server refused: {}", error.message)),
        URL_ELICITATION_REQUIRED if context.peer().era() == Era::Modern => open_pages(&error, context),
        // A missing resource has a different code in each era; the engine chooses it.
        code if code == Code::ResourceNotFound.number() => ToolError::NotFound,
        code if code == Code::InvalidParams.number() && names_a_resource(&error) => ToolError::NotFound,
        _ => ToolError::Protocol(Box::new(error)),
    }
}

/// Maps the capability that the server named to the one that the caller's client lacks.
fn missing_capability(error: &RpcError) -> ToolError {
    let named = error.data.as_deref().unwrap_or_default();
    let capability = [
        ("\"sampling\"", Capability::Sampling),
        ("\"roots\"", Capability::Roots),
        ("\"url\"", Capability::ElicitationUrl),
        ("\"elicitation\"", Capability::ElicitationForm),
    ]
    .into_iter()
    .find(|(name, _)| named.contains(name));
    match capability {
        Some((_, capability)) => ToolError::MissingCapability(capability),
        None => ToolError::new(format!("The server refused: {}", error.message)),
    }
}

fn names_a_resource(error: &RpcError) -> bool {
    error.message.eq_ignore_ascii_case("resource not found")
        || error.data.as_deref().is_some_and(|data| data.starts_with("{\"uri\":"))
}

/// -32042 names pages to open. A modern client is asked to open them; then the tool is called again.
fn open_pages(error: &RpcError, context: &Context) -> ToolError {
    if !context.can(Capability::ElicitationUrl) {
        return ToolError::MissingCapability(Capability::ElicitationUrl);
    }
    let limits = Limits::message();
    let data = error.data.as_deref().unwrap_or("{}");
    let Ok(document) = OwnedDocument::parse(data, &limits) else {
        return ToolError::new(error.message.clone());
    };
    let text = |node: Node<'_>, name: &str| node.get(name).and_then(Node::as_str).map(Cow::into_owned);
    let mut questions = Vec::new();
    for (index, page) in document.root().get("elicitations").into_iter().flat_map(Node::elements).enumerate()
    {
        if let Some(url) = text(page, "url") {
            let message = text(page, "message").unwrap_or_else(|| error.message.to_string());
            questions.push((format!("page-{index}").into(), Question::elicit_url(&message, &url)));
        }
    }
    // The pages were opened and the server still names them: the error is passed on.
    if questions.is_empty() || context.round().answer("page-0").is_some() {
        return ToolError::new(error.message.clone());
    }
    match context.keep(&Kept::Again) {
        Ok(()) => ToolError::InputRequired(Box::new(InputRequired::new(questions))),
        Err(error) => ToolError::from(error),
    }
}
