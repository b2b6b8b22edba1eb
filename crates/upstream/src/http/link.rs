//! HTTP client of one server: its address, its session, its streams.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use toolcrib_http1::ResponseHead;
use toolcrib_http1::client::ReadError;
use toolcrib_protocol::{Era, Revision, sse};

use super::body::Body;
use super::conn::Conn;
use super::connector::Connector;
use super::http2;
use super::media::Media;
use super::outgoing::{Outgoing, POSTED};
use super::pending::{HttpPending, resumable};
use super::pool::{Made, Pool};
use crate::brake::Brake;
use crate::error::{Cause, UpstreamError};
use crate::limits::{UPSTREAM_ASIDE_MS_MAX, UPSTREAM_MESSAGE_BYTES_MAX, UPSTREAM_REDIRECTS_MAX};
use crate::link::{Delivery, Link};
use crate::message::Message;
use crate::oauth::{Bearer, more_rights};
use crate::request::Request;
use crate::spec::Endpoint;

/// `User-Agent` field: proxies such as Cloudflare refuse requests without it.
const USER_AGENT: &str = concat!("User-Agent: toolcrib/", env!("CARGO_PKG_VERSION"), "\r\n");

/// Pause before the stream of unsolicited messages is reopened.
const REOPEN: Duration = Duration::from_secs(1);

/// HTTP client of one server; shared by all of its calls.
pub(crate) struct HttpLink {
    pub(crate) link: Arc<Link>,
    pub(super) pool: Arc<Pool>,
    /// Replaced after a permanent redirect (308).
    place: ArcSwap<Place>,
    /// Header fields set by the operator, each with its line end.
    headers: Box<str>,
    /// Source of the bearer token, if tokens are used.
    bearer: Option<Arc<Bearer>>,
    session: Mutex<Option<Arc<str>>>,
    revision: OnceLock<Revision>,
}

/// Place at the server that requests go to.
struct Place {
    path: Box<str>,
    /// Rest of the request line and the fields that are common to all requests.
    target: String,
}

/// Head and body of a response.
pub(crate) struct Answer {
    pub(crate) head: ResponseHead,
    pub(crate) media: Media,
    pub(crate) body: Body,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.head.status()
    }

    /// Returns the id of the session that the server opened, if it can be sent back.
    pub(super) fn session(&self) -> Option<&str> {
        let is_visible = |id: &&str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic());
        self.head.get("mcp-session-id").filter(is_visible)
    }

    /// Returns `true` for an HTML page without a challenge, which firewalls and bot filters send.
    fn is_page(&self) -> bool {
        let is_html = |kind: &str| kind.trim_start().to_ascii_lowercase().starts_with("text/html");
        self.challenge().is_none() && self.head.get("content-type").is_some_and(is_html)
    }

    /// Returns `WWW-Authenticate` of a 401 or 403.
    pub(crate) fn challenge(&self) -> Option<&str> {
        self.head.get("www-authenticate").filter(|_| matches!(self.status(), 401 | 403))
    }
}

impl HttpLink {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Self, Cause> {
        Self::at(endpoint, None)
    }

    /// Creates a client that connects only to `addresses`, if given; they were resolved and checked before.
    pub(crate) fn at(endpoint: &Endpoint, addresses: Option<Vec<SocketAddr>>) -> Result<Self, Cause> {
        let connector = Connector::new(endpoint, addresses)?;
        let mut headers = String::new();
        if !endpoint.headers.keys().any(|name| name.eq_ignore_ascii_case("user-agent")) {
            headers.push_str(USER_AGENT);
        }
        for (name, value) in &endpoint.headers {
            let legal = http::HeaderName::from_bytes(name.as_bytes()).is_ok()
                && http::HeaderValue::from_str(value).is_ok();
            if !legal {
                return Err(Cause::Url("one of its headers cannot be sent"));
            }
            headers.push_str(&format!("{name}: {value}\r\n"));
        }
        let path = connector.target.path.clone();
        let place = Place { target: connector.request_target(&path) + &headers, path };
        Ok(Self {
            link: Arc::default(),
            pool: Pool::new(connector, endpoint.http2),
            place: ArcSwap::from_pointee(place),
            headers: headers.into(),
            bearer: None,
            session: Mutex::default(),
            revision: OnceLock::new(),
        })
    }

    /// Creates a client that uses the OAuth tokens of the server called `name`.
    pub(crate) fn for_server(name: &str, endpoint: &Endpoint) -> Result<Self, Cause> {
        Ok(Self { bearer: Bearer::of(name, endpoint), ..Self::new(endpoint)? })
    }

    /// Stores the negotiated revision.
    pub(crate) fn agree(&self, revision: Revision) {
        let _ = self.revision.set(revision);
    }

    pub(crate) fn session(&self) -> Option<Arc<str>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_session(&self, id: &str) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(id.into());
    }

    /// Posts a request in `revision` and returns the pending response.
    #[expect(clippy::manual_async_fn, reason = "the future of an `async fn` would hold two of everything")]
    pub(crate) fn call(
        self: &Arc<Self>,
        request: &Request<'_>,
        id: u64,
        text: &[u8],
        revision: Revision,
    ) -> impl Future<Output = Result<Box<HttpPending>, UpstreamError>> {
        async move {
            let seat = match revision.era() {
                // A legacy server may send questions and progress on its other stream.
                Era::Legacy => Some(self.link.sit(id, request.asker)?),
                Era::Modern => None,
            };
            let answer = self.post(text, Some(request), Some(revision)).await?;
            if request.method == "initialize"
                && let Some(session) = answer.session()
            {
                self.set_session(session);
            }
            match answer.media {
                Media::Other if answer.head.is_success() => {
                    Err(UpstreamError::sent(Cause::Garbage("its answer is neither JSON nor a stream")))
                }
                media if answer.head.is_success() => {
                    let pending =
                        HttpPending::new(self.clone(), id, answer.body, media, seat, revision.era());
                    Ok(Box::new(pending))
                }
                _ => Box::pin(self.refused(id, answer, revision.era())).await,
            }
        }
    }

    /// Interprets an unsuccessful response.
    async fn refused(
        self: &Arc<Self>,
        id: u64,
        mut answer: Answer,
        era: Era,
    ) -> Result<Box<HttpPending>, UpstreamError> {
        let status = answer.status();
        if status == 403 && answer.is_page() {
            return Err(UpstreamError::unsent(Cause::Filtered));
        }
        if matches!(status, 401 | 403) {
            return Err(UpstreamError::unsent(Cause::Unauthorized { status }));
        }
        // The body of a refusal may contain a JSON-RPC error.
        let body = match answer.media {
            Media::Json => answer.body.refusal().await,
            Media::Events | Media::Other => None,
        };
        if status == 404 && era == Era::Legacy && self.session().is_some() {
            // Some servers answer this to a call that they have started.
            return Err(UpstreamError::sent(Cause::SessionGone));
        }
        match body.and_then(|text| Message::read(text).ok()) {
            Some(message) if message.result().is_err() => {
                Ok(Box::new(HttpPending::refused(self.clone(), id, message)))
            }
            _ => Err(UpstreamError::sent(Cause::Status { status })),
        }
    }

    /// Posts a notification or a response.
    pub(crate) async fn tell(&self, text: &[u8]) -> Result<(), UpstreamError> {
        let mut answer = self.post(text, None, self.revision.get().copied()).await?;
        let status = answer.status();
        // A response that is read to its end returns its connection to the pool.
        let _ = answer.body.refusal().await;
        match status {
            200..=299 => Ok(()),
            404 if self.session().is_some() => Err(UpstreamError::sent(Cause::SessionGone)),
            status => Err(UpstreamError::sent(Cause::Status { status })),
        }
    }

    /// Posts a message that no task waits for; gives up after `UPSTREAM_ASIDE_MS_MAX`.
    pub(crate) async fn tell_aside(&self, text: &[u8]) {
        let within = Duration::from_millis(UPSTREAM_ASIDE_MS_MAX);
        let _ = tokio::time::timeout(within, self.tell(text)).await;
    }

    async fn post(
        &self,
        text: &[u8],
        mirrored: Option<&Request<'_>>,
        revision: Option<Revision>,
    ) -> Result<Answer, UpstreamError> {
        let outgoing = Outgoing { method: "POST", revision, fields: POSTED, mirrored, body: text };
        match &self.bearer {
            None => self.exchange(&outgoing).await,
            // Boxed, so that requests without a token have a smaller future.
            Some(bearer) => Box::pin(self.exchange_with(bearer, &outgoing)).await,
        }
    }

    /// Sends a request with a token; repeats it with another token if the first is refused.
    async fn exchange_with(
        &self,
        bearer: &Arc<Bearer>,
        outgoing: &Outgoing<'_>,
    ) -> Result<Answer, UpstreamError> {
        let none = |error| UpstreamError::unsent(Cause::Token(error));
        let token = bearer.ready().await.map_err(none)?;
        let answer = self.exchange(outgoing).await?;
        match (answer.status(), answer.challenge().and_then(more_rights)) {
            // The token was revoked or has expired by the server's clock: one retry with a new one.
            (401, _) => drop(Box::pin(bearer.renew(token.as_ref())).await.map_err(none)?),
            (403, Some(scopes)) => {
                let widened = Box::pin(bearer.widen(token.as_ref(), &scopes)).await;
                drop(widened.map_err(|error| UpstreamError::unsent(Cause::Rights(error)))?);
            }
            _ => return Ok(answer),
        }
        self.exchange(outgoing).await
    }

    /// Sends a whole request and reads the head of the response. Follows redirects that keep method and body (307,
    /// 308) within the server's origin; a server that redirects has not executed the request.
    async fn exchange(&self, outgoing: &Outgoing<'_>) -> Result<Answer, UpstreamError> {
        let place = self.place.load();
        let answer = self.exchange_at(outgoing, &place.target).await?;
        match answer.status() {
            300..=399 => Box::pin(self.follow(outgoing, answer, place.clone())).await,
            _ => Ok(answer),
        }
    }

    /// Sends a request again, to the location in its response, which is relative to the `place` that answered.
    async fn follow(
        &self,
        outgoing: &Outgoing<'_>,
        mut answer: Answer,
        mut place: Arc<Place>,
    ) -> Result<Answer, UpstreamError> {
        let connector = &self.pool.connector;
        for _ in 0..UPSTREAM_REDIRECTS_MAX {
            let status = answer.status();
            let location = answer.head.get("location").unwrap_or_default();
            let path = connector.target.follow(&place.path, location);
            let Some(path) = path.filter(|_| matches!(status, 307 | 308)) else {
                return Err(UpstreamError::unsent(Cause::redirected(status, location)));
            };
            // A response that is read to its end returns its connection to the pool.
            let _ = answer.body.refusal().await;
            drop(answer);
            let target = connector.request_target(&path) + &self.headers;
            place = Arc::new(Place { path, target });
            if status == 308 {
                self.place.store(place.clone());
            }
            answer = self.exchange_at(outgoing, &place.target).await?;
            if !matches!(answer.status(), 300..=399) {
                return Ok(answer);
            }
        }
        let (limit, max) = ("UPSTREAM_REDIRECTS_MAX", UPSTREAM_REDIRECTS_MAX);
        Err(UpstreamError::unsent(Cause::TooMuch { limit, max, what: "redirects" }))
    }

    async fn exchange_at(&self, outgoing: &Outgoing<'_>, target: &str) -> Result<Answer, UpstreamError> {
        let mut was_refused = false;
        loop {
            let kept = self.pool.shared().map(Made::Http2).or_else(|| self.pool.take().map(Made::Http1));
            let was_kept = kept.is_some();
            let made = match kept {
                Some(made) => made,
                None => Box::pin(self.pool.connect()).await.map_err(UpstreamError::unsent)?,
            };
            let mut conn = match made {
                Made::Http1(conn) => conn,
                Made::Http2(shared) => {
                    let answer = Box::pin(self.exchange_shared(shared, outgoing, target)).await;
                    // The server has not processed the request; one more try on a new connection.
                    let is_refused =
                        matches!(&answer, Err(error) if !error.sent && *error.cause == Cause::Closed);
                    if is_refused && !was_refused {
                        was_refused = true;
                        continue;
                    }
                    return answer;
                }
            };
            let sent = conn.send(|out| self.write(out, outgoing, target)).await;
            // The server closed an idle connection before it read the request.
            if sent.is_err() && was_kept {
                continue;
            }
            let failed = |conn: &Conn, error| conn.headless(error, &self.pool.connector.target.address());
            if sent.is_err() {
                // What can be read may tell why.
                let error = conn.head().await.err().unwrap_or(ReadError::Closed);
                return Err(failed(&conn, error));
            }
            let head = match conn.head().await {
                Ok(head) => head,
                Err(error) => return Err(failed(&conn, error)),
            };
            let media = Media::of(&head);
            let body = Body::http1(conn, self.pool.clone(), &head, media).map_err(UpstreamError::sent)?;
            return Ok(Answer { head, media, body });
        }
    }

    /// Sends a request over a shared HTTP/2 connection.
    async fn exchange_shared(
        &self,
        mut shared: http2::Shared,
        outgoing: &Outgoing<'_>,
        target: &str,
    ) -> Result<Answer, UpstreamError> {
        let mut text = Vec::new();
        self.write(&mut text, outgoing, target);
        let (head, incoming) = http2::exchange(&mut shared, &self.pool.connector.target, &text).await?;
        let media = Media::of(&head);
        let body = Body::http2(incoming, self.pool.clone(), &head, media).map_err(UpstreamError::sent)?;
        Ok(Answer { head, media, body })
    }

    fn write(&self, out: &mut Vec<u8>, outgoing: &Outgoing<'_>, target: &str) {
        let token = self.bearer.as_ref().and_then(|bearer| bearer.current());
        let session = if outgoing.is_modern() { None } else { self.session() };
        outgoing.write(out, target, token.as_ref().map(|token| token.text()), session.as_deref());
    }

    /// One exchange that is not MCP.
    pub(crate) async fn plain(
        &self,
        method: &str,
        fields: &str,
        body: &[u8],
    ) -> Result<Answer, UpstreamError> {
        let (revision, mirrored) = (None, None);
        self.exchange(&Outgoing { method, revision, fields, mirrored, body }).await
    }

    /// Resumes a broken stream after the last event that arrived.
    pub(crate) async fn resume(&self, last_event: &str) -> Result<Answer, UpstreamError> {
        let answer = self.get(Some(last_event)).await?;
        match (answer.status(), answer.media) {
            (200, Media::Events) => Ok(answer),
            (404, _) => Err(UpstreamError::sent(Cause::SessionGone)),
            (status, _) => Err(UpstreamError::sent(Cause::Status { status })),
        }
    }

    async fn get(&self, last_event: Option<&str>) -> Result<Answer, UpstreamError> {
        let last = last_event.map(|last| format!("Last-Event-ID: {last}\r\n")).unwrap_or_default();
        let fields = format!("Accept: text/event-stream\r\n{last}");
        self.bare("GET", &fields).await
    }

    /// A request of the session without a body.
    async fn bare(&self, method: &str, fields: &str) -> Result<Answer, UpstreamError> {
        let (revision, mirrored) = (self.revision.get().copied(), None);
        self.exchange(&Outgoing { method, revision, fields, mirrored, body: b"" }).await
    }

    /// Opens a stream of events without a session, which is how the transport of 2024-11-05 starts.
    pub(crate) async fn open_stream(&self) -> Result<Answer, UpstreamError> {
        if let Some(bearer) = &self.bearer {
            bearer.ready().await.map_err(|error| UpstreamError::unsent(Cause::Token(error)))?;
        }
        let answer = self.get(None).await?;
        match (answer.status(), answer.media) {
            (200, Media::Events) => Ok(answer),
            (403, _) if answer.is_page() => Err(UpstreamError::unsent(Cause::Filtered)),
            (status @ (401 | 403), _) => Err(UpstreamError::unsent(Cause::Unauthorized { status })),
            (status, _) => Err(UpstreamError::sent(Cause::Status { status })),
        }
    }

    /// Receives a legacy server's unsolicited messages until the server refuses the stream or the session is gone.
    pub(crate) async fn listen(self: Arc<Self>) {
        let mut last_event: Option<String> = None;
        let mut brake = Brake::default();
        loop {
            let mut answer = match self.get(last_event.as_deref()).await {
                Ok(answer) if answer.status() == 200 && answer.media == Media::Events => answer,
                Ok(answer) if answer.status() == 404 && self.session().is_some() && last_event.is_some() => {
                    self.link.close(Cause::SessionGone);
                    return;
                }
                // Most servers have no such stream (405).
                Ok(_) => return,
                Err(_) => {
                    tokio::time::sleep(REOPEN).await;
                    if self.link.why_closed().is_some() {
                        return;
                    }
                    continue;
                }
            };
            let mut decoder = sse::Decoder::with_limit(UPSTREAM_MESSAGE_BYTES_MAX);
            let mut events = Vec::new();
            while let Ok(true) = answer
                .body
                .piece(|piece| decoder.feed(piece, &mut events).map_err(|_| crate::message::too_large()))
                .await
            {
                for event in events.drain(..) {
                    last_event = resumable(event.id).or(last_event);
                    self.deliver(event.data, &mut brake).await;
                }
            }
            tokio::time::sleep(REOPEN).await;
        }
    }

    async fn deliver(&self, data: String, brake: &mut Brake) {
        if data.is_empty() {
            return;
        }
        let bytes = data.len();
        let Ok(message) = Message::receive(data).await else { return brake.hold(bytes).await };
        let delivery = self.link.deliver(message);
        brake.after(&delivery, bytes).await;
        if let Delivery::Answer(answer) = delivery {
            Box::pin(self.tell_aside(&answer)).await;
        }
    }

    /// Ends a legacy session by DELETE; the response does not matter.
    pub(crate) async fn end_session(&self) {
        if self.session().is_none() {
            return;
        }
        if let Ok(mut answer) = self.bare("DELETE", "").await {
            let _ = answer.body.refusal().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_testkit::listener::{Listener, Outgoing};

    use super::*;
    use crate::http::once;

    /// R14.1: a relative location leads from the path that answered, also after a permanent redirect.
    #[tokio::test]
    async fn a_relative_redirect_starts_at_the_path_that_answered() {
        let server = Listener::start(|incoming| match incoming.target.as_str() {
            "/a/mcp" => Outgoing::empty(308).with("Location", "/b/c/mcp"),
            "/b/c/mcp" => Outgoing::empty(307).with("Location", "?key"),
            "/b/c/mcp?key" => Outgoing::empty(307).with("Location", "end"),
            "/b/c/end" => Outgoing::empty(204),
            _ => Outgoing::empty(404),
        })
        .unwrap();
        let endpoint = Endpoint { url: server.url("/a/mcp"), ..Endpoint::default() };
        let link = HttpLink::new(&endpoint).unwrap();
        for _ in 0..2 {
            assert_eq!(link.plain("POST", "", b"{}").await.map(|answer| answer.status()), Ok(204));
        }
    }

    /// R5.6: `tell_aside` gives up when the server does not accept the message.
    #[tokio::test(start_paused = true)]
    async fn a_message_that_nobody_waits_for_has_upstream_aside_ms_max() {
        let endpoint = Endpoint { url: once::silent().await, ..Endpoint::default() };
        let begun = tokio::time::Instant::now();
        HttpLink::new(&endpoint).unwrap().tell_aside(b"{}").await;
        assert_eq!(begun.elapsed(), Duration::from_millis(UPSTREAM_ASIDE_MS_MAX));
    }
}
