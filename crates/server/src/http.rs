//! MCP endpoint over HTTP: POST, GET and DELETE, and the status of every refusal.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use toolcrib_engine::quota::{Held, Quota};
use toolcrib_engine::{Engine, Exchange, Principal, Share};
use toolcrib_http1::limits::HEAD_BYTES_MAX;
use toolcrib_http1::server::{Service, Unreadable};
use toolcrib_http1::{RequestHead, Response};
use toolcrib_protocol::header;

use crate::accept::{Accept, Asks};
use crate::auth::{Authenticator, Open};
use crate::call::First;
use crate::cors::{self, Origin};
use crate::ingress::Post;
use crate::limits::{BODY_BYTES_MAX, BODY_MS_MAX};
use crate::load::{LoadLimits, Unread};
use crate::open_streams::OpenStreams;
use crate::rebinding::Expected;
use crate::responses::{answer, refuse, revoked, shown, stream};
use crate::rest;
use crate::sessions::Sessions;
use crate::shed::Shed;
use crate::side::Side;
use crate::sse_transport::{SseMessage, SsePaths};
use crate::target::Target;

/// Options of an HTTP endpoint.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Path of the endpoint.
    pub path: String,
    pub expected: Expected,
    pub authenticator: Arc<dyn Authenticator>,
    pub body_bytes_max: usize,
    pub body_ms_max: u64,
    /// `true` to open sessions for legacy clients. Without, each of their requests stands alone and HTTP+SSE is not
    /// served.
    pub sessions: bool,
    /// `true` to answer a client that lists `text/event-stream` before JSON with a stream, even if the answer is one
    /// message.
    pub streams_when_listed_first: bool,
    /// Pages besides the endpoint.
    pub side: Option<Arc<dyn Side>>,
    /// Quotas of resources that callers share.
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

/// The MCP endpoint, a [`Service`] of the HTTP server.
#[derive(Debug)]
pub struct Endpoint {
    engine: Arc<Engine>,
    options: HttpOptions,
    sessions: Arc<Sessions>,
    /// Quota of bytes of large request heads.
    heads: Arc<Quota>,
    /// Quota of bytes of request bodies that are received or processed.
    bodies: Arc<Quota>,
    unread: Unread,
    /// Quota of calls that continue without their connection.
    detached: Arc<Quota>,
    streams: OpenStreams,
    /// Paths of HTTP+SSE; `None` if legacy clients get no sessions.
    sse_paths: Option<SsePaths>,
}

/// A request whose head was accepted.
#[derive(Debug)]
pub struct Admitted {
    target: Target,
    /// Origin that may read the answer.
    origin: Option<Origin>,
    /// Network address of the client.
    address: Option<IpAddr>,
    /// Quota of a large body.
    body: Option<Box<Held>>,
    /// Number of revocations before its credential was checked.
    revocations: u64,
}

impl Admitted {
    /// Returns the caller whose quotas this request counts for.
    fn owner(&self) -> Share {
        Share::of(self.target.principal(), None, self.address)
    }
}

impl Service for Endpoint {
    type Admitted = Admitted;
    type HeadRoom = Held;

    fn head_room(&self, _: Option<&RequestHead>, address: Option<IpAddr>) -> Result<Held, Response> {
        let share = Share::of(&Principal::Anonymous, None, address);
        let taken = self.heads.take(&share, HEAD_BYTES_MAX);
        taken.map_err(|full| Shed::from(full).response(self.engine.meter()))
    }

    fn admit(&self, head: &RequestHead, from: Option<IpAddr>) -> Result<Admitted, Response> {
        let revocations = self.revocations();
        let (judged, origin) = match head.noted::<Asks>() {
            Some(asks) => (self.judge_again(head, from, asks), asks.origin.clone()),
            None => {
                let origin = cors::allowed(&self.options.expected, head);
                (self.judge(head, from, origin.as_ref()), origin)
            }
        };
        match judged {
            Ok(target) => Ok(Admitted { target, origin, address: from, body: None, revocations }),
            // A cache must not give this refusal to pages of other origins.
            Err(refusal) if origin.is_none() && head.has("origin") => Err(refusal.with("vary", "Origin")),
            Err(refusal) => Err(cors::share(refusal, origin.as_deref())),
        }
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
            let response = if matches!(admitted.target, Target::Rest) { rest::shed(shed) } else { response };
            cors::share(response, admitted.origin.as_deref())
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
        let response = match admitted.target {
            Target::Rest => rest::unread(status),
            _ => refuse(status, &message),
        };
        cors::share(response, admitted.origin.as_deref())
    }

    async fn answer(self: &Arc<Self>, head: RequestHead, admitted: Admitted) -> Response {
        let Admitted { target, origin, address, body, revocations } = admitted;
        let response = match target {
            Target::Post { principal, asks } => {
                // The body may have taken long; the credential may have been revoked in the meantime.
                if self.is_revoked(&principal, revocations) {
                    return cors::share(revoked(), origin.as_deref());
                }
                let streams = self.streams(asks.accept);
                let caller = principal.clone();
                let account = || self.unread.account(Share::of(&caller, None, address));
                let (approach, exchange) = (asks.approach, Exchange::alone(asks.accept.events));
                let session = head.get(header::SESSION_ID).and_then(|id| self.sessions.find(id, &principal));
                let endpoint = self.clone();
                let post = Post {
                    endpoint,
                    head,
                    principal,
                    approach,
                    address,
                    body,
                    exchange,
                    session,
                    receipt: None,
                };
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
                // Checked last, so that a revocation during the call still prevents the answer from being delivered.
                if self.is_revoked(&caller, revocations) { revoked() } else { response }
            }
            Target::Get(principal) => {
                let response = self.get(&head, &principal);
                if self.is_revoked(&principal, revocations) { revoked() } else { response }
            }
            Target::Delete(principal) => self.delete(&head, &principal),
            Target::SseStream { principal, approach } => {
                let response = self.open_sse(&principal, approach, address);
                if self.is_revoked(&principal, revocations) { revoked() } else { response }
            }
            Target::SseMessage { principal, .. } if self.is_revoked(&principal, revocations) => revoked(),
            Target::SseMessage { principal, session, approach } => {
                let message = SseMessage { head, principal, session, approach, address, body };
                Box::pin(message.take(self)).await
            }
            // Boxed, so that this rare case does not enlarge every request's future.
            Target::Rest => Box::pin(rest::answer(&self.engine, &head)).await,
            Target::Page(page) => shown(page),
        };
        cors::share(response, origin.as_deref())
    }
}

impl Endpoint {
    #[must_use]
    pub fn new(engine: Arc<Engine>, options: HttpOptions) -> Arc<Self> {
        let load = options.load;
        let sessions = Arc::new(Sessions::new(load));
        let (bodies, detached) = (Quota::new(load.bodies), Quota::new(load.detached));
        let (heads, unread, streams) = (Quota::new(load.heads), Unread::new(&load), OpenStreams::default());
        let sse_paths = options.sessions.then(|| SsePaths::beside(&options.path));
        Arc::new(Self { engine, options, sessions, heads, bodies, unread, detached, streams, sse_paths })
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

    /// Returns a number that changes whenever a credential may have been revoked.
    pub(crate) fn revocations(&self) -> u64 {
        self.options.authenticator.revocations()
    }

    /// Ends the sessions and streams of revoked credentials, if anything was revoked since `seen`.
    pub(crate) fn end_revoked(&self, seen: &mut u64) {
        let now = self.revocations();
        if std::mem::replace(seen, now) == now {
            return;
        }
        let authenticator = &self.options.authenticator;
        self.sessions.end_revoked(|principal, since_ms| authenticator.still_holds(principal, since_ms));
        self.streams.end_revoked(|principal, since_ms| authenticator.still_holds(principal, since_ms));
    }

    /// Returns `true` if a principal has lost its access since `revocations` was read.
    fn is_revoked(&self, principal: &Principal, revocations: u64) -> bool {
        self.revocations() != revocations && !self.options.authenticator.still_holds(principal, u64::MAX)
    }

    pub(crate) fn options(&self) -> &HttpOptions {
        &self.options
    }

    pub(crate) fn sse_paths(&self) -> Option<&SsePaths> {
        self.sse_paths.as_ref()
    }

    /// Returns `true` if a single message is sent as a stream.
    fn streams(&self, accept: Accept) -> bool {
        !accept.json || (accept.events_first && self.options.streams_when_listed_first)
    }
}
