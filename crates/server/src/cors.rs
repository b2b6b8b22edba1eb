//! CORS (Fetch standard): lets pages of allowed origins call the endpoint from a browser and read its answers.
//!
//! Guarantees: an origin is allowed only if it passed the check of `rebinding.rs`, and is echoed, never `*`.
//! Credentials of the browser (cookies, client certificates) are never allowed. A preflight needs no credential. The
//! REST API is excluded: its preflight is refused and its answers allow no origin. By default, pages on this machine
//! (`http://localhost:3000`) are allowed, because local browser clients need that.

use std::sync::Arc;

use http::{Method, StatusCode};
use toolcrib_http1::{RequestHead, Response};

use crate::limits::PREFLIGHT_AGE_S;
use crate::rebinding::Expected;
use crate::rest;

/// Methods of the endpoint.
const METHODS: &str = "POST, GET, DELETE";

/// Request headers that clients of any revision send.
const HEADERS: &str = "content-type, accept, authorization, mcp-session-id, mcp-protocol-version, last-event-id, \
                       mcp-method, mcp-name, x-mcp-toolsets, x-mcp-readonly";

/// Prefix of the header fields that mirror a tool's arguments (2026-07-28).
const PARAM_PREFIX: &str = "mcp-param-";

/// Response headers that a page may read besides those that browsers always expose.
const EXPOSED: &str = "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after";

/// Origin of the page that sent a request.
pub(crate) type Origin = Arc<str>;

/// Returns the origin that may read the answer; `None` if the request has none or several, or if it is not allowed.
pub(crate) fn allowed(expected: &Expected, head: &RequestHead) -> Option<Origin> {
    let origin = head.only("origin")?;
    let is_rest = head.path_bytes().starts_with(rest::PREFIX.as_bytes());
    (!is_rest && expected.check(head).is_ok()).then(|| origin.into())
}

/// Returns `true` for a CORS preflight request.
pub(crate) fn is_preflight(head: &RequestHead) -> bool {
    head.method() == Method::OPTIONS && head.has("origin") && head.has("access-control-request-method")
}

/// Answers a preflight; [`share`] adds the origin.
pub(crate) fn preflight(head: &RequestHead) -> Response {
    let mut headers = HEADERS.to_owned();
    for name in
        head.values("access-control-request-headers").flat_map(|names| names.split(|byte| *byte == b','))
    {
        if let Some(name) = param_field(name.trim_ascii()) {
            headers.push_str(", ");
            headers.push_str(&name);
        }
    }
    Response::empty(StatusCode::NO_CONTENT)
        .with("access-control-allow-methods", METHODS)
        .with("access-control-allow-headers", &headers)
        .with("access-control-max-age", &PREFLIGHT_AGE_S.to_string())
}

/// Adds the headers that let pages of `origin` read a response.
pub(crate) fn share(response: Response, origin: Option<&str>) -> Response {
    let Some(origin) = origin else { return response };
    response
        .with("access-control-allow-origin", origin)
        .with("access-control-expose-headers", EXPOSED)
        .with("vary", "Origin")
}

/// Returns the lower-case name of a field that mirrors an argument; `None` for any other.
fn param_field(name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name).ok()?.to_ascii_lowercase();
    let rest = name.strip_prefix(PARAM_PREFIX)?;
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (!rest.is_empty() && rest.bytes().all(is_token)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "http://localhost:3000";

    fn head(method: &Method, path: &str, fields: &[(&str, &str)]) -> RequestHead {
        let host = ("host", &b"localhost"[..]);
        let fields = fields.iter().map(|(name, value)| (*name, value.as_bytes()));
        RequestHead::assemble(method, path, std::iter::once(host).chain(fields)).unwrap()
    }

    fn field(response: &Response, name: &str) -> Option<String> {
        response.headers().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
    }

    /// R14.2: only one allowed origin is named, and none for the REST API.
    #[test]
    fn an_origin_is_allowed_by_the_check_of_origins_alone() {
        let expected = Expected::loopback().and_origin("https://app.example");
        let allowed = |path, fields: &[(&str, &str)]| {
            super::allowed(&expected, &head(&Method::POST, path, fields)).map(|origin| origin.to_string())
        };
        assert_eq!(allowed("/mcp", &[("origin", PAGE)]).as_deref(), Some(PAGE));
        assert_eq!(
            allowed("/mcp", &[("origin", "https://app.example")]).as_deref(),
            Some("https://app.example")
        );
        assert_eq!(allowed("/mcp", &[]), None);
        assert_eq!(allowed("/mcp", &[("origin", "https://evil.example")]), None);
        assert_eq!(allowed("/mcp", &[("origin", "null")]), None);
        assert_eq!(allowed("/mcp", &[("origin", PAGE), ("origin", PAGE)]), None, "two cannot be echoed");
        assert_eq!(allowed("/api/v1/stop", &[("origin", PAGE)]), None);
    }

    /// R14.2: `PREFLIGHT_AGE_S`; requested fields that mirror arguments are allowed, other unknown fields are not.
    #[test]
    fn a_preflight_allows_what_clients_send() {
        let asked = "content-type, Mcp-Param-City,mcp-param-a\u{e9}, mcp-param-, x-evil, mcp-param-b: c, mcp-param-zip";
        let fields = [
            ("origin", PAGE),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", asked),
        ];
        let head = head(&Method::OPTIONS, "/mcp", &fields);
        assert!(is_preflight(&head));
        let response = share(preflight(&head), Some(PAGE));
        assert_eq!(response.status, StatusCode::NO_CONTENT);
        let headers = field(&response, "access-control-allow-headers").unwrap();
        assert_eq!(headers, format!("{HEADERS}, mcp-param-city, mcp-param-zip"));
        assert_eq!(field(&response, "access-control-max-age").unwrap(), PREFLIGHT_AGE_S.to_string());
        assert_eq!(field(&response, "access-control-allow-origin").as_deref(), Some(PAGE));
        assert_eq!(field(&response, "vary").as_deref(), Some("Origin"));
        assert_eq!(field(&response, "access-control-allow-credentials"), None);
    }

    #[test]
    fn a_request_for_options_is_a_preflight_only_with_an_origin_and_a_method() {
        let is = |fields: &[(&str, &str)]| is_preflight(&head(&Method::OPTIONS, "/mcp", fields));
        assert!(!is(&[]) && !is(&[("origin", PAGE)]) && !is(&[("access-control-request-method", "POST")]));
        let both = [("origin", PAGE), ("access-control-request-method", "POST")];
        assert!(!is_preflight(&head(&Method::POST, "/mcp", &both)));
    }
}
