//! Corpus of ambiguous and malformed responses with their expected outcomes.

use Expected::{Closed, Kept, Refused, UntilClose};

/// Response that follows every case on the same connection.
pub(crate) const INNOCENT: &str = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\ninnocent";

/// Expected outcome of a case that is followed by the innocent response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Read with this status and body; the innocent response is read next.
    Kept(u16, &'static [u8]),
    /// Read with this status and body; the connection is not used again.
    Closed(u16, &'static [u8]),
    /// Read with this status; the body is everything until the connection ends.
    UntilClose(u16, &'static [u8]),
    /// Refused with an error whose message contains these words.
    Refused(&'static str),
}

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) bytes: Vec<u8>,
    pub(crate) expected: Expected,
}

impl Case {
    /// The case as the message of a failed test shows it.
    pub(crate) fn name(&self) -> String {
        let text: String = self.bytes.escape_ascii().map(char::from).take(300).collect();
        format!("{text:?} ({:?})", self.expected)
    }
}

const NO_HTTP: Expected = Refused("it is no HTTP/1");
const NO_NUMBER: Expected = Refused("its Content-Length is no number");
const OVERFLOW: Expected = Refused("its Content-Length is beyond all numbers");
const TWO_LENGTHS: Expected = Refused("it has two lengths");
const TWO_CODINGS: Expected = Refused("it has Transfer-Encoding twice");
const BOTH: Expected = Refused("it has both Content-Length and Transfer-Encoding");
const UNKNOWN: Expected = Refused("its Transfer-Encoding is unknown");
const NO_SIZE: Expected = Refused("a chunk has no size");
const TOO_LONG: Expected = Refused("a chunk is longer than it says");
const NO_FIELD: Expected = Refused("a trailer is no header field");

/// Header lines of a 200 before a body of five bytes.
const LINES: &[(&str, Expected)] = &[
    ("Content-Length: 5\r\n", Kept(200, b"abcde")),
    ("content-length:5\r\n", Kept(200, b"abcde")),
    ("Content-Length: 005\r\n", Kept(200, b"abcde")),
    ("Content-Length: \t5 \r\n", Kept(200, b"abcde")),
    ("Content-Length: 5\r\nContent-Length: 5\r\n", Kept(200, b"abcde")),
    ("Content-Length: 5\r\nConnection: keep-alive\r\n", Kept(200, b"abcde")),
    ("Content-Length: 5\r\nConnection: close\r\n", Closed(200, b"abcde")),
    ("Content-Length: 5\r\nConnection: x, CLOSE\r\n", Closed(200, b"abcde")),
    ("Content-Length: 5\r\nConnection: keep-alive\r\nConnection: close\r\n", Closed(200, b"abcde")),
    ("Content-Length: 5\r\nConnection: closed\r\n", Kept(200, b"abcde")),
    ("Content-Length: 5\nX: y\n", Kept(200, b"abcde")),
    ("", UntilClose(200, b"abcde")),
    ("Connection: keep-alive\r\n", UntilClose(200, b"abcde")),
    ("Content_Length: 5\r\n", UntilClose(200, b"abcde")),
    ("Content-Encoding: chunked\r\n", UntilClose(200, b"abcde")),
    ("Content-Length:\r\n", NO_NUMBER),
    ("Content-Length: +5\r\n", NO_NUMBER),
    ("Content-Length: -5\r\n", NO_NUMBER),
    ("Content-Length: 5,5\r\n", NO_NUMBER),
    ("Content-Length: 5, 5\r\n", NO_NUMBER),
    ("Content-Length: 5;\r\n", NO_NUMBER),
    ("Content-Length: 5 5\r\n", NO_NUMBER),
    ("Content-Length: 0x5\r\n", NO_NUMBER),
    ("Content-Length: 5_0\r\n", NO_NUMBER),
    ("Content-Length: 5.0\r\n", NO_NUMBER),
    ("Content-Length: \"5\"\r\n", NO_NUMBER),
    ("Content-Length: \u{ff15}\r\n", NO_NUMBER),
    ("Content-Length: 18446744073709551614\r\n", OVERFLOW),
    ("Content-Length: 18446744073709551615\r\n", OVERFLOW),
    ("Content-Length: 18446744073709551621\r\n", OVERFLOW),
    ("Content-Length: 99999999999999999999999999\r\n", OVERFLOW),
    ("Content-Length: 18446744073709551613\r\n", Refused("the connection was closed")),
    ("Content-Length: 500\r\n", Refused("the connection was closed")),
    ("Content-Length: 5\r\nContent-Length: 6\r\n", TWO_LENGTHS),
    ("Content-Length: 5\r\nContent-Length: 05\r\n", TWO_LENGTHS),
    ("Content-Length: 5\r\nContent-Length:\r\n", TWO_LENGTHS),
    ("Content-Length: 5\r\nContent-Length: x\r\n", TWO_LENGTHS),
    ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", BOTH),
    ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", BOTH),
    ("Transfer-Encoding: identity\r\nContent-Length: 5\r\n", BOTH),
    ("Transfer-Encoding:\r\n", UNKNOWN),
    ("Transfer-Encoding: identity\r\n", UNKNOWN),
    ("Transfer-Encoding: gzip\r\n", UNKNOWN),
    ("Transfer-Encoding: gzip, chunked\r\n", UNKNOWN),
    ("Transfer-Encoding: chunked, gzip\r\n", UNKNOWN),
    ("Transfer-Encoding: chunked, chunked\r\n", UNKNOWN),
    ("Transfer-Encoding: ,chunked\r\n", UNKNOWN),
    ("Transfer-Encoding: chunked,\r\n", UNKNOWN),
    ("Transfer-Encoding: xchunked\r\n", UNKNOWN),
    ("Transfer-Encoding: chun ked\r\n", UNKNOWN),
    ("Transfer-Encoding: \"chunked\"\r\n", UNKNOWN),
    ("Transfer-Encoding: chunked; q=1\r\n", UNKNOWN),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", TWO_CODINGS),
    ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", TWO_CODINGS),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", TWO_CODINGS),
    ("Content-Length : 5\r\n", NO_HTTP),
    ("Content-Length\t: 5\r\n", NO_HTTP),
    (" Content-Length: 5\r\n", NO_HTTP),
    ("Content-Length\0: 5\r\n", NO_HTTP),
    ("Transfer-Encoding : chunked\r\n", NO_HTTP),
    ("Transfer-Encoding: chunked\u{b}\r\n", NO_HTTP),
    ("Transfer-Encoding:\r\n chunked\r\n", NO_HTTP),
    ("Content-Length:\r\n 5\r\n", NO_HTTP),
    ("Content-Length: 5\r\n 0\r\n", NO_HTTP),
    ("X: a\r\n folded\r\n", NO_HTTP),
    ("X: a\rContent-Length: 5\r\n", NO_HTTP),
    ("X: a\0b\r\n", NO_HTTP),
    ("X: a\u{7f}b\r\n", NO_HTTP),
    ("X\r\n", NO_HTTP),
    (": a\r\n", NO_HTTP),
    ("X(Y): a\r\n", NO_HTTP),
];

/// First lines before `Content-Length: 5` and a body of five bytes.
const FIRST_LINES: &[(&str, Expected)] = &[
    ("HTTP/1.1 200 OK", Kept(200, b"abcde")),
    ("HTTP/1.1 200", Kept(200, b"abcde")),
    ("HTTP/1.1 200 ", Kept(200, b"abcde")),
    ("HTTP/1.1 299 X Y Z", Kept(299, b"abcde")),
    ("HTTP/1.1 404 \u{e9}", Kept(404, b"abcde")),
    ("HTTP/1.1 500 Internal", Kept(500, b"abcde")),
    ("HTTP/1.1 600 X", Kept(600, b"abcde")),
    ("HTTP/1.1 999 X", Kept(999, b"abcde")),
    ("\r\nHTTP/1.1 200 OK", Kept(200, b"abcde")),
    ("HTTP/1.0 200 OK", Closed(200, b"abcde")),
    ("HTTP/1.0 200 OK\r\nConnection: keep-alive", Closed(200, b"abcde")),
    ("HTTP/1.1 204 No Content", Closed(204, b"")),
    ("HTTP/1.1 304 Not Modified", Closed(304, b"")),
    ("HTTP/1.1 204 No Content\r\nContent-Length: 5", Closed(204, b"")),
    ("HTTP/1.1 205 Reset Content", Kept(205, b"abcde")),
    ("HTTP/1.1 101 Switching Protocols", Refused("it switches to a protocol that nobody asked for")),
    ("HTTP/1.1 100 Continue", NO_HTTP),
    ("HTTP/1.1 000 X", Refused("its status is none of HTTP's")),
    ("HTTP/1.1 099 X", Refused("its status is none of HTTP's")),
    ("HTTP/1.1 20 X", NO_HTTP),
    ("HTTP/1.1 2000 X", NO_HTTP),
    ("HTTP/1.1 2x0 X", NO_HTTP),
    ("HTTP/1.1 -20 X", NO_HTTP),
    ("HTTP/1.1 +20 X", NO_HTTP),
    ("HTTP/1.1  200 OK", NO_HTTP),
    ("HTTP/1.1\t200 OK", NO_HTTP),
    ("HTTP/1.1 200 O\0K", NO_HTTP),
    ("HTTP/1.1 200 O\rK", NO_HTTP),
    ("HTTP/1.1 200OK", NO_HTTP),
    ("HTTP/1.2 200 OK", NO_HTTP),
    ("HTTP/2.0 200 OK", NO_HTTP),
    ("HTTP/2 200 OK", NO_HTTP),
    ("HTTP/0.9 200 OK", NO_HTTP),
    ("HTTP/1.1200 OK", NO_HTTP),
    ("http/1.1 200 OK", NO_HTTP),
    ("ICY 200 OK", NO_HTTP),
    ("hello", NO_HTTP),
    (" HTTP/1.1 200 OK", NO_HTTP),
    ("\0HTTP/1.1 200 OK", NO_HTTP),
    ("xHTTP/1.1 200 OK", NO_HTTP),
    ("0\r\n\r\nHTTP/1.1 200 OK", NO_HTTP),
];

/// Whole messages.
const WHOLE: &[(&str, Expected)] = &[
    ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde", Kept(200, b"abcde")),
    ("HTTP/1.1 103 E\r\nLink: x\r\n\r\nHTTP/1.1 100 C\r\n\r\nHTTP/1.1 204 N\r\n\r\n", Kept(204, b"")),
    ("HTTP/1.1 103 E\r\nConnection: close\r\n\r\nHTTP/1.1 204 N\r\n\r\n", Kept(204, b"")),
    ("HTTP/1.1 100 C\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", BOTH),
    ("HTTP/1.1 100 C\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 204 N\r\n\r\n", NO_HTTP),
    ("HTTP/1.1 204 N\r\nContent-Length: 0\r\n\r\n", Kept(204, b"")),
    ("HTTP/1.1 304 N\r\nTransfer-Encoding: chunked\r\n\r\n", Closed(304, b"")),
    ("HTTP/1.1 204 N\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nabcde", Closed(204, b"")),
    ("HTTP/1.1 204 N\r\nContent-Length: x\r\n\r\n", NO_NUMBER),
    ("HTTP/1.1 202 A\r\nContent-Length: 0\r\n\r\n", Kept(202, b"")),
    ("HTTP/1.0 200 OK\r\n\r\nabcde", UntilClose(200, b"abcde")),
    ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Refused("in HTTP/1.0")),
];

/// Chunked bodies of a 200.
const CHUNKS: &[(&str, Expected)] = &[
    ("5\r\nabcde\r\n0\r\n\r\n", Kept(200, b"abcde")),
    ("5;x=y\r\nabcde\r\n0\r\nT: t\r\n\r\n", Kept(200, b"abcde")),
    ("0005 \r\nabcde\r\n000\r\n\r\n", Kept(200, b"abcde")),
    ("0\r\nContent-Length: 5\r\n\r\n", Kept(200, b"")),
    ("+5\r\nabcde\r\n0\r\n\r\n", NO_SIZE),
    ("-5\r\nabcde\r\n0\r\n\r\n", NO_SIZE),
    ("0x5\r\nabcde\r\n0\r\n\r\n", NO_SIZE),
    ("5_\r\nabcde\r\n0\r\n\r\n", NO_SIZE),
    (" 5\r\nabcde\r\n0\r\n\r\n", NO_SIZE),
    ("5 5\r\nabcde\r\n0\r\n\r\n", NO_SIZE),
    ("\r\nabcde\r\n0\r\n\r\n", NO_SIZE),
    ("5\nabcde\r\n0\r\n\r\n", NO_SIZE),
    ("5\r\r\nabcde\r\n0\r\n\r\n", NO_SIZE),
    ("5;x\ry\r\nabcde\r\n0\r\n\r\n", Refused("a chunk extension has a bare carriage return")),
    ("10000000000000005\r\nabcde\r\n0\r\n\r\n", Refused("larger than the body may be")),
    ("ffffffffffffffff\r\nabcde\r\n0\r\n\r\n", Refused("the connection was closed")),
    ("5\r\nabcdef\r\n0\r\n\r\n", TOO_LONG),
    ("5\r\nabcd\r\n0\r\n\r\n", TOO_LONG),
    ("5\r\nabcde\n0\r\n\r\n", TOO_LONG),
    ("5\r\nabcde\r\n0\r\n\n", NO_FIELD),
    ("5\r\nabcde\r\n0\r\nT: t\n\r\n", NO_FIELD),
    ("5\r\nabcde\r\n0\r\nT\r\n\r\n", NO_FIELD),
    ("5\r\nabcde\r\n0\r\nT : t\r\n\r\n", NO_FIELD),
    ("5\r\nabcde\r\n0\r\nT: t\r\n u\r\n\r\n", NO_FIELD),
    ("5\r\nabcde\r\n0\r\nT: \u{1}\r\n\r\n", NO_FIELD),
    ("5\r\nabcde\r\n0\r\n", Refused("a trailer is no header field")),
];

pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |text: String, expected| cases.push(Case { bytes: text.into_bytes(), expected });
    for (lines, expected) in LINES {
        add(format!("HTTP/1.1 200 OK\r\n{lines}\r\nabcde"), *expected);
    }
    for (line, expected) in FIRST_LINES {
        add(format!("{line}\r\nContent-Length: 5\r\n\r\nabcde"), *expected);
    }
    for (text, expected) in WHOLE {
        add((*text).to_owned(), *expected);
    }
    for (body, expected) in CHUNKS {
        add(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}"), *expected);
    }
    // `HEADERS_MAX`, `HEAD_BYTES_MAX`, `INTERIM_HEADS_MAX`.
    let filled = |fields: String| format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 5\r\n\r\nabcde");
    add(filled("X: y\r\n".repeat(99)), Kept(200, b"abcde"));
    add(filled("X: y\r\n".repeat(100)), Refused("HEADERS_MAX"));
    add(filled(format!("X: {}\r\n", "y".repeat(66_000))), Refused("HEAD_BYTES_MAX"));
    add(format!("{}HTTP/1.1 204 N\r\n\r\n", "HTTP/1.1 103 E\r\n\r\n".repeat(64)), Kept(204, b""));
    add("HTTP/1.1 103 E\r\n\r\n".repeat(65), Refused("INTERIM_HEADS_MAX"));
    cases
}
