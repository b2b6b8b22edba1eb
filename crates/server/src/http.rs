//! One MCP endpoint over HTTP: POST, GET and DELETE, every refusal with its status.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use toolcrib_engine::quota::{Held, Quota};
use toolcrib_engine::{Approach, Engine, Exchange, Outgoing, Payload, Principal, Selection, Share};
use toolcrib_protocol::{Code, Revision, RpcError, header, sse, write};

use crate::accept::{Accept, Asks, EVENT_STREAM, JSON, declares_json};
use crate::address::{self, BadChoice};
use crate::auth::{Authenticator, Challenge, Open};
use crate::body;
use crate::call::{Answered, Call, First};
use crate::ingress::Post;
use crate::limits::{BODY_BYTES_MAX, BODY_MS_MAX};
use crate::load::{Account, LoadLimits, Unread};
use crate::open_streams::OpenStreams;
use crate::rebinding::{Expected, Rebinding};
use crate::rest;
use crate::sessions::{HttpSession, Sessions};
use crate::shed::{RETRY_AFTER_S, Shed};
use crate::side::{Page, Side};
use crate::stream_log::{StreamLog, parse_event_id};
use toolcrib_http1::limits::{HEAD_BYTES_MAX, UNCOUNTED_BYTES_MAX};
use toolcrib_http1::server::{Service, Unreadable};
use toolcrib_http1::{ReplyBody, RequestHead, Response};

/// How an HTTP endpoint behaves where it has a choice.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The endpoint's path.
    pub path: String,
    pub expected: Expected,
    pub authenticator: Arc<dyn Authenticator>,
    pub body_bytes_max: usize,
    pub body_ms_max: u64,
    /// Legacy clients get a session; without, each of their requests stands alone.
    pub sessions: bool,
    /// A client that lists `text/event-stream` before JSON gets a stream even where one message is the whole answer.
    pub streams_when_listed_first: bool,
    /// What is answered beside the endpoint.
    pub side: Option<Arc<dyn Side>>,
    /// Bounds of what callers share.
    pub load: LoadLimits,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            expected: Expected::default(),
            authenticator: Arc::new(Open),
            body_bytes_max: BODY_BYTES_MAX,
            body_ms_max: BODY_MS_MAX,
            sessions: true,
            streams_when_listed_first: false,
            side: None,
            load: LoadLimits::default(),
        }
    }
}

/// The endpoint.
#[derive(Debug)]
pub struct Endpoint {
    engine: Arc<Engine>,
    options: HttpOptions,
    sessions: Arc<Sessions>,
    /// Bytes of large request heads.
    heads: Arc<Quota>,
    /// Bytes of request bodies that are received or worked on.
    bodies: Arc<Quota>,
    unread: Unread,
    /// Calls that go on without their connection.
    detached: Arc<Quota>,
    streams: OpenStreams,
}

/// A request that may be answered.
#[derive(Debug)]
pub struct Admitted {
    target: Target,
    /// Network address that it came from.
    address: Option<IpAddr>,
    /// Counts a large body.
    body: Option<Box<Held>>,
    /// Revocations that were known when its credential was looked at.
    revocations: u64,
}

/// What a request is for.
#[derive(Debug)]
enum Target {
    Post {
        principal: Principal,
        asks: Asks,
    },
    Get(Principal),
    Delete(Principal),
    /// None of MCP's.
    Rest,
    Page(Page),
}

impl Admitted {
    /// Whose use of the server this counts for.
    fn owner(&self) -> Share {
        let principal = match &self.target {
            Target::Post { principal, .. } | Target::Get(principal) | Target::Delete(principal) => principal,
            Target::Rest | Target::Page(_) => &Principal::Anonymous,
        };
        Share::of(principal, None, self.address)
    }
}

impl Service for Endpoint {
    type Admitted = Admitted;
    type HeadRoom = Held;

    fn head_room(&self, address: Option<IpAddr>) -> Result<Held, Response> {
        let share = Share::of(&Principal::Anonymous, None, address);
        let taken = self.heads.take(&share, HEAD_BYTES_MAX);
        taken.map_err(|full| Shed::from(full).response(self.engine.meter()))
    }

    fn admit(&self, head: &RequestHead, from: Option<IpAddr>) -> Result<Admitted, Response> {
        let revocations = self.revocations();
        self.target(head, from).map(|target| Admitted { target, address: from, body: None, revocations })
    }

    fn body_limits(&self) -> (usize, Duration) {
        (self.options.body_bytes_max, Duration::from_millis(self.options.body_ms_max))
    }

    fn reserve(&self, admitted: &mut Admitted, bytes: usize) -> Result<(), Response> {
        let reserved = match &mut admitted.body {
            Some(held) => held.grow(bytes.saturating_sub(held.amount())),
            None => {
                self.bodies.take(&admitted.owner(), bytes).map(|held| admitted.body = Some(Box::new(held)))
            }
        };
        reserved.map_err(|full| {
            let shed = Shed::from(full);
            let response = shed.response(self.engine.meter());
            if matches!(admitted.target, Target::Rest) { rest::shed(shed) } else { response }
        })
    }

    fn unread(&self, admitted: Admitted, why: Unreadable) -> Response {
        let (status, message) = match why {
            Unreadable::TooLong(max) => {
                (StatusCode::PAYLOAD_TOO_LARGE, format!("the body is over {max} bytes"))
            }
            Unreadable::TooSlow => (StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive".into()),
            Unreadable::Framing { limit, max } => (
                StatusCode::BAD_REQUEST,
                format!("{limit}: the framing of the body's chunks is over {max} bytes"),
            ),
            Unreadable::Broken => (StatusCode::BAD_REQUEST, "the body could not be read".into()),
        };
        match admitted.target {
            Target::Rest => rest::unread(status),
            _ => refuse(status, &message),
        }
    }

    async fn answer(self: &Arc<Self>, head: RequestHead, admitted: Admitted) -> Response {
        let Admitted { target, address, body, revocations } = admitted;
        match target {
            Target::Post { principal, asks } => {
                // A body may take its time; the credential may have been revoked since.
                if self.is_revoked(&principal, revocations) {
                    return revoked();
                }
                let streams = self.streams(asks.accept);
                let caller = principal.clone();
                let account = || self.unread.account(Share::of(&caller, None, address));
                let (approach, exchange) = (asks.approach, Exchange::alone(asks.accept.events));
                let session = head.get(header::SESSION_ID).and_then(|id| self.sessions.find(id, &principal));
                let endpoint = self.clone();
                let post = Post { endpoint, head, principal, approach, address, body, exchange, session };
                let mut call = post.start();
                let response = match call.first().await {
                    First::Says(first) => {
                        self.streams.join(&caller, call.exchange());
                        stream(call, first, None, account)
                    }
                    First::Answer(answered) => match call.said() {
                        Some(first) => stream(call, first, Some(answered), account),
                        None => answer(answered, streams),
                    },
                };
                // Looked at last, so that no revocation falls between: what the call came to is not delivered.
                if self.is_revoked(&caller, revocations) { revoked() } else { response }
            }
            Target::Get(principal) => {
                let response = self.get(&head, &principal);
                if self.is_revoked(&principal, revocations) { revoked() } else { response }
            }
            Target::Delete(principal) => self.delete(&head, &principal),
            // Boxed: what is rare must not make every request's state larger.
            Target::Rest => Box::pin(rest::answer(&self.engine, &head)).await,
            Target::Page(page) => shown(page),
        }
    }
}

impl Endpoint {
    #[must_use]
    pub fn new(engine: Arc<Engine>, options: HttpOptions) -> Arc<Self> {
        let load = options.load;
        let sessions = Arc::new(Sessions::new(load));
        let (bodies, detached) = (Quota::new(load.bodies), Quota::new(load.detached));
        let (heads, unread, streams) = (Quota::new(load.heads), Unread::new(&load), OpenStreams::default());
        Arc::new(Self { engine, options, sessions, heads, bodies, unread, detached, streams })
    }

    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    pub(crate) fn unread(&self) -> &Unread {
        &self.unread
    }

    pub(crate) fn detached(&self) -> &Arc<Quota> {
        &self.detached
    }

    /// Returns a number that changes whenever somebody's access may have ended.
    pub(crate) fn revocations(&self) -> u64 {
        self.options.authenticator.revocations()
    }

    /// Ends the sessions and streams of those who may no longer be served, if anything was revoked since `seen`.
    pub(crate) fn end_revoked(&self, seen: &mut u64) {
        let now = self.revocations();
        if std::mem::replace(seen, now) == now {
            return;
        }
        let authenticator = &self.options.authenticator;
        self.sessions.end_revoked(|principal, since_ms| authenticator.still_holds(principal, since_ms));
        self.streams.end_revoked(|principal, since_ms| authenticator.still_holds(principal, since_ms));
    }

    /// Whether a principal lost its access since `revocations` was read.
    fn is_revoked(&self, principal: &Principal, revocations: u64) -> bool {
        self.revocations() != revocations && !self.options.authenticator.still_holds(principal, u64::MAX)
    }

    pub(crate) fn options(&self) -> &HttpOptions {
        &self.options
    }

    /// Judges a request by its head.
    fn target(&self, head: &RequestHead, from: Option<IpAddr>) -> Result<Target, Response> {
        if let Some(asks) = head.noted::<Asks>() {
            let principal = self.principal(head)?;
            self.check_room(&principal, from)?;
            self.check_choice(&principal, asks.approach.as_deref())?;
            return Ok(Target::Post { principal, asks: asks.clone() });
        }
        let is_rest = self.engine.safety().is_some() && head.path().starts_with(rest::PREFIX);
        let address = address::selection(&self.options.path, head.path_bytes(), head.query());
        let page = match &self.options.side {
            Some(side) if address.is_none() && head.method() == Method::GET => side.page(head.path()),
            _ => None,
        };
        if address.is_none() && page.is_none() && !is_rest {
            return Err(refuse(StatusCode::NOT_FOUND, "there is nothing at this path"));
        }
        if let Err(rebinding) = self.options.expected.check(head) {
            let status = match rebinding {
                Rebinding::NoHost => StatusCode::BAD_REQUEST,
                Rebinding::WrongHost | Rebinding::WrongOrigin => StatusCode::FORBIDDEN,
            };
            return Err(refuse(status, &rebinding.to_string()));
        }
        if is_rest {
            return Ok(Target::Rest);
        }
        let Some(address) = address else {
            return page.map(Target::Page).ok_or_else(|| Response::empty(StatusCode::NOT_FOUND));
        };
        let principal = self.principal(head)?;
        match *head.method() {
            Method::POST => {
                self.check_room(&principal, from)?;
                let approach = approach(address, head).map_err(|bad| unfollowed(&bad))?;
                self.check_choice(&principal, approach.as_deref())?;
                let asks = Asks { accept: postable(head)?, approach };
                head.note(asks.clone());
                Ok(Target::Post { principal, asks })
            }
            Method::GET => Ok(Target::Get(principal)),
            Method::DELETE => Ok(Target::Delete(principal)),
            _ => Err(not_allowed()),
        }
    }

    /// Who sends this, asked for every request anew.
    fn principal(&self, head: &RequestHead) -> Result<Principal, Response> {
        self.options.authenticator.principal(head).map_err(|challenge| {
            // RFC 6750: who is known and may not is forbidden, not unknown.
            let lacks_scope = challenge.www_authenticate.contains("error=\"insufficient_scope\"");
            let status = if lacks_scope { StatusCode::FORBIDDEN } else { StatusCode::UNAUTHORIZED };
            refuse(status, "authentication is required").with("www-authenticate", &challenge.www_authenticate)
        })
    }

    /// Refuses a caller that leaves too much of its answers unread.
    fn check_room(&self, principal: &Principal, from: Option<IpAddr>) -> Result<(), Response> {
        let room = self.unread.answers.check(|| Share::of(principal, None, from));
        room.map_err(|full| Shed::from(full).response(self.engine.meter()))
    }

    /// What is chosen must be there, and this caller's to choose.
    fn check_choice(&self, principal: &Principal, approach: Option<&Approach>) -> Result<(), Response> {
        let Some(Approach { selection, .. }) = approach else { return Ok(()) };
        self.engine.check_selection(principal, selection).map_err(|unknown| unfollowed(&unknown.into()))
    }

    /// One message is answered as a stream.
    fn streams(&self, accept: Accept) -> bool {
        !accept.json || (accept.events_first && self.options.streams_when_listed_first)
    }

    /// A legacy session's stream: unsolicited messages, or the rest of one that was lost.
    fn get(&self, head: &RequestHead, principal: &Principal) -> Response {
        let Some(session) = (match self.session_of(head, principal) {
            Ok(session) => session,
            Err(answer) => return *answer,
        }) else {
            return not_allowed();
        };
        if !Accept::read(head).events {
            return refuse(StatusCode::NOT_ACCEPTABLE, "the client must accept text/event-stream");
        }
        let last = head.get("last-event-id");
        if let Some((number, seen)) = last.and_then(parse_event_id)
            && let Some(log) = session.log(number)
        {
            return events(body::log(log.read_after(seen), session));
        }
        let (log, is_new) = session.news_log();
        if is_new {
            self.fill_news(&session, log.clone());
        }
        events(body::log(log.read_on(), session))
    }

    /// Starts what writes a session's unsolicited messages into its log.
    fn fill_news(&self, session: &Arc<HttpSession>, log: Arc<StreamLog>) {
        if session.session.revision().primes_streams() {
            log.prime();
        }
        let (engine, inner) = (self.engine.clone(), session.session.clone());
        let exchange = Exchange::alone(true);
        tokio::spawn({
            let exchange = exchange.clone();
            async move {
                engine.tell_news(&inner, &exchange).await;
                exchange.outbox().close();
            }
        });
        tokio::spawn(async move {
            while let Some(outgoing) = exchange.outbox().next().await {
                if let Outgoing::Message(message) = outgoing {
                    log.append(&message);
                }
            }
            log.finish();
        });
    }

    fn delete(&self, head: &RequestHead, principal: &Principal) -> Response {
        match self.session_of(head, principal) {
            Err(answer) => *answer,
            Ok(None) => not_allowed(),
            Ok(Some(session)) => {
                let id = session.session.id().map(toolcrib_engine::SessionId::as_str).unwrap_or_default();
                self.sessions.close(id, principal);
                Response::empty(StatusCode::NO_CONTENT)
            }
        }
    }

    /// The session a GET or DELETE names; `None` when it names none and the method means nothing.
    fn session_of(
        &self,
        head: &RequestHead,
        principal: &Principal,
    ) -> Result<Option<Arc<HttpSession>>, Box<Response>> {
        match head.get_or_unreadable(header::PROTOCOL_VERSION) {
            Some(version) if Revision::is_modern_date(version) => return Ok(None),
            Some(version) if Revision::parse(version).is_none() => {
                return Err(Box::new(refuse(
                    StatusCode::BAD_REQUEST,
                    "unsupported MCP-Protocol-Version header",
                )));
            }
            _ => {}
        }
        let Some(id) = head.get_or_unreadable(header::SESSION_ID) else { return Ok(None) };
        match self.sessions.find(id, principal) {
            Some(session) => Ok(Some(session)),
            None => Err(Box::new(refuse(StatusCode::NOT_FOUND, "session not found"))),
        }
    }
}

/// The address's choice narrowed by the headers', and what the client calls itself; `None` where neither says anything.
fn approach(mut selection: Selection, head: &RequestHead) -> Result<Option<Arc<Approach>>, BadChoice> {
    address::narrow_by_headers(&mut selection, head)?;
    let user_agent = head.get("user-agent").map(Into::into);
    let says_nothing = user_agent.is_none() && selection == Selection::default();
    Ok((!says_nothing).then(|| Arc::new(Approach { selection, user_agent })))
}

fn unfollowed(bad: &BadChoice) -> Response {
    refuse(StatusCode::BAD_REQUEST, &bad.to_string())
}

/// What a POST says about itself before its body is read.
fn postable(head: &RequestHead) -> Result<Accept, Response> {
    let accept = Accept::read(head);
    if !accept.json && !accept.events {
        let message = "the client must accept application/json and text/event-stream";
        return Err(refuse(StatusCode::NOT_ACCEPTABLE, message));
    }
    if !declares_json(head) {
        let message = "Content-Type must be application/json";
        return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    Ok(accept)
}

/// An answer that says things before it is done.
fn stream(
    call: Call,
    first: Outgoing,
    answered: Option<Answered>,
    account: impl FnOnce() -> Account,
) -> Response {
    // Without room for one more call that outlives its connection there is nothing to come back to.
    let (Some(session), Ok(leave)) = (call.session().cloned(), call.detach()) else {
        return events(body::call(call.into_stream(first, answered), account()));
    };
    let log = session.open_log();
    if session.session.revision().primes_streams() {
        log.prime();
    }
    let reader = log.read_on();
    call.into_log(first, answered, log, leave);
    events(body::log(reader, session))
}

/// An answer that says nothing else.
fn answer(answered: Answered, streams: bool) -> Response {
    let code = StatusCode::from_u16(answered.reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let payload = answered.reply.payload;
    let mut response = if payload == Payload::Nothing {
        Response::empty(code)
    } else if streams && code == StatusCode::OK {
        events(body::payload(single_event(payload)))
    } else {
        Response::new(code, JSON, body::payload(payload))
    };
    response.held = answered.held.map(|held| held as Box<dyn std::any::Any + Send>);
    match (answered.opened, answered.shed) {
        (Some(id), _) => response.with(header::SESSION_ID, id.as_str()),
        (None, Some(shed)) => shed.dress(response),
        (None, None) if matches!(code, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) => {
            response.with("retry-after", &RETRY_AFTER_S.to_string())
        }
        (None, None) => response,
    }
}

/// A message as a stream with this event alone. A large one is not copied, unless line breaks make it several lines.
fn single_event(payload: Payload) -> Payload {
    let mut pieces = vec![Bytes::from_static(b"data: ")];
    if payload.len() > UNCOUNTED_BYTES_MAX {
        payload.clone().pieces(|piece| pieces.push(piece));
        pieces.push(Bytes::from_static(b"\n\n"));
        let is_one_line = |(at, piece): (usize, &Bytes)| at + 1 == pieces.len() || !piece.contains(&b'\n');
        if pieces.iter().enumerate().all(is_one_line) {
            return Payload::Joined(pieces.into());
        }
    }
    let mut out = Vec::with_capacity(payload.len() + 16);
    sse::encode(&mut out, None, &payload.into_bytes());
    Payload::Whole(out.into())
}

fn shown(page: Page) -> Response {
    let code = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Response::new(code, page.media_type, ReplyBody::Whole(page.body.into())).with("cache-control", "no-store")
}

fn events(body: ReplyBody) -> Response {
    Response::new(StatusCode::OK, EVENT_STREAM, body)
        .with("cache-control", "no-cache, no-transform")
        .with("x-accel-buffering", "no")
}

/// The credential was revoked while the request was under way.
fn revoked() -> Response {
    refuse(StatusCode::UNAUTHORIZED, "the credential was revoked")
        .with("www-authenticate", &Challenge::bearer().www_authenticate)
}

fn not_allowed() -> Response {
    refuse(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here")
        .with("allow", "POST, GET, DELETE")
}

/// A refusal before any message was read: a JSON-RPC error without an id.
fn refuse(code: StatusCode, message: &str) -> Response {
    let error = RpcError::new(Code::InvalidRequest, message.to_owned());
    Response::json(code, write::error(None, &error))
}
