//! Entry points of private parsers, for fuzz targets.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncBufRead;

use crate::error::{Cause, UpstreamError};
use crate::link::{Link, Seat};
use crate::request::Asker;

pub use crate::http::probe::{Answered, answers};
pub use crate::oauth::probe::{Challenged, challenge, issuer, resource, tokens};

/// Messages that reached one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub id: u64,
    /// Raw texts, in order of arrival.
    pub events: Vec<String>,
    pub answer: Option<String>,
}

/// Effects of a stdio server's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    pub calls: Vec<Call>,
    /// Lines that are sent back to the server.
    pub sent: Vec<Vec<u8>>,
    pub lists_changed: bool,
    pub resources: Vec<String>,
    /// Reason why reading ended.
    pub cause: Cause,
}

/// Reads everything that a server writes while `calls` are in flight: their ids, and who can be asked.
pub async fn spoken(
    input: impl AsyncBufRead + Unpin,
    calls: &[(u64, Option<u64>)],
) -> Result<Spoken, UpstreamError> {
    let link = Arc::new(Link::default());
    let mut seats = Vec::new();
    for (id, asker) in calls {
        seats.push(link.sit(*id, asker.map(Asker::Call))?);
    }
    let sent = Mutex::new(Vec::new());
    let send = |line| sent.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    let cause = crate::stdio::read("probed".into(), input, link.clone(), send).await;
    link.close(cause.clone());
    let mut received = Vec::new();
    for seat in &mut seats {
        received.push(drained(seat).await);
    }
    let lists_changed = link.news.take_lists();
    let resources = link.news.take_resources();
    let sent = sent.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Spoken { calls: received, sent, lists_changed, resources, cause })
}

async fn drained(seat: &mut Seat) -> Call {
    let mut call = Call { id: seat.id, events: Vec::new(), answer: None };
    while let Ok(message) = seat.next().await {
        let text = message.root().raw().to_owned();
        match message.is_response() {
            true => call.answer = Some(text),
            false => call.events.push(text),
        }
    }
    call
}

/// Resolves the address for messages that an HTTP+SSE server at `base` names; `None` if it is refused.
#[must_use]
pub fn sse_endpoint(base: &str, named: &str) -> Option<String> {
    crate::sse::resolve(base, named).ok()
}
