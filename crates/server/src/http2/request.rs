//! One HTTP/2 request: assembles and judges its head, reads its body, answers it.

use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{Method, Request, StatusCode};
use hyper::body::{Body as _, Incoming};
use tokio::time::{Instant, timeout_at};
use toolcrib_http1::limits::{BODY_GRACE_MS, BODY_RATE_BYTES_MIN, UNCOUNTED_BYTES_MAX};
use toolcrib_http1::server::{Service, Unreadable};
use toolcrib_http1::{RequestHead, Response};

use super::body::{self, Outgoing};

/// Answers a request like the HTTP/1 server does.
pub(super) async fn answer<V: Service>(
    service: &Arc<V>,
    peer: Option<IpAddr>,
    request: Request<Incoming>,
) -> http::Response<Outgoing> {
    let (parts, incoming) = request.into_parts();
    let is_head = parts.method == Method::HEAD;
    let mut room: Option<Box<dyn Any + Send>> = None;
    let answered = async {
        let head = assemble(&parts).map_err(Response::empty)?;
        if head_bytes(&parts) > UNCOUNTED_BYTES_MAX {
            room = Some(Box::new(service.head_room(Some(&head), peer)?));
        }
        drop(parts);
        respond(service, peer, head, incoming).await
    };
    let response = answered.await.unwrap_or_else(|refused| refused);
    body::response(response, is_head, room)
}

/// Assembles the head as HTTP/1; `:authority` becomes `Host` (RFC 9113 section 8.3.1).
fn assemble(parts: &Parts) -> Result<RequestHead, StatusCode> {
    let authority = parts.uri.authority().map(http::uri::Authority::as_str);
    let hosts = || parts.headers.get_all("host").iter();
    if let Some(authority) = authority
        && hosts().any(|host| !host.as_bytes().eq_ignore_ascii_case(authority.as_bytes()))
    {
        return Err(StatusCode::BAD_REQUEST);
    }
    if parts.method == Method::CONNECT {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    let target = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let host = authority.map(|authority| ("host", authority.as_bytes()));
    let others = parts.headers.iter().filter(|(name, _)| authority.is_none() || *name != "host");
    let others = others.map(|(name, value)| (name.as_str(), value.as_bytes()));
    RequestHead::assemble(&parts.method, target, host.into_iter().chain(others))
}

/// Returns the bytes that the head would have in HTTP/1.
fn head_bytes(parts: &Parts) -> usize {
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let fields = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    target + fields.sum::<usize>()
}

async fn respond<V: Service>(
    service: &Arc<V>,
    peer: Option<IpAddr>,
    mut head: RequestHead,
    incoming: Incoming,
) -> Result<Response, Response> {
    head.framing().map_err(|ambiguous| Response::empty(ambiguous.status()))?;
    let (bytes_max, within) = service.body_limits();
    let length = incoming.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    let mut admitted = service.admit(&head, peer)?;
    if let Some(length) = length.filter(|length| *length > UNCOUNTED_BYTES_MAX && *length <= bytes_max) {
        service.reserve(&mut admitted, length)?;
    }
    if head.get_or_unreadable("expect").is_some_and(|expected| !expected.eq_ignore_ascii_case("100-continue"))
    {
        return Err(Response::empty(StatusCode::EXPECTATION_FAILED));
    }
    let reserve = |bytes| service.reserve(&mut admitted, bytes);
    match receive(&mut head, incoming, length, bytes_max, within, reserve).await {
        Ok(()) => Ok(service.answer(head, admitted).await),
        Err(Unread::Refused(why)) => Err(service.unread(admitted, why)),
        Err(Unread::Shed(response)) => Err(*response),
    }
}

/// Reason why there is no body.
enum Unread {
    Refused(Unreadable),
    /// There is no room for the body.
    Shed(Box<Response>),
}

/// Reads the body into the head, bounded in size, time and rate. `reserve` is called with the bytes that a body of
/// unknown length occupies.
async fn receive(
    head: &mut RequestHead,
    mut incoming: Incoming,
    length: Option<usize>,
    bytes_max: usize,
    within: Duration,
    mut reserve: impl FnMut(usize) -> Result<(), Response>,
) -> Result<(), Unread> {
    if length.is_some_and(|length| length > bytes_max) {
        return Err(Unread::Refused(Unreadable::TooLong(bytes_max)));
    }
    head.reserve_body(length.unwrap_or_default());
    let begun = Instant::now();
    let (mut received, mut reserved) = (0, UNCOUNTED_BYTES_MAX);
    loop {
        let mut patience = within;
        if length.unwrap_or(received) > UNCOUNTED_BYTES_MAX {
            let earned = Duration::from_secs_f64(received as f64 / BODY_RATE_BYTES_MIN as f64);
            patience = patience.min(Duration::from_millis(BODY_GRACE_MS) + earned);
        }
        let frame = std::future::poll_fn(|cx| std::pin::Pin::new(&mut incoming).poll_frame(cx));
        let frame = timeout_at(begun + patience, frame).await;
        let data = match frame.map_err(|_| Unread::Refused(Unreadable::TooSlow))? {
            None => return Ok(()),
            Some(Err(_)) => return Err(Unread::Refused(Unreadable::Broken)),
            // Trailers are ignored.
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
        };
        received += data.len();
        if received > bytes_max {
            return Err(Unread::Refused(Unreadable::TooLong(bytes_max)));
        }
        let taken = head.push_body(&data);
        if length.is_none() && taken > reserved {
            reserve(taken).map_err(|response| Unread::Shed(Box::new(response)))?;
            reserved = taken;
        }
    }
}
