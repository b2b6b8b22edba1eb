//! A negotiated connection to one server.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use toolcrib_contract::json::{Node, OwnedDocument};
use toolcrib_engine::safety::vouch;
use toolcrib_protocol::{Era, Level, Revision, write};

use crate::era;
use crate::error::{Cause, UpstreamError};
use crate::http::HttpLink;
use crate::link::{Link, News};
use crate::message::Message;
use crate::pending::{Pending, StdioPending};
use crate::request::Request;
use crate::spec::{Spec, Transport};
use crate::sse::{SseLink, SsePending};
use crate::stdio::StdioLink;

/// `clientInfo` of this gateway towards servers, raw JSON.
pub(crate) const CLIENT_INFO: &str =
    concat!(r#"{"name":"toolcrib","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// Transport of a connection.
#[derive(Clone)]
pub(crate) enum Wire {
    Stdio(Arc<StdioLink>),
    Http(Arc<HttpLink>),
    /// HTTP+SSE, the transport of 2024-11-05.
    Sse(Arc<SseLink>),
}

/// Result of the handshake with a server.
#[derive(Debug, Clone)]
pub struct Introduction {
    pub revision: Revision,
    /// Response to `initialize` or `server/discover`.
    pub(crate) message: OwnedDocument,
}

impl Introduction {
    fn result(&self) -> Option<Node<'_>> {
        self.message.root().get("result")
    }

    /// `serverInfo`, raw JSON.
    #[must_use]
    pub fn server_info(&self) -> Option<&str> {
        let result = self.result()?;
        let own = result.get("serverInfo");
        let meta = || result.get("_meta")?.get(toolcrib_protocol::meta::SERVER_INFO);
        own.or_else(meta).map(Node::raw)
    }

    #[must_use]
    pub fn instructions(&self) -> Option<String> {
        Some(self.result()?.get("instructions")?.as_str()?.into_owned())
    }

    /// Returns the public key of the server's own gate, if it is a Toolcrib server that has one.
    pub(crate) fn gate_key(&self) -> Option<String> {
        let capabilities = self.result()?.get("capabilities")?;
        let key = capabilities.get("experimental")?.get(vouch::CAPABILITY)?.get("key")?.as_str()?;
        let is_key = key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_key.then(|| key.into_owned())
    }

    /// Returns `true` if the server declared a capability, such as `tools` or `resources`.
    #[must_use]
    pub fn offers(&self, capability: &str) -> bool {
        let declared = self.result().and_then(|result| result.get("capabilities"));
        declared.is_some_and(|all| all.get(capability).is_some_and(Node::is_object))
    }
}

/// A connection after its handshake.
pub struct Connection {
    pub(crate) wire: Wire,
    introduction: Introduction,
    /// Lowest log level that a legacy server was told.
    log_level: AtomicU8,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("revision", &self.introduction.revision).finish_non_exhaustive()
    }
}

const NO_LEVEL: u8 = u8::MAX;

impl Connection {
    /// Starts or connects to the server and negotiates a revision.
    pub async fn open(spec: &Spec) -> Result<Self, UpstreamError> {
        let ms_max = spec.start_ms_max;
        let opening = Self::negotiate(spec);
        match tokio::time::timeout(Duration::from_millis(ms_max), opening).await {
            Ok(opened) => opened,
            Err(_) => Err(UpstreamError::sent(Cause::TooSlow { ms_max })),
        }
    }

    async fn negotiate(spec: &Spec) -> Result<Self, UpstreamError> {
        let (wire, introduction) = match &spec.transport {
            Transport::Stdio(command) => era::over_stdio(&spec.name, command, spec.revision).await?,
            Transport::Http(endpoint) => {
                let http =
                    Arc::new(HttpLink::for_server(&spec.name, endpoint).map_err(UpstreamError::unsent)?);
                era::over_http(&spec.name, endpoint, &http, spec.revision).await?
            }
        };
        let connection = Self { wire, introduction, log_level: AtomicU8::new(NO_LEVEL) };
        if connection.revision().era() == Era::Legacy {
            connection.tell(write::notification("notifications/initialized", None)).await?;
        }
        Ok(connection)
    }

    #[must_use]
    pub fn introduction(&self) -> &Introduction {
        &self.introduction
    }

    #[must_use]
    pub fn revision(&self) -> Revision {
        self.introduction.revision
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        match &self.wire {
            Wire::Stdio(stdio) => &stdio.link,
            Wire::Http(http) => &http.link,
            Wire::Sse(sse) => &sse.link,
        }
    }

    pub(crate) fn news(&self) -> &News {
        &self.link().news
    }

    /// Sends a request; the returned value receives the answer.
    pub(crate) async fn send(&self, request: &Request<'_>) -> Result<Pending, UpstreamError> {
        if let (Era::Legacy, Some(level)) = (self.revision().era(), request.log_level)
            && self.log_level.fetch_min(level as u8, Ordering::Relaxed) > level as u8
        {
            Box::pin(self.set_level(level)).await;
        }
        send(&self.wire, request, self.revision()).await
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn ask(&self, request: &Request<'_>, ms_max: u64) -> Result<Message, UpstreamError> {
        let asking = async { send(&self.wire, request, self.revision()).await?.answer().await };
        match tokio::time::timeout(Duration::from_millis(ms_max), asking).await {
            Ok(answer) => answer,
            Err(_) => Err(UpstreamError::sent(Cause::TooSlow { ms_max })),
        }
    }

    pub(crate) async fn tell(&self, text: Vec<u8>) -> Result<(), UpstreamError> {
        match &self.wire {
            Wire::Stdio(stdio) => stdio.send(text).await.map(drop),
            Wire::Http(http) => http.tell(&text).await,
            Wire::Sse(sse) => sse.send(&text).await,
        }
    }

    /// Sets the log level. A legacy server has one level per connection: the most verbose one that any caller wanted.
    async fn set_level(&self, level: Level) {
        if !self.introduction.offers("logging") {
            return;
        }
        let request = Request::new("logging/setLevel").string("level", level.as_str());
        if let Err(error) = self.ask(&request, 5_000).await {
            tracing::debug!(target: "toolcrib", "logging/setLevel: {error}");
        }
    }

    /// Closes the connection, also for calls in flight; returns when a process that was started for it has ended.
    pub async fn close(&self) {
        match &self.wire {
            Wire::Http(http) => {
                let _ = tokio::time::timeout(Duration::from_secs(2), http.end_session()).await;
            }
            Wire::Stdio(stdio) => stdio.shut().await,
            Wire::Sse(sse) => sse.shut(),
        }
        self.link().close(Cause::Closed);
    }
}

pub(crate) async fn send(
    wire: &Wire,
    request: &Request<'_>,
    revision: Revision,
) -> Result<Pending, UpstreamError> {
    match wire {
        Wire::Stdio(stdio) => {
            let id = stdio.link.next_id();
            let seat = stdio.sit(id, request.asker)?;
            let line = stdio.send(request.write(id, revision)).await?;
            let cancels = request.method != "initialize";
            let pending = StdioPending { stdio: stdio.clone(), seat, line, done: false, cancels };
            Ok(Pending::Stdio(Box::new(pending)))
        }
        Wire::Http(http) => {
            let id = http.link.next_id();
            let text = request.write(id, revision);
            Ok(Pending::Http(http.call(request, id, &text, revision).await?))
        }
        Wire::Sse(sse) => {
            let id = sse.link.next_id();
            let seat = sse.link.sit(id, request.asker)?;
            let cancels = request.method != "initialize";
            let pending = Box::new(SsePending { sse: sse.clone(), seat, done: false, cancels });
            let text = request.write(id, revision);
            // Boxed because few servers use this transport, and every call would reserve space for the future.
            Box::pin(sse.send(&text)).await?;
            Ok(Pending::Sse(pending))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;
    use crate::limits::{UPSTREAM_DISCOVER_MS_MAX, UPSTREAM_START_MS_MAX};

    /// R5.6: a server that never answers the handshake.
    #[tokio::test(start_paused = true)]
    async fn a_server_has_upstream_start_ms_max_to_start_by_default() {
        let spec = Spec::url("silent", &fake::serve(|_| None).await);
        let begun = tokio::time::Instant::now();
        let error = Connection::open(&spec).await.unwrap_err();
        assert_eq!(*error.cause, Cause::TooSlow { ms_max: UPSTREAM_START_MS_MAX });
        assert_eq!(begun.elapsed(), Duration::from_millis(UPSTREAM_START_MS_MAX));
    }

    /// R5.1: a server that refuses POST and does not open a stream of the 2024 transport either.
    #[tokio::test(start_paused = true)]
    async fn another_transport_is_tried_for_upstream_discover_ms_max() {
        let refused = "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n";
        let url = fake::serve(|asked| (asked.verb == "POST").then(|| refused.to_owned())).await;
        let begun = tokio::time::Instant::now();
        let error = Connection::open(&Spec::url("odd", &url)).await.unwrap_err();
        assert_eq!(*error.cause, Cause::Status { status: 405 });
        assert_eq!(begun.elapsed(), Duration::from_millis(UPSTREAM_DISCOVER_MS_MAX));
    }
}
