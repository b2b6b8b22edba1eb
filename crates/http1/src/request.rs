//! Head of a request, kept in the bytes in which it arrived.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use http::{Method, StatusCode};
use httparse::Status;

use crate::again::Again;
use crate::fields::{Fields, Span, begins_with_too_many_empty_lines, visible};
use crate::framing::{Ambiguous, Framing};
use crate::limits::{HEAD_BYTES_MAX, HEAD_KEPT_BYTES_MAX, HEADERS_MAX};
use crate::target::{Target, is_host};

const CONTENT_LENGTH: &str = "content-length";

/// Method, target and header fields of a request, and its body once that was read.
#[derive(Debug, Clone)]
pub struct RequestHead {
    /// The head, followed by the body once that was read.
    text: Vec<u8>,
    shape: Arc<Shape>,
}

/// Places of the parts of a head, shared by all heads of the same text.
#[derive(Debug)]
pub(crate) struct Shape {
    length: usize,
    /// Present if the head is short enough to be remembered.
    again: Option<Again>,
    method: Method,
    path: Span,
    query: Option<Span>,
    /// Minor version: 0 for HTTP/1.0, 1 for HTTP/1.1.
    minor_version: u8,
    fields: Fields,
    note: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl RequestHead {
    /// Takes the input if it begins with a complete head; `None` if it does not yet, a status if the head is refused.
    /// `before` is the shape of the previous head on the connection.
    pub(crate) fn take(
        input: &mut Vec<u8>,
        before: &mut Option<Arc<Shape>>,
    ) -> Result<Option<Self>, StatusCode> {
        let shape = match before {
            Some(shape) if shape.again.as_ref().is_some_and(|again| again.begins(input)) => shape.clone(),
            _ => {
                let Some(shape) = Shape::read(input)?.map(Arc::new) else { return Ok(None) };
                *before = shape.again.is_some().then(|| shape.clone());
                shape
            }
        };
        Ok(Some(Self { text: std::mem::take(input), shape }))
    }

    /// Writes the head of a request that arrived in another version of HTTP as HTTP/1.1 and parses it by the same
    /// rules. Returns a status if it is refused.
    pub fn assemble<'a>(
        method: &Method,
        target: &str,
        fields: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Self, StatusCode> {
        let mut text = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
        for (name, value) in fields {
            let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
            if value.iter().any(is_control) {
                return Err(StatusCode::BAD_REQUEST);
            }
            text.extend_from_slice(name.as_bytes());
            text.extend_from_slice(b": ");
            text.extend_from_slice(value);
            text.extend_from_slice(b"\r\n");
        }
        text.extend_from_slice(b"\r\n");
        Self::take(&mut text, &mut None)?.ok_or(StatusCode::BAD_REQUEST)
    }

    /// Keeps a body of `body` bytes and returns the bytes after it; `None` if the body is incomplete.
    pub(crate) fn keep(&mut self, body: usize) -> Option<Vec<u8>> {
        let end = self.length().checked_add(body).filter(|end| *end <= self.text.len())?;
        Some(self.text.split_off(end))
    }

    /// Returns everything that was read after the head.
    pub(crate) fn cut(&mut self) -> Vec<u8> {
        self.text.split_off(self.length())
    }

    /// Lends the text buffer, with `begun` appended and room for the rest of the body, so that a large body is read in
    /// place and not copied. The head must not be used until `restore`.
    pub(crate) fn lend(&mut self, begun: &[u8], room: usize) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.text);
        text.reserve_exact(room.max(begun.len()));
        text.extend_from_slice(begun);
        text
    }

    /// Takes the lent buffer back.
    pub(crate) fn restore(&mut self, text: Vec<u8>) {
        self.text = text;
    }

    /// Replaces the body by one that was read into another buffer.
    pub fn set_body(&mut self, body: &[u8]) {
        self.text.truncate(self.length());
        self.text.extend_from_slice(body);
    }

    /// Reserves memory for a body of `bytes` bytes.
    pub fn reserve_body(&mut self, bytes: usize) {
        self.text.reserve_exact(bytes);
    }

    /// Appends a piece to the body. Returns the bytes of memory that head and body occupy.
    pub fn push_body(&mut self, piece: &[u8]) -> usize {
        self.text.extend_from_slice(piece);
        self.text.capacity()
    }

    /// Returns the body; empty until it was read.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.text.get(self.length()..).unwrap_or_default()
    }

    #[must_use]
    pub fn method(&self) -> &Method {
        &self.shape.method
    }

    #[must_use]
    pub fn path(&self) -> &str {
        std::str::from_utf8(self.path_bytes()).unwrap_or_default()
    }

    /// Returns the query of the target: the part after the question mark.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.shape.query.map(|query| std::str::from_utf8(query.text(&self.text)).unwrap_or_default())
    }

    /// Returns the path as bytes; they need not be valid UTF-8.
    #[must_use]
    pub fn path_bytes(&self) -> &[u8] {
        self.shape.path.text(&self.text)
    }

    /// Returns the raw values of a header field; its name is compared case-insensitively.
    pub fn values<'t>(&'t self, name: &str) -> impl Iterator<Item = &'t [u8]> {
        self.shape.fields.values(&self.text, name)
    }

    /// Returns the first value of a header field; `None` also if it is not visible text.
    #[must_use]
    pub fn get<'t>(&'t self, name: &str) -> Option<&'t str> {
        let value = self.shape.fields.values(&self.text, name).next();
        value.and_then(visible)
    }

    /// Returns the first value of a header field; `"unreadable"`, which no field expects as a value, if it is not
    /// visible text.
    #[must_use]
    pub fn get_or_unreadable<'t>(&'t self, name: &str) -> Option<&'t str> {
        let value = self.shape.fields.values(&self.text, name).next();
        value.map(|value| visible(value).unwrap_or("unreadable"))
    }

    /// Returns the value of a header field that occurs exactly once and is visible text.
    #[must_use]
    pub fn only<'t>(&'t self, name: &str) -> Option<&'t str> {
        let mut values = self.shape.fields.values(&self.text, name);
        match (values.next(), values.next()) {
            (Some(value), None) => visible(value),
            _ => None,
        }
    }

    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.shape.fields.values(&self.text, name).next().is_some()
    }

    /// Determines the framing of the body.
    pub fn framing(&self) -> Result<Framing, Ambiguous> {
        Framing::of_request(&self.text, &self.shape.fields, self.shape.minor_version)
    }

    pub(crate) fn is_http_1_0(&self) -> bool {
        self.shape.minor_version == 0
    }

    /// Returns `true` if the connection stays open after this request.
    pub(crate) fn keeps_alive(&self) -> bool {
        let has = |token| self.shape.fields.has_token(&self.text, "connection", token);
        // Parsers differ on a value that is not visible text, so it does not keep an HTTP/1.0 connection open.
        let is_readable = || self.values("connection").all(|value| visible(value).is_some());
        !has("close") && (!self.is_http_1_0() || (has("keep-alive") && is_readable()))
    }

    /// Returns a value of this type that was noted for a head of the same text.
    #[must_use]
    pub fn noted<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.shape.note.get()?.downcast_ref()
    }

    /// Stores a value that is derived from the text of this head alone, whatever its `Content-Length`, for later heads
    /// of the same text on the connection. Only the first note of a head is kept.
    pub fn note<T: Any + Send + Sync>(&self, value: T) {
        if self.shape.again.is_some() {
            let _ = self.shape.note.set(Box::new(value));
        }
    }

    pub(crate) fn length(&self) -> usize {
        self.shape.length
    }
}

impl Shape {
    /// Parses the head at the start of `input`.
    fn read(input: &[u8]) -> Result<Option<Self>, StatusCode> {
        if begins_with_too_many_empty_lines(input) {
            return Err(StatusCode::BAD_REQUEST);
        }
        let mut lines = [const { std::mem::MaybeUninit::uninit() }; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut []);
        let length = match request.parse_with_uninit_headers(input, &mut lines) {
            Ok(Status::Complete(length)) if length <= HEAD_BYTES_MAX => length,
            Ok(Status::Partial) if input.len() <= HEAD_BYTES_MAX => return Ok(None),
            Ok(_) | Err(httparse::Error::TooManyHeaders) => {
                return Err(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
            }
            Err(httparse::Error::Version) => return Err(StatusCode::HTTP_VERSION_NOT_SUPPORTED),
            Err(_) => return Err(StatusCode::BAD_REQUEST),
        };
        let method = Method::from_bytes(request.method.unwrap_or_default().as_bytes())
            .map_err(|_| StatusCode::BAD_REQUEST)?;
        let fields = Fields::read(input, request.headers);
        if method == Method::CONNECT {
            // Bytes after the head of a CONNECT request are not HTTP: a proxy that opens the tunnel would end the
            // request elsewhere.
            return Err(StatusCode::NOT_IMPLEMENTED);
        }
        let target = Target::read(request.path.unwrap_or_default()).ok_or(StatusCode::BAD_REQUEST)?;
        let mut hosts = fields.values(input, "host");
        let host = hosts.next();
        // RFC 9112 section 3.2: a request with two `Host` fields is refused. One whose target names another host would
        // be routed differently by different parsers.
        let contradicts = target.authority.is_some_and(|authority| {
            host.is_none_or(|host| !host.eq_ignore_ascii_case(authority.as_bytes()))
        });
        if hosts.next().is_some() || contradicts || host.is_some_and(|host| !is_host(host)) {
            return Err(StatusCode::BAD_REQUEST);
        }
        drop(hosts);
        let (path, query) = (
            Span::of(input, target.path.as_bytes()),
            target.query.map(|query| Span::of(input, query.as_bytes())),
        );
        let again = (length <= HEAD_KEPT_BYTES_MAX).then(|| {
            let announced = fields.only_place(input, CONTENT_LENGTH);
            Again::new(input.get(..length).unwrap_or_default(), announced)
        });
        let minor_version = request.version.unwrap_or_default();
        Ok(Some(Self { length, again, method, path, query, minor_version, fields, note: OnceLock::new() }))
    }
}

#[cfg(test)]
impl RequestHead {
    /// Returns a POST head with these fields.
    pub(crate) fn with(fields: &[(&str, &str)]) -> Self {
        let fields = fields.iter().map(|(name, value)| (*name, value.as_bytes()));
        Self::assemble(&Method::POST, "/mcp", fields).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::EMPTY_LINES_MAX;

    fn take(text: &str) -> Result<Option<RequestHead>, StatusCode> {
        RequestHead::take(&mut text.as_bytes().to_vec(), &mut None)
    }

    #[test]
    fn a_head_keeps_its_body_and_gives_back_the_rest() {
        let text = "GET /mcp/x/a?b=1?2 HTTP/1.1\r\nHost:  me \r\nX-A: 1\r\nx-a: 2\r\n\r\nbodyrest";
        let mut head = take(text).unwrap().unwrap();
        assert_eq!(head.keep(9), None);
        assert_eq!(head.keep(usize::MAX), None);
        assert_eq!(head.keep(4).unwrap(), b"rest");
        assert_eq!(head.body(), b"body");
        assert_eq!(head.cut(), b"body");
        head.set_body(b"another");
        assert_eq!(head.body(), b"another");
        assert_eq!((head.method(), head.path(), head.query()), (&Method::GET, "/mcp/x/a", Some("b=1?2")));
        assert_eq!((head.get("host"), head.get("x-a"), head.only("x-a")), (Some("me"), Some("1"), None));
        assert_eq!(head.values("x-a").collect::<Vec<_>>(), [b"1", b"2"]);
    }

    /// `HEAD_KEPT_BYTES_MAX`: heads up to it are remembered.
    #[test]
    fn a_head_that_comes_again_is_read_as_it_was_and_one_that_does_not_by_itself() {
        let texts = [
            "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nX-A: 1\r\n\r\nbody",
            "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 34\r\nX-A: 1\r\n\r\nbod",
            "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 3x\r\nX-A: 1\r\n\r\nbod",
            "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 340\r\nX-A: 1\r\n\r\nb",
            "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 340\r\nX-A: 2\r\n\r\n",
            "POST /a?b HTTP/1.0\r\nHost: x\r\nContent-Length: 340\r\nX-A: 2\r\n\r\n",
            "POST /a HTTP/1.0\r\nContent-Length: 34\r\nContent-Length: 34\r\n\r\n",
            "POST /a HTTP/1.0\r\nContent-Length: 34\r\nContent-Length: 34\r\n\r\n",
            "POST /a HTTP/1.0\r\nContent-Length: 34\r\nContent-Length: 35\r\n\r\n",
            "POST /a HTTP/1.0\r\n\r\n",
        ];
        let mut before = None;
        for first in texts {
            for second in texts {
                let told = |text: &str, before: &mut Option<Arc<Shape>>| {
                    let head = RequestHead::take(&mut text.as_bytes().to_vec(), before).unwrap().unwrap();
                    let values = ["host", "content-length", "x-a", "x-b"]
                        .map(|name| head.values(name).map(<[u8]>::to_vec).collect::<Vec<_>>());
                    let target = format!("{} {} {:?}", head.method(), head.path(), head.query());
                    (target, head.is_http_1_0(), values, head.body().to_vec())
                };
                assert_eq!(told(first, &mut before), told(first, &mut None));
                assert_eq!(told(second, &mut before), told(second, &mut None), "{first:?} and {second:?}");
            }
        }
        let long = format!("GET / HTTP/1.1\r\na: {}\r\n\r\n", "b".repeat(HEAD_KEPT_BYTES_MAX));
        assert!(RequestHead::take(&mut long.into_bytes(), &mut before).unwrap().is_some());
        assert!(before.is_none(), "it is not kept in mind");
    }

    #[test]
    fn heads_that_are_none_are_refused_and_unfinished_ones_wait() {
        for (text, status) in [
            ("\0\r\n\r\n", 400),
            ("GET /\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nX\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nX : 1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nX: 1\r\n folded\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
            ("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET http://a:1/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET http://a@b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET http://a/ HTTP/1.1\r\n\r\n", 400),
            ("GET http://a@b/ HTTP/1.1\r\nHost: a@b\r\n\r\n", 400),
            ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: http://a\r\n\r\n", 400),
            ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 501),
            ("CONNECT /a HTTP/1.1\r\nHost: a\r\n\r\n", 501),
            ("PRI * HTTP/2.0\r\n\r\n", 505),
        ] {
            assert_eq!(take(text).unwrap_err().as_u16(), status, "{text:?}");
        }
        assert!(take("GET / HTTP/1.1\r\nHost: x\r\n").unwrap().is_none());
        assert!(take("").unwrap().is_none());
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1));
        assert_eq!(take(&many).unwrap_err().as_u16(), 431);
        let long = format!("GET / HTTP/1.1\r\na: {}", "b".repeat(HEAD_BYTES_MAX));
        assert_eq!(take(&long).unwrap_err().as_u16(), 431);
        assert_eq!(take(&format!("{long}\r\n\r\n")).unwrap_err().as_u16(), 431);
    }

    /// `EMPTY_LINES_MAX`
    #[test]
    fn a_head_behind_too_many_empty_lines_is_refused() {
        let head = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        for line in ["\n", "\r\n"] {
            assert!(take(&format!("{}{head}", line.repeat(EMPTY_LINES_MAX))).unwrap().is_some());
            let more = line.repeat(EMPTY_LINES_MAX + 1);
            assert_eq!(take(&format!("{more}{head}")).unwrap_err().as_u16(), 400);
            assert_eq!(take(&more).unwrap_err().as_u16(), 400, "whether a head follows or not");
        }
    }

    #[test]
    fn a_connection_is_kept_as_its_version_and_header_say() {
        let keeps = |version: &str, connection: &str| {
            take(&format!("GET / {version}\r\n{connection}\r\n")).unwrap().unwrap().keeps_alive()
        };
        assert!(keeps("HTTP/1.1", ""));
        assert!(!keeps("HTTP/1.1", "Connection: x, Close\r\n"));
        assert!(!keeps("HTTP/1.0", ""));
        assert!(keeps("HTTP/1.0", "connection: keep-alive\r\n"));
    }

    #[test]
    fn a_note_is_kept_for_heads_of_the_same_text_alone() {
        let mut before = None;
        let mut take =
            |text: &str| RequestHead::take(&mut text.as_bytes().to_vec(), &mut before).unwrap().unwrap();
        let first = take("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n");
        assert_eq!(first.noted::<u32>(), None);
        first.note(7_u32);
        let second = take("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n");
        assert_eq!((second.noted::<u32>(), second.noted::<u64>()), (Some(&7), None));
        assert_eq!(take("POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n").noted::<u32>(), None);
    }

    #[test]
    fn a_head_of_another_version_is_read_by_the_same_rules() {
        let assemble = |fields: &[(&'static str, &'static [u8])]| {
            RequestHead::assemble(&Method::POST, "/a?b", fields.iter().copied())
        };
        let head = assemble(&[("host", b"me"), ("x-a", b"1")]).unwrap();
        assert_eq!((head.path(), head.query(), head.get("X-A")), ("/a", Some("b"), Some("1")));
        for bad in [&b"1\r\n\r\n"[..], b"1\nb: c", b"\0", b"1\r\nhost: you"] {
            let refused = RequestHead::assemble(&Method::POST, "/", [("host", &b"me"[..]), ("x-a", bad)]);
            assert_eq!(refused.err(), Some(StatusCode::BAD_REQUEST), "{bad:?}");
        }
    }
}
