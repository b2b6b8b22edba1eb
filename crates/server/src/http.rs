//! One MCP endpoint over HTTP: POST, GET and DELETE, every refusal with its status.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT, WWW_AUTHENTICATE,
};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Body;
use toolcrib_engine::{Approach, Engine, Exchange, Outbox, Outgoing, Payload, Principal, Selection};
use toolcrib_protocol::{Code, Revision, RpcError, header, write};

use crate::accept::{Accept, EVENT_STREAM, JSON, declares_json};
use crate::address::{self, BadChoice};
use crate::auth::{Authenticator, Open};
use crate::body::ReplyBody;
use crate::call::{Answered, Call, First};
use crate::ingress::Post;
use crate::limits::{BODY_BYTES_MAX, BODY_MS_MAX, HEAD_BYTES_MAX};
use crate::rebinding::{Expected, Rebinding};
use crate::rest;
use crate::sessions::{HttpSession, Sessions};
use crate::side::{Page, Side};
use crate::stream_log::{StreamLog, parse_event_id};

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
        }
    }
}

/// The endpoint.
#[derive(Debug)]
pub struct Endpoint {
    engine: Arc<Engine>,
    options: HttpOptions,
    sessions: Arc<Sessions>,
}

type Answer = Response<ReplyBody>;

impl Endpoint {
    #[must_use]
    pub fn new(engine: Arc<Engine>, options: HttpOptions) -> Arc<Self> {
        Arc::new(Self { engine, options, sessions: Arc::default() })
    }

    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Answers one HTTP request.
    pub(crate) async fn serve<B>(self: Arc<Self>, request: Request<B>) -> Result<Answer, Infallible>
    where
        B: Body<Data = Bytes> + Unpin + Send,
    {
        let (parts, body) = request.into_parts();
        // hyper counts only heads that come in more than one piece.
        if head_bytes(&parts.headers) > HEAD_BYTES_MAX {
            let message = format!("the headers are over {HEAD_BYTES_MAX} bytes");
            return Ok(refuse(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, &message));
        }
        let is_rest = self.engine.safety().is_some() && parts.uri.path().starts_with(rest::PREFIX);
        let address = address::selection(&self.options.path, &parts.uri);
        let page = match &self.options.side {
            Some(side) if address.is_none() && parts.method == Method::GET => side.page(parts.uri.path()),
            _ => None,
        };
        if address.is_none() && page.is_none() && !is_rest {
            return Ok(refuse(StatusCode::NOT_FOUND, "there is nothing at this path"));
        }
        if let Err(rebinding) = self.options.expected.check(&parts.headers) {
            let status = match rebinding {
                Rebinding::NoHost => StatusCode::BAD_REQUEST,
                Rebinding::WrongHost | Rebinding::WrongOrigin => StatusCode::FORBIDDEN,
            };
            return Ok(refuse(status, &rebinding.to_string()));
        }
        if is_rest {
            return Ok(self.rest(&parts, body).await);
        }
        let Some(address) = address else {
            return Ok(page.map_or_else(|| status(StatusCode::NOT_FOUND), shown));
        };
        let principal = match self.options.authenticator.principal(&parts.headers) {
            Ok(principal) => principal,
            Err(challenge) => {
                // RFC 6750: who is known and may not is forbidden, not unknown.
                let lacks_scope = challenge.www_authenticate.contains("error=\"insufficient_scope\"");
                let status = if lacks_scope { StatusCode::FORBIDDEN } else { StatusCode::UNAUTHORIZED };
                let mut answer = refuse(status, "authentication is required");
                if let Ok(value) = HeaderValue::from_str(&challenge.www_authenticate) {
                    answer.headers_mut().insert(WWW_AUTHENTICATE, value);
                }
                return Ok(answer);
            }
        };
        Ok(match parts.method {
            Method::POST => match self.approach(address, &parts.headers, &principal) {
                Ok(approach) => self.post(parts.headers, body, principal, approach).await,
                Err(bad) => refuse(StatusCode::BAD_REQUEST, &bad.to_string()),
            },
            Method::GET => self.get(&parts.headers, &principal),
            Method::DELETE => self.delete(&parts.headers, &principal),
            _ => not_allowed(),
        })
    }

    /// A request that is none of MCP's.
    async fn rest<B>(&self, parts: &http::request::Parts, body: B) -> Answer
    where
        B: Body<Data = Bytes> + Unpin + Send,
    {
        match self.read(body).await {
            Ok(body) => rest::answer(&self.engine, parts, body).await,
            Err(refusal) => rest::unread(refusal.status()),
        }
    }

    /// The whole body, bounded in time and size.
    async fn read<B>(&self, body: B) -> Result<Bytes, Box<Answer>>
    where
        B: Body<Data = Bytes> + Unpin + Send,
    {
        let timeout = Duration::from_millis(self.options.body_ms_max);
        match tokio::time::timeout(timeout, collect(body, self.options.body_bytes_max)).await {
            Ok(Ok(body)) => Ok(body),
            Ok(Err(refusal)) => Err(Box::new(refusal.answer())),
            Err(_) => Err(Box::new(refuse(StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive"))),
        }
    }

    /// The address's choice narrowed by the headers'.
    fn approach(
        &self,
        mut selection: Selection,
        headers: &HeaderMap,
        principal: &Principal,
    ) -> Result<Arc<Approach>, BadChoice> {
        address::narrow_by_headers(&mut selection, headers)?;
        self.engine.check_selection(principal, &selection)?;
        let user_agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).map(Into::into);
        Ok(Arc::new(Approach { selection, user_agent }))
    }

    async fn post<B>(
        &self,
        headers: HeaderMap,
        body: B,
        principal: Principal,
        approach: Arc<Approach>,
    ) -> Answer
    where
        B: Body<Data = Bytes> + Unpin + Send,
    {
        let accept = Accept::read(&headers);
        if !accept.json && !accept.events {
            return refuse(
                StatusCode::NOT_ACCEPTABLE,
                "the client must accept application/json and text/event-stream",
            );
        }
        if !declares_json(&headers) {
            return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json");
        }
        let body = match self.read(body).await {
            Ok(body) => body,
            Err(refusal) => return *refusal,
        };
        let exchange = Exchange::new(Arc::new(Outbox::default()), accept.events);
        let belongs = Arc::new(OnceLock::new());
        let post = Post {
            engine: self.engine.clone(),
            sessions: self.sessions.clone(),
            opens_sessions: self.options.sessions,
            headers,
            body,
            principal,
            approach,
            exchange: exchange.clone(),
            belongs: belongs.clone(),
            body_bytes_max: self.options.body_bytes_max,
        };
        let mut call = Call::new(Box::pin(post.answer()), exchange, belongs);
        match call.first().await {
            First::Says(first) => stream(call, first, None),
            First::Answer(answered) => match call.said() {
                Some(first) => stream(call, first, Some(answered)),
                None => {
                    let streams =
                        !accept.json || (accept.events_first && self.options.streams_when_listed_first);
                    answer(answered, streams)
                }
            },
        }
    }

    /// A legacy session's stream: unsolicited messages, or the rest of one that was lost.
    fn get(&self, headers: &HeaderMap, principal: &Principal) -> Answer {
        let Some(session) = (match self.session_of(headers, principal) {
            Ok(session) => session,
            Err(answer) => return *answer,
        }) else {
            return not_allowed();
        };
        if !Accept::read(headers).events {
            return refuse(StatusCode::NOT_ACCEPTABLE, "the client must accept text/event-stream");
        }
        let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
        if let Some((number, seen)) = last.and_then(parse_event_id)
            && let Some(log) = session.log(number)
        {
            return events(ReplyBody::log(log.read_after(seen), session));
        }
        let (log, is_new) = session.news_log();
        if is_new {
            self.fill_news(&session, log.clone());
        }
        events(ReplyBody::log(log.read_on(), session))
    }

    /// Starts what writes a session's unsolicited messages into its log.
    fn fill_news(&self, session: &Arc<HttpSession>, log: Arc<StreamLog>) {
        if session.session.revision().primes_streams() {
            log.prime();
        }
        let (engine, inner) = (self.engine.clone(), session.session.clone());
        let exchange = Exchange::new(Arc::new(Outbox::default()), true);
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

    fn delete(&self, headers: &HeaderMap, principal: &Principal) -> Answer {
        match self.session_of(headers, principal) {
            Err(answer) => *answer,
            Ok(None) => not_allowed(),
            Ok(Some(session)) => {
                let id = session.session.id().map(toolcrib_engine::SessionId::as_str).unwrap_or_default();
                self.sessions.close(id, principal);
                status(StatusCode::NO_CONTENT)
            }
        }
    }

    /// The session a GET or DELETE names; `None` when it names none and the method means nothing.
    fn session_of(
        &self,
        headers: &HeaderMap,
        principal: &Principal,
    ) -> Result<Option<Arc<HttpSession>>, Box<Answer>> {
        let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or("unreadable"));
        match text(header::PROTOCOL_VERSION) {
            Some(version) if Revision::is_modern_date(version) => return Ok(None),
            Some(version) if Revision::parse(version).is_none() => {
                return Err(Box::new(refuse(
                    StatusCode::BAD_REQUEST,
                    "unsupported MCP-Protocol-Version header",
                )));
            }
            _ => {}
        }
        let Some(id) = text(header::SESSION_ID) else { return Ok(None) };
        match self.sessions.find(id, principal) {
            Some(session) => Ok(Some(session)),
            None => Err(Box::new(refuse(StatusCode::NOT_FOUND, "session not found"))),
        }
    }
}

/// An answer that says things before it is done.
fn stream(call: Call, first: Outgoing, answered: Option<Answered>) -> Answer {
    let Some(session) = call.session().cloned() else {
        return events(ReplyBody::call(call.into_stream(first, answered)));
    };
    let log = session.open_log();
    if session.session.revision().primes_streams() {
        log.prime();
    }
    let reader = log.read_on();
    call.into_log(first, answered, log);
    events(ReplyBody::log(reader, session))
}

/// An answer that says nothing else.
fn answer(answered: Answered, streams: bool) -> Answer {
    let code = StatusCode::from_u16(answered.reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let is_empty = answered.reply.payload == Payload::Nothing;
    // A stream with a single event.
    let mut response = if streams && !is_empty && code == StatusCode::OK {
        let mut out = Vec::new();
        toolcrib_protocol::sse::encode(&mut out, None, &answered.reply.payload.into_bytes());
        events(ReplyBody::whole(out))
    } else {
        let mut response = Response::new(ReplyBody::payload(answered.reply.payload));
        *response.status_mut() = code;
        if !is_empty {
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        }
        response
    };
    if let Some(id) = answered.opened
        && let Ok(value) = HeaderValue::from_str(id.as_str())
    {
        response.headers_mut().insert(HeaderName::from_static(header::SESSION_ID), value);
    }
    response
}

fn shown(page: Page) -> Answer {
    let mut response = Response::new(ReplyBody::whole(page.body));
    *response.status_mut() = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(page.media_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn events(body: ReplyBody) -> Answer {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

fn status(code: StatusCode) -> Answer {
    let mut response = Response::new(ReplyBody::empty());
    *response.status_mut() = code;
    response
}

fn not_allowed() -> Answer {
    let mut response = refuse(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
    response
}

/// A refusal before any message was read: a JSON-RPC error without an id.
fn refuse(code: StatusCode, message: &str) -> Answer {
    let error = RpcError::new(Code::InvalidRequest, message.to_owned());
    let mut response = Response::new(ReplyBody::whole(write::error(None, &error)));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// Bytes of the header lines, as they were sent.
pub(crate) fn head_bytes(headers: &HeaderMap) -> usize {
    const COLON_SPACE_AND_LINE_END: usize = 4;
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + COLON_SPACE_AND_LINE_END).sum()
}

pub(crate) enum Unreadable {
    TooLong(usize),
    Broken,
}

impl Unreadable {
    fn answer(&self) -> Answer {
        match self {
            Self::TooLong(max) => {
                refuse(StatusCode::PAYLOAD_TOO_LARGE, &format!("the body is over {max} bytes"))
            }
            Self::Broken => refuse(StatusCode::BAD_REQUEST, "the body could not be read"),
        }
    }
}

/// The whole body; a body of one frame, which most are, is not copied.
pub(crate) async fn collect<B>(mut body: B, bytes_max: usize) -> Result<Bytes, Unreadable>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(Unreadable::TooLong(bytes_max));
    }
    let mut whole = Bytes::new();
    let mut rest: Option<BytesMut> = None;
    while let Some(frame) = std::future::poll_fn(|cx| std::pin::Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(data) = frame.map_err(|_| ()).and_then(|frame| frame.into_data().map_err(|_| ())) else {
            return Err(Unreadable::Broken);
        };
        let so_far = rest.as_ref().map_or(whole.len(), BytesMut::len);
        if so_far + data.len() > bytes_max {
            return Err(Unreadable::TooLong(bytes_max));
        }
        match &mut rest {
            None if whole.is_empty() => whole = data,
            None => {
                let mut joined = BytesMut::with_capacity(so_far + data.len());
                joined.extend_from_slice(&whole);
                joined.extend_from_slice(&data);
                rest = Some(joined);
            }
            Some(joined) => joined.extend_from_slice(&data),
        }
    }
    Ok(rest.map_or(whole, BytesMut::freeze))
}
