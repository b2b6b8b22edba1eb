//! Routing and admission of a request by its head: path, Host and Origin, principal, accepted media types.

use std::net::IpAddr;
use std::sync::Arc;

use http::{Method, StatusCode};
use toolcrib_engine::{Approach, Principal, Selection, Share};
use toolcrib_http1::{RequestHead, Response};

use crate::accept::{Accept, Asks, declares_json};
use crate::address::{self, BadChoice};
use crate::cors::{self, Origin};
use crate::http::Endpoint;
use crate::rebinding::Rebinding;
use crate::responses::{not_allowed, refuse};
use crate::rest;
use crate::sessions::HttpSession;
use crate::shed::Shed;
use crate::side::Page;
use crate::sse_transport;

/// Destination of a request.
#[derive(Debug)]
pub(crate) enum Target {
    Post {
        principal: Principal,
        asks: Asks,
    },
    Get(Principal),
    Delete(Principal),
    /// Opens a stream of the HTTP+SSE transport.
    SseStream {
        principal: Principal,
        approach: Option<Arc<Approach>>,
    },
    /// A message of a client with an open HTTP+SSE stream.
    SseMessage {
        principal: Principal,
        session: Arc<HttpSession>,
        approach: Option<Arc<Approach>>,
    },
    /// A request to the REST API.
    Rest,
    Page(Page),
}

/// Routes of the endpoint.
enum Route {
    Mcp(Selection),
    SseStream(Selection),
    SseMessages,
    Rest,
    Page(Page),
}

impl Target {
    /// Returns the principal whose quotas the request counts for.
    pub(crate) fn principal(&self) -> &Principal {
        match self {
            Self::Post { principal, .. }
            | Self::Get(principal)
            | Self::Delete(principal)
            | Self::SseStream { principal, .. }
            | Self::SseMessage { principal, .. } => principal,
            Self::Rest | Self::Page(_) => &Principal::Anonymous,
        }
    }
}

impl Endpoint {
    /// Judges a POST whose head equals an earlier one on its connection.
    pub(crate) fn judge_again(
        &self,
        head: &RequestHead,
        from: Option<IpAddr>,
        asks: &Asks,
    ) -> Result<Target, Response> {
        let principal = self.principal(head)?;
        self.check_room(&principal, from)?;
        self.check_choice(&principal, asks.approach.as_deref())?;
        Ok(Target::Post { principal, asks: asks.clone() })
    }

    /// Judges a request by its head. `origin` may read the answer.
    pub(crate) fn judge(
        &self,
        head: &RequestHead,
        from: Option<IpAddr>,
        origin: Option<&Origin>,
    ) -> Result<Target, Response> {
        let is_preflight = origin.is_some() && cors::is_preflight(head);
        let Some(route) = self.route(head, is_preflight) else {
            return Err(refuse(StatusCode::NOT_FOUND, "there is nothing at this path"));
        };
        if let Err(rebinding) = self.options().expected.check(head) {
            let status = match rebinding {
                Rebinding::NoHost => StatusCode::BAD_REQUEST,
                Rebinding::WrongHost | Rebinding::WrongOrigin => StatusCode::FORBIDDEN,
            };
            return Err(refuse(status, &rebinding.to_string()));
        }
        if is_preflight {
            return Err(cors::preflight(head));
        }
        match route {
            Route::Rest => Ok(Target::Rest),
            Route::Page(page) => Ok(Target::Page(page)),
            Route::Mcp(selection) => self.judge_mcp(head, from, selection, origin),
            Route::SseStream(selection) => self.judge_sse_stream(head, from, selection),
            Route::SseMessages => self.judge_sse_message(head, from),
        }
    }

    /// Returns the route of a request's path.
    fn route(&self, head: &RequestHead, is_preflight: bool) -> Option<Route> {
        let (path, query) = (head.path_bytes(), head.query());
        if let Some(selection) = address::selection(&self.options().path, path, query) {
            return Some(Route::Mcp(selection));
        }
        if self.engine().safety().is_some() && head.path().starts_with(rest::PREFIX) {
            return Some(Route::Rest);
        }
        if let Some(paths) = self.sse_paths() {
            if path == paths.messages.as_bytes() {
                return Some(Route::SseMessages);
            }
            if let Some(selection) = address::selection(&paths.stream, path, query) {
                return Some(Route::SseStream(selection));
            }
        }
        let side = self.options().side.as_ref().filter(|_| is_preflight || head.method() == Method::GET);
        side.and_then(|side| side.page(head.path())).map(Route::Page)
    }

    fn judge_mcp(
        &self,
        head: &RequestHead,
        from: Option<IpAddr>,
        selection: Selection,
        origin: Option<&Origin>,
    ) -> Result<Target, Response> {
        let principal = self.principal(head)?;
        match *head.method() {
            Method::POST => {
                self.check_room(&principal, from)?;
                let approach = self.approach(&principal, selection, head)?;
                let asks = Asks { accept: postable(head)?, approach, origin: origin.cloned() };
                head.note(asks.clone());
                Ok(Target::Post { principal, asks })
            }
            Method::GET => Ok(Target::Get(principal)),
            Method::DELETE => Ok(Target::Delete(principal)),
            _ => Err(not_allowed("POST, GET, DELETE")),
        }
    }

    fn judge_sse_stream(
        &self,
        head: &RequestHead,
        from: Option<IpAddr>,
        selection: Selection,
    ) -> Result<Target, Response> {
        let principal = self.principal(head)?;
        if head.method() != Method::GET {
            // This status tells a client that tries Streamable HTTP first to fall back to the older transport.
            return Err(not_allowed("GET"));
        }
        self.check_room(&principal, from)?;
        if !Accept::read(head).events {
            return Err(refuse(StatusCode::NOT_ACCEPTABLE, "the client must accept text/event-stream"));
        }
        let approach = self.approach(&principal, selection, head)?;
        Ok(Target::SseStream { principal, approach })
    }

    fn judge_sse_message(&self, head: &RequestHead, from: Option<IpAddr>) -> Result<Target, Response> {
        let principal = self.principal(head)?;
        if head.method() != Method::POST {
            return Err(not_allowed("POST"));
        }
        let Some(id) = sse_transport::session_id(head.query()) else {
            let message =
                "the parameter sessionId is missing: send messages to the address that the stream names";
            return Err(refuse(StatusCode::BAD_REQUEST, message));
        };
        let Some(session) = self.sessions().find_sse(id, &principal) else {
            return Err(sse_transport::unknown_session());
        };
        self.check_room(&principal, from)?;
        if !declares_json(head) {
            return Err(not_json());
        }
        let approach = self.approach(&principal, Selection::default(), head)?;
        Ok(Target::SseMessage { principal, session, approach })
    }

    /// Authenticates the sender; done for every request.
    fn principal(&self, head: &RequestHead) -> Result<Principal, Response> {
        self.options().authenticator.principal(head).map_err(|challenge| {
            // RFC 6750: an authenticated principal without the scope is forbidden, not unauthorized.
            let lacks_scope = challenge.www_authenticate.contains("error=\"insufficient_scope\"");
            let status = if lacks_scope { StatusCode::FORBIDDEN } else { StatusCode::UNAUTHORIZED };
            refuse(status, "authentication is required").with("www-authenticate", &challenge.www_authenticate)
        })
    }

    /// Refuses a caller that leaves too many bytes of its answers unread.
    fn check_room(&self, principal: &Principal, from: Option<IpAddr>) -> Result<(), Response> {
        let room = self.unread().answers.check(|| Share::of(principal, None, from));
        room.map_err(|full| Shed::from(full).response(self.engine().meter()))
    }

    /// Refuses toolsets that do not exist or that this caller may not choose.
    fn check_choice(&self, principal: &Principal, approach: Option<&Approach>) -> Result<(), Response> {
        let Some(Approach { selection, .. }) = approach else { return Ok(()) };
        self.engine().check_selection(principal, selection).map_err(|unknown| unfollowed(&unknown.into()))
    }

    /// Combines the choice in the path with that in the headers, and the user agent; `None` if all are empty.
    fn approach(
        &self,
        principal: &Principal,
        mut selection: Selection,
        head: &RequestHead,
    ) -> Result<Option<Arc<Approach>>, Response> {
        address::narrow_by_headers(&mut selection, head).map_err(|bad| unfollowed(&bad))?;
        let user_agent = head.get("user-agent").map(Into::into);
        let says_nothing = user_agent.is_none() && selection == Selection::default();
        let approach = (!says_nothing).then(|| Arc::new(Approach { selection, user_agent }));
        self.check_choice(principal, approach.as_deref())?;
        Ok(approach)
    }
}

fn unfollowed(bad: &BadChoice) -> Response {
    refuse(StatusCode::BAD_REQUEST, &bad.to_string())
}

fn not_json() -> Response {
    refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json")
}

/// Checks media types of a POST before its body is read.
fn postable(head: &RequestHead) -> Result<Accept, Response> {
    let accept = Accept::read(head);
    if !accept.json && !accept.events {
        let message = "the client must accept application/json and text/event-stream";
        return Err(refuse(StatusCode::NOT_ACCEPTABLE, message));
    }
    if declares_json(head) { Ok(accept) } else { Err(not_json()) }
}
