//! HTTP+SSE transport of 2024-11-05, for clients that support no other. `GET /sse` opens a stream whose first event
//! names the address for messages. `POST /messages?sessionId=…` takes one message and is answered 202. All messages of
//! the server are sent on the stream.
//!
//! Guarantees: a message is accepted only from the principal that opened its stream, and is processed like one at the
//! endpoint (`ingress.rs`). A message that is malformed, or refused because of load, is answered with status and error
//! in the response to its POST, and never runs.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use http::StatusCode;
use toolcrib_engine::quota::{Held, Quota};
use toolcrib_engine::{Approach, Principal, Session, SessionId, Share};
use toolcrib_http1::{RequestHead, Response};
use toolcrib_protocol::{ClientCapabilities, Revision};

use crate::body;
use crate::http::Endpoint;
use crate::ingress::Post;
use crate::responses::{answer, events, refuse};
use crate::sessions::HttpSession;
use crate::shed::Shed;
use crate::sse_channel::{ChannelReader, SseChannel};

/// Query parameter with the session id.
const SESSION_ID: &str = "sessionId";

/// Paths of the transport.
#[derive(Debug)]
pub(crate) struct SsePaths {
    pub(crate) stream: String,
    pub(crate) messages: String,
}

impl SsePaths {
    /// Returns the paths beside the endpoint: `/sse` and `/messages` beside `/mcp`.
    pub(crate) fn beside(endpoint: &str) -> Self {
        let folder = endpoint.rsplit_once('/').map_or("", |(folder, _)| folder);
        Self { stream: format!("{folder}/sse"), messages: format!("{folder}/messages") }
    }
}

/// Returns the session id in a query.
pub(crate) fn session_id(query: Option<&str>) -> Option<&str> {
    let mut pairs =
        query.into_iter().flat_map(|query| query.split('&')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == SESSION_ID).map(|(_, id)| id)
}

pub(crate) fn unknown_session() -> Response {
    refuse(StatusCode::NOT_FOUND, "session not found: its stream ended or never existed; open a new one")
}

impl Endpoint {
    /// Opens a session with its stream. Until `initialize`, it is a session of 2024-11-05 without client capabilities.
    pub(crate) fn open_sse(
        &self,
        principal: &Principal,
        approach: Option<Arc<Approach>>,
        address: Option<IpAddr>,
    ) -> Response {
        let (Some(paths), Ok(id)) = (self.sse_paths(), SessionId::random()) else {
            return refuse(StatusCode::INTERNAL_SERVER_ERROR, "there is no randomness for a session id");
        };
        let messages = format!("{}?{SESSION_ID}={id}", paths.messages);
        let (revision, none) = (Revision::V2024_11_05, ClientCapabilities::default());
        let session = Session::new(Some(id), principal.clone(), revision, none, None);
        session.come_by(approach.unwrap_or_default());
        session.open_from(address);
        let account = self.unread().account(Share::of(principal, None, address));
        let channel = SseChannel::new(account.clone());
        match self.sessions().open_sse(session, account, channel.clone()) {
            Err(shed) => shed.response(self.engine().meter()),
            Ok(session) => {
                channel.follow(self.engine());
                let reader = ChannelReader::new(&messages, channel, session, self.sessions().clone());
                events(body::channel(reader))
            }
        }
    }
}

/// A message that a client posted.
pub(crate) struct SseMessage {
    pub(crate) head: RequestHead,
    pub(crate) principal: Principal,
    pub(crate) session: Arc<HttpSession>,
    pub(crate) approach: Option<Arc<Approach>>,
    pub(crate) address: Option<IpAddr>,
    /// Quota of a large body.
    pub(crate) body: Option<Box<Held>>,
}

impl SseMessage {
    /// Accepts the message. It is processed in a task of its own and answered on the stream.
    pub(crate) async fn take(self, endpoint: &Arc<Endpoint>) -> Response {
        let Self { head, principal, session, approach, address, body } = self;
        let Some(channel) = session.channel().cloned() else { return unknown_session() };
        let Some(under_way) = channel.enter() else { return unknown_session() };
        let receipt = Arc::new(Receipt {
            channel: channel.clone(),
            is_given: AtomicBool::new(false),
            calls: endpoint.detached().clone(),
            owner: Share::of(&principal, None, address),
            leave: OnceLock::new(),
        });
        let exchange = channel.exchange();
        let mut answered = Post {
            endpoint: endpoint.clone(),
            head,
            principal,
            approach,
            address,
            body,
            exchange,
            session: Some(session),
            receipt: Some(receipt.clone()),
        }
        .answer();
        let first = std::future::poll_fn(|cx| match answered.as_mut().poll(cx) {
            Poll::Ready(answered) => Poll::Ready(Some(answered)),
            Poll::Pending if receipt.is_given() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        })
        .await;
        match first {
            Some(refused) if !receipt.is_given() => return answer(refused, false),
            Some(answered) => channel.say(answered),
            None => {
                tokio::spawn(async move {
                    channel.say(answered.await);
                    drop(under_way);
                });
            }
        }
        Response::empty(StatusCode::ACCEPTED)
    }
}

/// Acceptance of a message that was parsed and may run; from then on its answer is sent on the stream.
#[derive(Debug)]
pub(crate) struct Receipt {
    channel: Arc<SseChannel>,
    is_given: AtomicBool,
    /// Quota of calls that continue without a connection of their own.
    calls: Arc<Quota>,
    owner: Share,
    /// Place of this call in the quota.
    leave: OnceLock<Held>,
}

impl Receipt {
    pub(crate) fn channel(&self) -> &Arc<SseChannel> {
        &self.channel
    }

    /// Accepts a notification, or a response, for which a call may wait.
    pub(crate) fn accept(&self) {
        self.is_given.store(true, Ordering::Release);
    }

    /// Accepts a request, if there is room for another running call and for its answer.
    pub(crate) fn accept_request(&self) -> Result<(), Shed> {
        self.channel.check_room()?;
        let _ = self.leave.set(self.calls.take(&self.owner, 1)?);
        self.accept();
        Ok(())
    }

    fn is_given(&self) -> bool {
        self.is_given.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_stand_beside_the_endpoint() {
        let paths = |endpoint| {
            let paths = SsePaths::beside(endpoint);
            (paths.stream, paths.messages)
        };
        assert_eq!(paths("/mcp"), ("/sse".into(), "/messages".into()));
        assert_eq!(paths("/tools/v1/mcp"), ("/tools/v1/sse".into(), "/tools/v1/messages".into()));
        assert_eq!(paths("/"), ("/sse".into(), "/messages".into()));
    }

    #[test]
    fn a_session_is_named_by_its_parameter_alone() {
        assert_eq!(session_id(Some("a=b&sessionId=7")), Some("7"));
        assert_eq!(session_id(Some("sessionId=")), Some(""));
        for none in [None, Some(""), Some("sessionId"), Some("sessionid=7"), Some("xsessionId=7")] {
            assert_eq!(session_id(none), None, "{none:?}");
        }
    }
}
