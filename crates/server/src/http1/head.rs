//! The head of a request, in the bytes it came in.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use http::{Method, StatusCode};
use httparse::Status;
use toolcrib_protocol::again::Again;
use toolcrib_protocol::header::{Field, Headers, Mirrors, is_visible};

use super::name::{NAMES, Name, Sought};
use crate::accept::Asks;
use crate::limits::{EMPTY_LINES_MAX, HEAD_BYTES_MAX, HEAD_KEPT_BYTES_MAX, HEADERS_MAX};

/// Method, target and headers of a request.
#[derive(Debug, Clone)]
pub struct Head {
    /// The head, and behind it the body once it was read.
    text: Vec<u8>,
    shape: Arc<Shape>,
}

/// What is where in a head.
#[derive(Debug)]
pub(super) struct Shape {
    length: usize,
    /// Where it is short enough to be kept in mind.
    again: Option<Again>,
    method: Method,
    path: Span,
    query: Option<Span>,
    /// HTTP/1.0 or HTTP/1.1.
    minor_version: u8,
    lines: Vec<Line>,
    known: Index,
    /// What a POST with such a head asks for, once that was found out.
    asks: OnceLock<Asks>,
}

/// Where known headers stand.
#[derive(Debug, Clone, Copy, Default)]
struct Index {
    /// Of each one, how many lines there are up to its first; none where it is absent.
    first: [u8; NAMES],
    /// Those with more than one line, by their bits.
    repeated: u32,
}

const _: () = assert!(HEADERS_MAX <= u8::MAX as usize, "an index is a byte");

impl Index {
    fn add(&mut self, name: Name, line: usize) {
        match self.first.get_mut(name as usize) {
            Some(first) if *first == 0 => *first = line as u8 + 1,
            _ => self.repeated |= name.bit(),
        }
    }

    fn has(self, name: Name) -> bool {
        self.first.get(name as usize).is_some_and(|first| *first > 0)
    }

    /// The lines among which those of a header are.
    fn among(self, lines: &[Line], name: Name) -> &[Line] {
        let first = self.first.get(name as usize).map_or(0, |first| usize::from(*first));
        let end = if self.repeated & name.bit() == 0 { first } else { lines.len() };
        lines.get(first.wrapping_sub(1)..end).unwrap_or_default()
    }
}

/// Part of the text.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

#[derive(Debug, Clone, Copy)]
struct Line {
    known: Option<Name>,
    name: Span,
    value: Span,
}

impl Head {
    /// Takes what was read if it begins with a whole head; `None` while it does not, a status where it is refused.
    /// `before` is the shape of the head that came before it.
    pub(super) fn take(
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

    /// Keeps a body of this length and gives back what was read behind it; `None` if it is not all here.
    pub(super) fn keep(&mut self, body: usize) -> Option<Vec<u8>> {
        let end = self.length().checked_add(body).filter(|end| *end <= self.text.len())?;
        Some(self.text.split_off(end))
    }

    /// Gives back everything that was read behind the head.
    pub(super) fn cut(&mut self) -> Vec<u8> {
        self.text.split_off(self.length())
    }

    /// Lends the text, with what came of its body and room for all of it, to be read into; the head cannot be asked
    /// until it is given back. Saves a large body from being copied.
    pub(super) fn lend(&mut self, begun: &[u8], room: usize) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.text);
        text.reserve_exact(room.max(begun.len()));
        text.extend_from_slice(begun);
        text
    }

    /// Takes a lent text back.
    pub(super) fn restore(&mut self, text: Vec<u8>) {
        self.text = text;
    }

    /// Adds a body that was read by itself.
    pub(super) fn add(&mut self, body: &[u8]) {
        self.text.truncate(self.length());
        self.text.extend_from_slice(body);
    }

    /// The body, once it was read.
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
        self.text_at(self.shape.path)
    }

    /// What stands behind the question mark.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.shape.query.map(|query| self.text_at(query))
    }

    /// The path before it is known to be text.
    pub(crate) fn path_bytes(&self) -> &[u8] {
        self.at(self.shape.path)
    }

    /// The values of a header, as they came.
    pub fn values<'n>(&self, name: impl Into<Sought<'n>>) -> impl Iterator<Item = &[u8]> {
        let name = name.into();
        let lines = match name {
            Sought::Known(name) => self.shape.known.among(&self.shape.lines, name),
            Sought::Other(_) => &self.shape.lines,
        };
        let is_named = move |line: &&Line| match (name, line.known) {
            (Sought::Known(name), known) => known == Some(name),
            (Sought::Other(name), None) => self.at(line.name).eq_ignore_ascii_case(name.as_bytes()),
            (Sought::Other(_), Some(_)) => false,
        };
        lines.iter().filter(is_named).map(|line| self.at(line.value))
    }

    /// A header's first value; `None` as well if it is no visible text.
    #[must_use]
    pub fn get<'n>(&self, name: impl Into<Sought<'n>>) -> Option<&str> {
        self.values(name).next().and_then(visible)
    }

    /// A header's first value; what cannot be read is there, but is nothing that anybody expects.
    pub(crate) fn told(&self, name: Name) -> Option<&str> {
        self.values(name).next().map(|value| visible(value).unwrap_or("unreadable"))
    }

    /// A header's value if it stands there exactly once.
    #[must_use]
    pub fn only<'n>(&self, name: impl Into<Sought<'n>>) -> Option<&str> {
        match self.one(name) {
            Field::One(value) => visible(value),
            Field::Absent | Field::Repeated => None,
        }
    }

    /// A header that must not be repeated.
    pub(crate) fn one<'n>(&self, name: impl Into<Sought<'n>>) -> Field<'_> {
        let name = name.into();
        if let Sought::Known(name) = name {
            return match self.shape.known.among(&self.shape.lines, name) {
                [] => Field::Absent,
                [line] => Field::One(self.at(line.value)),
                _ => Field::Repeated,
            };
        }
        let mut values = self.values(name);
        match (values.next(), values.next()) {
            (None, _) => Field::Absent,
            (Some(value), None) => Field::One(value),
            (Some(_), Some(_)) => Field::Repeated,
        }
    }

    #[must_use]
    pub fn has<'n>(&self, name: impl Into<Sought<'n>>) -> bool {
        match name.into() {
            Sought::Known(name) => self.shape.known.has(name),
            other => self.values(other).next().is_some(),
        }
    }

    pub(crate) fn is_http_1_0(&self) -> bool {
        self.shape.minor_version == 0
    }

    /// The client wants to send more on this connection.
    pub(crate) fn keeps_alive(&self) -> bool {
        let mut keeps = !self.is_http_1_0();
        for value in self.values(Name::Connection) {
            for token in visible(value).unwrap_or_default().split(',') {
                match token.trim() {
                    token if token.eq_ignore_ascii_case("close") => return false,
                    token if token.eq_ignore_ascii_case("keep-alive") => keeps = true,
                    _ => {}
                }
            }
        }
        keeps
    }

    /// What was found out about a head of the same text.
    pub(crate) fn asks(&self) -> Option<&Asks> {
        self.shape.asks.get()
    }

    /// Keeps in mind what follows from the text of this head alone, for those that come again.
    pub(crate) fn note(&self, asks: &Asks) {
        if self.shape.again.is_some() {
            let _ = self.shape.asks.set(asks.clone());
        }
    }

    pub(super) fn length(&self) -> usize {
        self.shape.length
    }

    fn at(&self, span: Span) -> &[u8] {
        self.text.get(span.range()).unwrap_or_default()
    }

    fn text_at(&self, span: Span) -> &str {
        std::str::from_utf8(self.at(span)).unwrap_or_default()
    }
}

impl Shape {
    /// The shape of the head that `input` begins with.
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
        let (path, query) = address(request.path.unwrap_or_default());
        let (path, query) = (span(input, path.as_bytes()), query.map(|query| span(input, query.as_bytes())));
        let mut known = Index::default();
        let mut lines = Vec::with_capacity(request.headers.len());
        for (at, line) in request.headers.iter().enumerate() {
            let name = Name::of(line.name.as_bytes());
            if let Some(name) = name {
                known.add(name, at);
            }
            let (text, value) = (span(input, line.name.as_bytes()), span(input, line.value));
            lines.push(Line { known: name, name: text, value });
        }
        let minor_version = request.version.unwrap_or_default();
        let again = (length <= HEAD_KEPT_BYTES_MAX).then(|| {
            let announced = match known.among(&lines, Name::ContentLength) {
                [line] => line.value.range(),
                _ => 0..0,
            };
            Again::new(input.get(..length).unwrap_or_default(), announced)
        });
        let asks = OnceLock::new();
        Ok(Some(Self { length, again, method, path, query, minor_version, lines, known, asks }))
    }
}

impl Headers for Head {
    fn field(&self, name: &str) -> Field<'_> {
        self.one(name)
    }

    fn mirrors(&self) -> Mirrors<'_> {
        Mirrors {
            version: self.one(Name::McpProtocolVersion),
            method: self.one(Name::McpMethod),
            name: self.one(Name::McpName),
        }
    }
}

/// The text of a value that every reader of a header reads alike.
pub(crate) fn visible(value: &[u8]) -> Option<&str> {
    if is_visible(value) { std::str::from_utf8(value).ok() } else { None }
}

/// Whether more than `EMPTY_LINES_MAX` lines come before the first line of a head.
fn begins_with_too_many_empty_lines(input: &[u8]) -> bool {
    let before = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    before.filter(|byte| **byte == b'\n').take(EMPTY_LINES_MAX + 1).count() > EMPTY_LINES_MAX
}

/// Path and query of a target, which a proxy may send with scheme and host before it.
fn address(target: &str) -> (&str, Option<&str>) {
    let local = match target.as_bytes().first() {
        Some(b'/') => target,
        _ => match target.split_once("://") {
            Some((_, rest)) => rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len())).1,
            None => target,
        },
    };
    let mark = local.bytes().position(|byte| byte == b'?');
    match mark.and_then(|at| Some((local.get(..at)?, local.get(at + 1..)?))) {
        Some((path, query)) => (path, Some(query)),
        None => (local, None),
    }
}

/// Where `part`, which was cut out of `whole`, stands in it.
fn span(whole: &[u8], part: &[u8]) -> Span {
    let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    Span { start: start as u32, end: (start + part.len()) as u32 }
}

#[cfg(test)]
impl Head {
    /// A head with these headers.
    pub(crate) fn with(lines: &[(&str, &str)]) -> Self {
        let mut text = b"POST /mcp HTTP/1.1\r\n".to_vec();
        for (name, value) in lines {
            text.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        text.extend_from_slice(b"\r\n");
        Self::take(&mut text, &mut None).unwrap().unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(text: &str) -> Result<Option<Head>, StatusCode> {
        Head::take(&mut text.as_bytes().to_vec(), &mut None)
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
        head.add(b"another");
        assert_eq!(head.body(), b"another");
        assert_eq!((head.method(), head.path(), head.query()), (&Method::GET, "/mcp/x/a", Some("b=1?2")));
        assert_eq!((head.get("host"), head.get("x-a"), head.only("x-a")), (Some("me"), Some("1"), None));
        assert_eq!(head.values("x-a").collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!(
            (head.field("host"), head.field("x-a"), head.field("x-b")),
            (Field::One(b"me"), Field::Repeated, Field::Absent)
        );
    }

    /// `HEAD_KEPT_BYTES_MAX`
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
                    let head = Head::take(&mut text.as_bytes().to_vec(), before).unwrap().unwrap();
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
        assert!(Head::take(&mut long.into_bytes(), &mut before).unwrap().is_some());
        assert!(before.is_none(), "it is not kept in mind");
    }

    #[test]
    fn a_target_with_scheme_and_host_is_its_path() {
        let path = |target: &str| {
            let head = take(&format!("POST {target} HTTP/1.1\r\n\r\n")).unwrap().unwrap();
            (head.path().to_owned(), head.query().map(str::to_owned))
        };
        assert_eq!(path("http://localhost:1/mcp?a"), ("/mcp".into(), Some("a".into())));
        assert_eq!(path("http://localhost"), (String::new(), None));
        assert_eq!(path("/mcp?to=http://x/y"), ("/mcp".into(), Some("to=http://x/y".into())));
        assert_eq!(path("*"), ("*".into(), None));
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
}
