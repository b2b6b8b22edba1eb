//! GET and DELETE of a legacy session: its stream of unsolicited messages, resumption of a lost stream, its end.

use std::sync::Arc;

use http::StatusCode;
use toolcrib_engine::{Exchange, Outgoing, Principal, SessionId};
use toolcrib_http1::{RequestHead, Response};
use toolcrib_protocol::{Revision, header};

use crate::accept::Accept;
use crate::body;
use crate::http::Endpoint;
use crate::responses::{events, not_allowed, refuse};
use crate::sessions::HttpSession;
use crate::stream_log::{StreamLog, parse_event_id};

impl Endpoint {
    /// Opens a legacy session's stream of unsolicited messages, or resumes a lost stream.
    pub(crate) fn get(&self, head: &RequestHead, principal: &Principal) -> Response {
        let Some(session) = (match self.session_of(head, principal) {
            Ok(session) => session,
            Err(answer) => return *answer,
        }) else {
            return not_allowed("POST, GET, DELETE");
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

    /// Starts the task that writes a session's unsolicited messages into its log.
    fn fill_news(&self, session: &Arc<HttpSession>, log: Arc<StreamLog>) {
        if session.session.revision().primes_streams() {
            log.prime();
        }
        let (engine, inner) = (self.engine().clone(), session.session.clone());
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

    pub(crate) fn delete(&self, head: &RequestHead, principal: &Principal) -> Response {
        match self.session_of(head, principal) {
            Err(answer) => *answer,
            Ok(None) => not_allowed("POST, GET, DELETE"),
            Ok(Some(session)) => {
                let id = session.session.id().map(SessionId::as_str).unwrap_or_default();
                self.sessions().close(id, principal);
                Response::empty(StatusCode::NO_CONTENT)
            }
        }
    }

    /// Returns the session that a GET or DELETE names; `None` if the method does not apply to the request.
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
        match self.sessions().find(id, principal) {
            Some(session) => Ok(Some(session)),
            None => Err(Box::new(refuse(StatusCode::NOT_FOUND, "session not found"))),
        }
    }
}
