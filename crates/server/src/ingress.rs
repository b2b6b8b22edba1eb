//! Processing of a POST body: one strict parse, the era, and the engine's answer.
//!
//! Guarantees: every body gets an answer with the status that the specification requires. The message is parsed once;
//! validation and forwarding use slices of it.

use std::net::IpAddr;
use std::sync::Arc;

use toolcrib_contract::json::{Document, Limits, Node, OwnedDocument, ReadError};
use toolcrib_engine::long_work::{self, is_long_to_read};
use toolcrib_engine::quota::Held;
use toolcrib_engine::stage::caller;
use toolcrib_engine::{Approach, Engine, Exchange, Payload, Principal, Reply, Session, SessionId, Share};
use toolcrib_protocol::{Branch, Code, Frame, Meta, Request, Revision, RpcError, Told};

use crate::batch::BatchAnswer;
use crate::call::{Answered, Call, CallFuture, Detached};
use crate::http::Endpoint;
use crate::limits::BATCH_MESSAGES_MAX;
use crate::load::Account;
use crate::mirrors::Mirrors;
use crate::sessions::HttpSession;
use crate::shed::Shed;
use crate::sse_channel::SseChannel;
use crate::sse_transport::Receipt;
use toolcrib_http1::RequestHead;
use toolcrib_http1::limits::UNCOUNTED_BYTES_MAX;
use toolcrib_protocol::header;

/// Input for answering a POST.
pub(crate) struct Post {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) head: RequestHead,
    pub(crate) principal: Principal,
    pub(crate) approach: Option<Arc<Approach>>,
    /// Network address of the client.
    pub(crate) address: Option<IpAddr>,
    /// Quota of a large body while it is processed.
    pub(crate) body: Option<Box<Held>>,
    pub(crate) exchange: Arc<Exchange>,
    /// Session that the headers or the path name.
    pub(crate) session: Option<Arc<HttpSession>>,
    /// Set over HTTP+SSE, where the answer is sent on the session's stream and not in the response.
    pub(crate) receipt: Option<Arc<Receipt>>,
}

impl Post {
    fn engine(&self) -> &Engine {
        self.endpoint.engine()
    }

    /// Starts answering the POST.
    pub(crate) fn start(self) -> Call {
        let (exchange, session) = (self.exchange.clone(), self.session.clone());
        let owner = Share::of(&self.principal, None, self.address);
        let detached = Detached { calls: self.endpoint.detached().clone(), owner };
        Call::new(self.answer(), exchange, session, detached)
    }

    /// Boxed inside this function, because the future is large and would otherwise be moved to the caller first.
    pub(crate) fn answer(mut self) -> CallFuture {
        Box::pin(async move {
            let mut body = self.body.take();
            // Boxed, so that this rare case does not enlarge every request's future.
            let (large, document);
            let (root, tape_bytes) = if is_long_to_read(self.head.body().len()) {
                large = match Box::pin(self.parse_at_length()).await {
                    Ok(document) => document,
                    Err(reply) => return reply.into(),
                };
                (large.root(), large.tape_bytes())
            } else {
                document = match self.parse() {
                    Ok(document) => document,
                    Err(reply) => return reply.into(),
                };
                (document.root(), document.tape_bytes())
            };
            if let Some(body) = &mut body
                && let Err(full) = body.grow(tape_bytes)
            {
                return self.shed(full.into(), None);
            }
            if root.is_array() {
                let reply = Box::pin(self.answer_batch(root)).await;
                return self.counted(reply.into(), None);
            }
            let frame = match Frame::read(root) {
                Ok(frame) => frame,
                Err(malformed) => {
                    return Reply::error(400, malformed.id.as_deref(), &malformed.error).into();
                }
            };
            if let Some(receipt) = &self.receipt
                && let Err(shed) = accept(receipt, &frame)
            {
                return self.shed(shed, id_of(&frame));
            }
            let answered = self.answer_frame(&frame).await;
            self.counted(answered, id_of(&frame))
        })
    }

    /// Returns the account of the caller whose quotas this request counts for.
    fn account(&self) -> Account {
        self.endpoint.unread().account(Share::of(&self.principal, None, self.address))
    }

    /// Counts a large answer until it is written; drops it if there is no room.
    fn counted(&self, mut answered: Answered, id: Option<&str>) -> Answered {
        let payload = &answered.reply.payload;
        if payload.len() <= UNCOUNTED_BYTES_MAX || payload.own_len() <= UNCOUNTED_BYTES_MAX {
            return answered;
        }
        let Account { unread, owner } = self.account();
        match unread.answers.take(&owner, payload.own_len()) {
            Ok(held) => answered.held = Some(Box::new(held)),
            Err(full) => {
                tracing::warn!(target: "toolcrib", "an answer to {owner} was dropped: {full}");
                let shed = Shed::from(full);
                let reply = shed.dropped(payload.own_len(), id, self.engine().meter());
                return Answered { shed: Some(shed), ..Answered::from(reply) };
            }
        }
        answered
    }

    fn shed(&self, shed: Shed, id: Option<&str>) -> Answered {
        Answered { shed: Some(shed), ..Answered::from(shed.reply(id, self.engine().meter())) }
    }

    fn parse(&self) -> Result<Document<'_>, Reply> {
        Document::parse(self.head.body(), &self.message_limits()).map_err(|error| unparsable(&error))
    }

    /// Parses a large body on the thread for long work.
    async fn parse_at_length(&self) -> Result<OwnedDocument, Reply> {
        let (body, limits) = (self.head.body().to_vec(), self.message_limits());
        match long_work::read(body, limits).await {
            Ok(parsed) => parsed.map_err(|error| unparsable(&error)),
            Err(error) => {
                let message = format!("the message was not read: {error}");
                Err(Reply::error(503, None, &RpcError::new(Code::InternalError, message)))
            }
        }
    }

    fn message_limits(&self) -> Limits {
        Limits::message().with_bytes_max(self.endpoint.options().body_bytes_max)
    }

    async fn answer_frame(&self, frame: &Frame<'_>) -> Answered {
        let params = match frame {
            Frame::Request(request) => Some(&request.params),
            Frame::Notification(notification) => Some(&notification.params),
            Frame::Response(_) => None,
        };
        let is_initialize = matches!(frame, Frame::Request(request) if request.method == "initialize");
        let branch = self.branch(params.is_some_and(Meta::names_version), is_initialize);
        match (branch, frame) {
            (Branch::Modern, frame) => self.answer_modern(frame).await.into(),
            (Branch::Initialize, Frame::Request(request)) => self.initialize(request),
            (Branch::Session, frame) => match self.session() {
                Some(session) => self.answer_in(session.agreed(), frame, &self.exchange).await.into(),
                None => unknown_session(id_of(frame)).into(),
            },
            (Branch::Sessionless(_), Frame::Response(_)) => {
                bad(None, "a response needs the Mcp-Session-Id of the session it answers in").into()
            }
            (Branch::Sessionless(revision), frame) => {
                let session = self.ephemeral(revision);
                self.answer_in(&session, frame, &self.exchange).await.into()
            }
            (Branch::UnknownVersion | Branch::Initialize, frame) => unknown_version(id_of(frame)).into(),
        }
    }

    fn branch(&self, names_version_in_meta: bool, is_initialize: bool) -> Branch {
        // HTTP+SSE is legacy, and its path names the session, whatever the headers say.
        if self.receipt.is_some() {
            return if is_initialize { Branch::Initialize } else { Branch::Session };
        }
        Branch::decide(names_version_in_meta, is_initialize, || Told {
            version: self.head.get_or_unreadable(header::PROTOCOL_VERSION),
            has_session: self.head.has(header::SESSION_ID),
        })
    }

    async fn answer_modern(&self, frame: &Frame<'_>) -> Reply {
        let request = match frame {
            Frame::Request(request) => request,
            Frame::Notification(notification) => {
                self.engine().notification(None, notification);
                return Reply::accepted();
            }
            Frame::Response(response) => {
                return bad(response.id, "a client sends no responses in this protocol version");
            }
        };
        let (principal, exchange) = (self.principal.clone(), self.exchange.clone());
        let mirrors = Mirrors(&self.head);
        let caller = match caller::modern(principal, Some(&mirrors), request, exchange) {
            Ok(caller) => caller.by(self.approach.clone()).from_address(self.address),
            Err(refusal) => return self.engine().rescue(Revision::FIRST_MODERN, request, refusal),
        };
        self.engine().request(&caller, request).await
    }

    /// Answers a message of a legacy session, or of a legacy client without one.
    async fn answer_in(&self, session: &Arc<Session>, frame: &Frame<'_>, exchange: &Arc<Exchange>) -> Reply {
        match frame {
            Frame::Request(request) => {
                // The choice of this request narrows that of its session, for this request only.
                let approach =
                    session.approach().narrowed(&Approach::known(self.approach.as_ref()).selection);
                let caller =
                    caller::legacy(session, exchange.clone()).by(approach).from_address(self.address);
                self.engine().request(&caller, request).await
            }
            Frame::Notification(notification) => {
                self.engine().notification(Some(session), notification);
                Reply::accepted()
            }
            Frame::Response(response) => {
                // A response that arrives too late is not an error of the client.
                self.engine().response(session, response);
                Reply::accepted()
            }
        }
    }

    fn initialize(&self, request: &Request<'_>) -> Answered {
        if let (Some(receipt), Some(session)) = (&self.receipt, &self.session) {
            return self.initialize_on(receipt.channel(), session, request);
        }
        self.exchange.survive_disconnect();
        let id = if self.endpoint.options().sessions {
            match SessionId::random() {
                Ok(id) => Some(id),
                Err(error) => {
                    let error = RpcError::new(Code::InternalError, error.to_string());
                    return Reply::error(500, Some(request.id), &error).into();
                }
            }
        } else {
            None
        };
        let approach = self.approach.clone().unwrap_or_default();
        match self.engine().initialize(self.principal.clone(), id.clone(), approach, request) {
            Err(reply) => reply.into(),
            Ok((_, reply)) if id.is_none() => reply.into(),
            Ok((session, reply)) => {
                session.open_from(self.address);
                match self.endpoint.sessions().open(session, Some(self.account())) {
                    Ok(_) => Answered { opened: id, ..Answered::from(reply) },
                    Err(shed) => self.shed(shed, Some(request.id)),
                }
            }
        }
    }

    /// Handles `initialize` on a stream that is already open.
    fn initialize_on(
        &self,
        channel: &Arc<SseChannel>,
        opened: &HttpSession,
        request: &Request<'_>,
    ) -> Answered {
        let again = || {
            let error = RpcError::new(Code::InvalidRequest, "Invalid request: the session is initialized");
            Answered::from(Reply::error(200, Some(request.id), &error))
        };
        if channel.agreed().is_some() {
            return again();
        }
        let opened = &opened.session;
        let approach = opened.approach().narrowed(&Approach::known(self.approach.as_ref()).selection);
        match self.engine().initialize(self.principal.clone(), opened.id().cloned(), approach, request) {
            Err(reply) => reply.into(),
            Ok((session, reply)) => {
                session.open_from(opened.opened_from());
                if channel.agree(self.endpoint.engine().clone(), &session) { reply.into() } else { again() }
            }
        }
    }

    /// Returns the session that the headers or the path name.
    fn session(&self) -> Option<&HttpSession> {
        let found = self.session.as_deref()?;
        self.exchange.survive_disconnect();
        Some(found)
    }

    /// Creates a temporary session for a legacy request without one.
    fn ephemeral(&self, revision: Revision) -> Arc<Session> {
        let session = Session::ephemeral(self.principal.clone(), revision);
        session.come_by(self.approach.clone().unwrap_or_default());
        session.open_from(self.address);
        session
    }

    /// Answers a batch; only the oldest revisions have batches.
    async fn answer_batch(&self, batch: Node<'_>) -> Reply {
        let session = match self.branch(false, false) {
            Branch::Session => match self.session() {
                Some(found) => found.agreed().clone(),
                None => return unknown_session(None),
            },
            Branch::Sessionless(revision) => self.ephemeral(revision),
            Branch::UnknownVersion => return unknown_version(None),
            Branch::Modern | Branch::Initialize => {
                return bad(None, "batches do not exist in this protocol version");
            }
        };
        if !session.revision().accepts_batches() {
            return bad(None, "batches do not exist in this protocol version");
        }
        if batch.is_empty() || batch.len() > BATCH_MESSAGES_MAX {
            return bad(None, "a batch has between 1 and 100 messages");
        }
        if let Some(receipt) = &self.receipt
            && let Err(shed) = receipt.accept_request()
        {
            return shed.reply(None, self.engine().meter());
        }
        let mut answers = BatchAnswer::default();
        for node in batch.elements() {
            // Other connections of the thread get their turn between two messages.
            tokio::task::yield_now().await;
            let reply = match Frame::read(node) {
                Ok(Frame::Request(request)) if request.method == "initialize" => {
                    bad(Some(request.id), "initialize cannot stand in a batch")
                }
                Ok(frame) => match answers.refusal(id_of(&frame)) {
                    // A notification has no answer, so it adds no bytes and is still processed.
                    Some(refusal) if matches!(frame, Frame::Request(_)) => refusal,
                    _ => self.answer_in(&session, &frame, &self.exchange.sibling()).await,
                },
                Err(malformed) => Reply::error(400, malformed.id.as_deref(), &malformed.error),
            };
            answers.add(reply.payload);
        }
        match answers.finish() {
            Payload::Nothing => Reply::accepted(),
            payload => Reply { status: 200, payload },
        }
    }
}

/// Marks a message as accepted.
fn accept(receipt: &Receipt, frame: &Frame<'_>) -> Result<(), Shed> {
    match frame {
        Frame::Request(_) => receipt.accept_request(),
        Frame::Notification(_) | Frame::Response(_) => {
            receipt.accept();
            Ok(())
        }
    }
}

fn unparsable(error: &ReadError) -> Reply {
    Reply::error(400, None, &RpcError::new(Code::ParseError, format!("Parse error: {error}")))
}

fn id_of<'a>(frame: &Frame<'a>) -> Option<&'a str> {
    match frame {
        Frame::Request(request) => Some(request.id),
        Frame::Notification(_) | Frame::Response(_) => None,
    }
}

fn bad(id: Option<&str>, message: &'static str) -> Reply {
    Reply::error(400, id, &RpcError::new(Code::InvalidRequest, format!("Invalid request: {message}")))
}

fn unknown_session(id: Option<&str>) -> Reply {
    let error = RpcError::new(Code::Legacy, "Session not found: it ended or never existed; initialize again");
    Reply::error(404, id, &error)
}

fn unknown_version(id: Option<&str>) -> Reply {
    let versions: Vec<&str> = Revision::ALL.iter().map(|revision| revision.as_str()).collect();
    let message = format!("Unsupported MCP-Protocol-Version header; supported: {}", versions.join(", "));
    Reply::error(400, id, &RpcError::new(Code::Legacy, message))
}
