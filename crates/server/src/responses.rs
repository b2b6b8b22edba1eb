//! Responses of the endpoint: answers as one message or as events, and refusals before a message was parsed.

use bytes::Bytes;
use http::StatusCode;
use toolcrib_engine::{Outgoing, Payload};
use toolcrib_http1::limits::UNCOUNTED_BYTES_MAX;
use toolcrib_http1::{ReplyBody, Response};
use toolcrib_protocol::{Code, RpcError, header, sse, write};

use crate::accept::{EVENT_STREAM, JSON};
use crate::auth::Challenge;
use crate::body;
use crate::call::{Answered, Call};
use crate::load::Account;
use crate::shed::RETRY_AFTER_S;
use crate::side::Page;

/// Response for a call that sends messages before its answer.
pub(crate) fn stream(
    call: Call,
    first: Outgoing,
    answered: Option<Answered>,
    account: impl FnOnce() -> Account,
) -> Response {
    // If there is no room for another detached call, the stream cannot be resumed and ends with the connection.
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

/// Response for a call that sends only its answer.
pub(crate) fn answer(answered: Answered, streams: bool) -> Response {
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

/// Wraps a message into one server-sent event. A large one is not copied, unless it contains line breaks.
fn single_event(payload: Payload) -> Payload {
    let mut pieces = vec![Bytes::from_static(b"data: ")];
    if payload.len() > UNCOUNTED_BYTES_MAX {
        payload.clone().pieces(|piece| pieces.push(piece));
        pieces.push(Bytes::from_static(b"\n\n"));
        let is_one_line = |(at, piece): (usize, &Bytes)| {
            at + 1 == pieces.len() || !(piece.contains(&b'\n') || piece.contains(&b'\r'))
        };
        if pieces.iter().enumerate().all(is_one_line) {
            return Payload::Joined(pieces.into());
        }
    }
    let mut out = Vec::with_capacity(payload.len() + 16);
    sse::encode(&mut out, None, &payload.into_bytes());
    Payload::Whole(out.into())
}

pub(crate) fn shown(page: Page) -> Response {
    let code = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Response::new(code, page.media_type, ReplyBody::Whole(page.body.into())).with("cache-control", "no-store")
}

pub(crate) fn events(body: ReplyBody) -> Response {
    Response::new(StatusCode::OK, EVENT_STREAM, body)
        .with("cache-control", "no-cache, no-transform")
        .with("x-accel-buffering", "no")
}

/// Refusal of a request whose credential was revoked while it was in flight.
pub(crate) fn revoked() -> Response {
    refuse(StatusCode::UNAUTHORIZED, "the credential was revoked")
        .with("www-authenticate", &Challenge::bearer().www_authenticate)
}

pub(crate) fn not_allowed(allow: &str) -> Response {
    refuse(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here").with("allow", allow)
}

/// Refusal before any message was parsed: a JSON-RPC error without an id.
pub(crate) fn refuse(code: StatusCode, message: &str) -> Response {
    let error = RpcError::new(Code::InvalidRequest, message.to_owned());
    Response::json(code, write::error(None, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R5.4: a bare CR between tokens, which ends a line of an event stream, cuts no message, short or long.
    #[test]
    fn a_message_with_any_line_breaks_is_one_event() {
        for length in [1, 2 * UNCOUNTED_BYTES_MAX] {
            for line_break in ["", "\n", "\r\n", "\r"] {
                let text = format!("{{{line_break}\"a\":{line_break}\"{}\"}}", "x".repeat(length));
                let event = single_event(Payload::Whole(text.clone().into())).into_bytes();
                let mut events = Vec::new();
                sse::Decoder::default().feed(&event, &mut events).unwrap();
                let [event] = &events[..] else { panic!("{events:?}") };
                let data: serde_json::Value = serde_json::from_str(&event.data).unwrap();
                assert_eq!(data, serde_json::from_str::<serde_json::Value>(&text).unwrap());
            }
        }
    }
}
