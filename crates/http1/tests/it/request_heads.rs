//! Malformed heads: lengths, codings, names, values, lines, targets, hosts, versions, connections, expectations.

use crate::request_cases::Expected::{self, Last, Read, Refused, Waits};
use crate::request_cases::{Case, post};

/// `Content-Length` values before a body of five bytes.
const LENGTHS: &[(&str, Expected)] = &[
    ("5", Read(b"abcde")),
    ("05", Read(b"abcde")),
    ("00000000000000000000000000000005", Read(b"abcde")),
    (" 5", Read(b"abcde")),
    ("\t5", Read(b"abcde")),
    ("5 ", Read(b"abcde")),
    ("5\t ", Read(b"abcde")),
    ("", Refused(400)),
    (" ", Refused(400)),
    ("+5", Refused(400)),
    ("-5", Refused(400)),
    ("-0", Refused(400)),
    ("5,5", Refused(400)),
    ("5, 5", Refused(400)),
    ("5,", Refused(400)),
    (",5", Refused(400)),
    ("5,6", Refused(400)),
    ("5;5", Refused(400)),
    ("5 5", Refused(400)),
    ("0x5", Refused(400)),
    ("5h", Refused(400)),
    ("0b101", Refused(400)),
    ("5_0", Refused(400)),
    ("5.0", Refused(400)),
    ("5e0", Refused(400)),
    ("'5'", Refused(400)),
    ("\"5\"", Refused(400)),
    ("five", Refused(400)),
    ("NaN", Refused(400)),
    ("\u{ff15}", Refused(400)),
    ("\u{a0}5", Refused(400)),
    ("5\u{b}", Refused(400)),
    ("5\u{c}", Refused(400)),
    ("5\0", Refused(400)),
    ("5\r", Refused(400)),
    ("65537", Refused(400)),
    ("9223372036854775808", Refused(400)),
    ("18446744073709551613", Refused(400)),
    ("18446744073709551614", Refused(413)),
    ("18446744073709551615", Refused(413)),
    ("18446744073709551616", Refused(413)),
    ("18446744073709551621", Refused(413)),
    ("99999999999999999999999999999999", Refused(413)),
    ("70", Waits),
];

/// `Transfer-Encoding` values before a chunked body.
const CODINGS: &[(&str, Expected)] = &[
    ("chunked", Read(b"abcde")),
    ("Chunked", Read(b"abcde")),
    ("CHUNKED", Read(b"abcde")),
    ("cHuNkEd", Read(b"abcde")),
    ("  chunked", Read(b"abcde")),
    ("\tchunked", Read(b"abcde")),
    ("chunked ", Read(b"abcde")),
    ("chunked\t", Read(b"abcde")),
    ("", Refused(501)),
    (",chunked", Refused(501)),
    ("chunked,", Refused(501)),
    ("chunked, chunked", Refused(501)),
    ("chunked, identity", Refused(501)),
    ("identity, chunked", Refused(501)),
    ("identity", Refused(501)),
    ("gzip, chunked", Refused(501)),
    ("chunked, gzip", Refused(501)),
    ("gzip", Refused(501)),
    ("deflate", Refused(501)),
    ("trailers, chunked", Refused(501)),
    ("xchunked", Refused(501)),
    ("chunkedx", Refused(501)),
    ("x chunked", Refused(501)),
    ("chun ked", Refused(501)),
    ("chunke", Refused(501)),
    ("chunked;q=1", Refused(501)),
    ("chunked; x", Refused(501)),
    ("\"chunked\"", Refused(501)),
    ("'chunked'", Refused(501)),
    ("[chunked]", Refused(501)),
    ("chunked\u{a0}", Refused(501)),
    ("\u{212a}chunked", Refused(501)),
    ("chunked\u{b}", Refused(400)),
    ("\u{b}chunked", Refused(400)),
    ("chunked\u{c}", Refused(400)),
    ("chunked\0", Refused(400)),
    ("\u{8}chunked", Refused(400)),
    ("chunked\r", Refused(400)),
    ("\u{7f}chunked", Refused(400)),
];

/// Header lines with several framing fields, before a body that is five bytes and chunked at once.
const BOTH: &[(&str, Expected)] = &[
    ("Content-Length: 15\r\nContent-Length: 15\r\n", Read(b"5\r\nabcde\r\n0\r\n\r\n")),
    ("Content-Length: 15\r\ncontent-length: 15\r\nCONTENT-LENGTH: 15\r\n", Read(b"5\r\nabcde\r\n0\r\n\r\n")),
    ("Content-Length: 15\r\nContent-Length: 5\r\n", Refused(400)),
    ("Content-Length: 5\r\nContent-Length: 15\r\n", Refused(400)),
    ("Content-Length: 15\r\nContent-Length: 015\r\n", Refused(400)),
    ("Content-Length: 15\r\nContent-Length:\r\n", Refused(400)),
    ("Content-Length: 15\r\nContent-Length: x\r\n", Refused(400)),
    ("Content-Length: 0\r\nContent-Length: 15\r\n", Refused(400)),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", Refused(400)),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", Refused(400)),
    ("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", Refused(400)),
    ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", Refused(400)),
    ("Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\n", Refused(400)),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n", Refused(400)),
    ("Content-Length: 15\r\nX-A: b\r\nTransfer-Encoding: chunked\r\nX-A: c\r\n", Refused(400)),
    ("Content-Length: 15\r\nContent-Length: 15\r\nTransfer-Encoding: chunked\r\n", Refused(400)),
    ("Transfer-Encoding: chunked\r\nContent-Length: x\r\n", Refused(400)),
    ("Transfer-Encoding: chunked\r\nContent-Length: 99999999999999999999999\r\n", Refused(413)),
];

/// Invalid spellings of a header name; `NAME` stands for the name.
const NAMES: &[&str] = &[
    "NAME ",
    "NAME\t",
    " NAME",
    "\tNAME",
    "NAME\0",
    "\0NAME",
    "NAME\r",
    "NAME\u{b}",
    "(NAME)",
    "\"NAME\"",
    "NAME;",
    "NAME,",
    "NA ME",
    "NAME\u{e9}",
    "<NAME>",
    "NAME\u{7f}",
    "{NAME}",
    "NAME/",
    "NAME@",
    "[NAME]",
];

/// Further header lines.
const LINES: &[(&str, Expected)] = &[
    ("X-A: a\r\n b\r\n", Refused(400)),
    ("X-A: a\r\n\tb\r\n", Refused(400)),
    ("X-A: a\r\n \r\n", Refused(400)),
    ("X-A:\r\n a\r\n", Refused(400)),
    ("X-A: a\n b\r\n", Refused(400)),
    ("Content-Length:\r\n 0\r\n", Refused(400)),
    ("Content-Length: 1\r\n 0\r\n", Refused(400)),
    ("Transfer-Encoding:\r\n chunked\r\n", Refused(400)),
    ("Transfer-Encoding: chunked\r\n , gzip\r\n", Refused(400)),
    ("X-A: a\r\n Content-Length: 5\r\n", Refused(400)),
    ("X-A: a\rb\r\n", Refused(400)),
    ("X-A: a\rContent-Length: 5\r\n", Refused(400)),
    ("X-A: a\r\rContent-Length: 5\r\n", Refused(400)),
    ("X-A: a\r\r\n", Refused(400)),
    ("X-A\r\n", Refused(400)),
    ("X-A\r\n: a\r\n", Refused(400)),
    (": a\r\n", Refused(400)),
    (":\r\n", Refused(400)),
    ("=a: b\r\n", Refused(400)),
    ("\u{feff}X-A: a\r\n", Refused(400)),
    ("GET / HTTP/1.1\r\n", Refused(400)),
    // A line that ends with a bare line feed is accepted (RFC 9112 section 2.2), by hyper and nginx as well.
    ("X-A: a\nX-B: b\n", Read(b"")),
    ("X-A: \u{e9}\r\n", Read(b"")),
    ("X-A:\r\n", Read(b"")),
    ("X-A:a:b\r\n", Read(b"")),
    ("Content_Length: 5\r\n", Read(b"")),
    ("Content-Length-: 5\r\n", Read(b"")),
    ("Transfer_Encoding: chunked\r\n", Read(b"")),
    ("X-Content-Length: 5\r\nX-Transfer-Encoding: chunked\r\n", Read(b"")),
    ("TE: trailers, chunked\r\n", Read(b"")),
    ("Trailer: Content-Length\r\n", Read(b"")),
    ("Content-Encoding: chunked\r\n", Read(b"")),
    (
        "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
        Read(b""),
    ),
    ("Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Key: x\r\n", Read(b"")),
    ("Connection: close\r\n", Last(b"")),
    ("Connection: Close\r\n", Last(b"")),
    ("Connection: x, close\r\n", Last(b"")),
    ("Connection: x,close,y\r\n", Last(b"")),
    ("Connection: keep-alive, close\r\n", Last(b"")),
    ("Connection: close\r\nConnection: keep-alive\r\n", Last(b"")),
    ("Connection: keep-alive\r\nConnection: close\r\n", Last(b"")),
    ("Connection: keep-alive\r\n", Read(b"")),
    ("Connection: closed\r\n", Read(b"")),
    ("Connection: x\r\n", Read(b"")),
    ("Connection: Content-Length\r\n", Read(b"")),
    ("Connection:\r\n", Read(b"")),
    ("Proxy-Connection: close\r\n", Read(b"")),
    ("Keep-Alive: timeout=0\r\n", Read(b"")),
    ("Expect: 100-continue\r\n", Read(b"")),
    ("Expect: 100-CONTINUE\r\n", Read(b"")),
    ("Expect: 100-continue\r\nExpect: 100-continue\r\n", Read(b"")),
    ("Expect: 100-continue, x\r\n", Refused(417)),
    ("Expect: 100-continue\r\nExpect: x\r\n", Refused(417)),
    ("Expect: x\r\n", Refused(417)),
    ("Expect:\r\n", Refused(417)),
    ("Expect: 200-ok\r\n", Refused(417)),
    ("Expect: \u{e9}\r\n", Refused(417)),
];

/// First lines of a request for `localhost`.
const FIRST_LINES: &[(&str, Expected)] = &[
    ("GET / HTTP/1.1", Read(b"")),
    ("GET /a?b=c?d HTTP/1.1", Read(b"")),
    ("GET /a?to=http://x/y HTTP/1.1", Read(b"")),
    ("GET //x/y HTTP/1.1", Read(b"")),
    ("GET /../../x HTTP/1.1", Read(b"")),
    ("GET /%00%0d%0a HTTP/1.1", Read(b"")),
    ("OPTIONS * HTTP/1.1", Read(b"")),
    ("TRACE / HTTP/1.1", Read(b"")),
    ("HEAD / HTTP/1.1", Read(b"")),
    ("DELETE / HTTP/1.1", Read(b"")),
    ("get / HTTP/1.1", Read(b"")),
    ("M-SEARCH / HTTP/1.1", Read(b"")),
    ("GET http://localhost/ HTTP/1.1", Read(b"")),
    ("GET HTTP://LOCALHOST/a?b HTTP/1.1", Read(b"")),
    ("GET http://localhost HTTP/1.1", Read(b"")),
    ("GET http://localhost?a HTTP/1.1", Read(b"")),
    ("GET https://localhost/ HTTP/1.1", Read(b"")),
    ("GET / HTTP/1.0", Last(b"")),
    ("GET http://other/ HTTP/1.1", Refused(400)),
    ("GET http://localhost:80/ HTTP/1.1", Refused(400)),
    ("GET http://user@localhost/ HTTP/1.1", Refused(400)),
    ("GET http://localhost@other/ HTTP/1.1", Refused(400)),
    ("GET http:///a HTTP/1.1", Refused(400)),
    ("GET http:/a HTTP/1.1", Refused(400)),
    ("GET :// HTTP/1.1", Refused(400)),
    ("GET localhost HTTP/1.1", Refused(400)),
    ("GET localhost:80 HTTP/1.1", Refused(400)),
    ("GET a/b HTTP/1.1", Refused(400)),
    ("GET ?a HTTP/1.1", Refused(400)),
    ("GET /a#b HTTP/1.1", Refused(400)),
    ("GET /a<b> HTTP/1.1", Refused(400)),
    ("GET /a\u{7f} HTTP/1.1", Refused(400)),
    ("GET /a b HTTP/1.1", Refused(505)),
    ("GET /a\tb HTTP/1.1", Refused(400)),
    ("GET /a\0b HTTP/1.1", Refused(400)),
    ("GET  / HTTP/1.1", Refused(400)),
    ("GET /  HTTP/1.1", Refused(505)),
    ("GET / HTTP/1.1 ", Refused(400)),
    (" GET / HTTP/1.1", Refused(400)),
    ("\tGET / HTTP/1.1", Refused(400)),
    ("GET\t/\tHTTP/1.1", Refused(400)),
    ("GET /", Refused(400)),
    ("GET", Refused(400)),
    ("/ HTTP/1.1", Refused(400)),
    ("G(T / HTTP/1.1", Refused(400)),
    ("G\0T / HTTP/1.1", Refused(400)),
    ("G\u{e9}T / HTTP/1.1", Refused(400)),
    ("GET / HTTP/1.1\rX: y", Refused(400)),
    ("GET / HTTP/1.2", Refused(505)),
    ("GET / HTTP/1.3", Refused(505)),
    ("GET / HTTP/2.0", Refused(505)),
    ("GET / HTTP/2", Refused(505)),
    ("GET / HTTP/3", Refused(505)),
    ("GET / HTTP/0.9", Refused(505)),
    ("GET / HTTP/1.11", Refused(400)),
    ("GET / HTTP/1.01", Refused(400)),
    ("GET / HTTP/01.1", Refused(505)),
    ("GET / HTTP/1,1", Refused(505)),
    ("GET / HTTP/1", Refused(505)),
    ("GET / HTTP/", Refused(505)),
    ("GET / http/1.1", Refused(505)),
    ("GET / HTTPS/1.1", Refused(505)),
    ("GET / XTTP/1.1", Refused(505)),
    ("GET / ICAP/1.0", Refused(505)),
    ("PRI * HTTP/2.0", Refused(505)),
    ("CONNECT localhost:80 HTTP/1.1", Refused(501)),
    ("CONNECT / HTTP/1.1", Refused(501)),
    ("CONNECT http://localhost/ HTTP/1.1", Refused(501)),
    ("HTTP/1.1 200 OK", Refused(400)),
    ("\u{16}\u{3}\u{1}", Refused(400)),
];

/// `Host` lines. A request without one is left to the service, which knows the hosts that it serves.
const HOSTS: &[(&str, Expected)] = &[
    ("", Read(b"")),
    ("Host:\r\n", Read(b"")),
    ("Host: [::1]:80\r\n", Read(b"")),
    ("Host: a\r\nHost: a\r\n", Refused(400)),
    ("Host: a\r\nHost: b\r\n", Refused(400)),
    ("Host: a\r\nhost:\r\n", Refused(400)),
    ("Host: a, b\r\n", Refused(400)),
    ("Host: a,b\r\n", Refused(400)),
    ("Host: a b\r\n", Refused(400)),
    ("Host: a\tb\r\n", Refused(400)),
    ("Host: a/b\r\n", Refused(400)),
    ("Host: http://a\r\n", Refused(400)),
    ("Host: a@b\r\n", Refused(400)),
    ("Host: a?b\r\n", Refused(400)),
    ("Host: a#b\r\n", Refused(400)),
    ("Host: a\\b\r\n", Refused(400)),
    ("Host: \"a\"\r\n", Refused(400)),
    ("Host: \u{e9}\r\n", Refused(400)),
    ("Host : a\r\n", Refused(400)),
    ("Host: a\r\n b\r\n", Refused(400)),
];

/// Bytes before an ordinary request.
const BEFORE: &[(&str, Expected)] = &[
    ("\r\n", Read(b"")),
    ("\n", Read(b"")),
    ("\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n", Read(b"")),
    ("\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n", Refused(400)),
    ("\r", Refused(400)),
    ("\r\r\n", Refused(400)),
    (" \r\n", Refused(400)),
    ("\0", Refused(400)),
    ("x\r\n", Refused(400)),
    ("0\r\n\r\n", Refused(400)),
    // The method of the next request begins with these letters.
    ("abcde", Read(b"")),
    ("\u{feff}", Refused(400)),
    ("X-A: b\r\n", Refused(400)),
];

/// HTTP/1.0 header lines before a body of five bytes.
const OLD: &[(&str, Expected)] = &[
    ("Content-Length: 5\r\n", Last(b"abcde")),
    ("Content-Length: 5\r\nConnection: keep-alive\r\n", Read(b"abcde")),
    ("Content-Length: 5\r\nConnection: Keep-Alive, x\r\n", Read(b"abcde")),
    ("Content-Length: 5\r\nConnection: keep-alive, close\r\n", Last(b"abcde")),
    ("Content-Length: 5\r\nConnection: keep-alive, \u{e9}\r\n", Last(b"abcde")),
    ("Content-Length: 5\r\nExpect: 100-continue\r\n", Last(b"abcde")),
    ("Transfer-Encoding: chunked\r\n", Refused(400)),
    ("Transfer-Encoding: identity\r\n", Refused(400)),
    ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", Refused(400)),
];

pub(crate) fn cases() -> Vec<Case> {
    const CHUNKS: &str = "5\r\nabcde\r\n0\r\n\r\n";
    let mut cases = Vec::new();
    let mut add = |text: String, expected| cases.push(Case::new(text, expected));
    for (value, expected) in LENGTHS {
        add(post(&format!("Content-Length: {value}\r\n"), "abcde"), *expected);
    }
    for (value, expected) in CODINGS {
        let line = format!("Transfer-Encoding: {value}\r\n");
        add(post(&line, CHUNKS), *expected);
        // A length beside a transfer coding is refused, in either order.
        add(post(&format!("Content-Length: 15\r\n{line}"), CHUNKS), Refused(400));
        add(post(&format!("{line}Content-Length: 15\r\n"), CHUNKS), Refused(400));
    }
    for (lines, expected) in BOTH {
        add(post(lines, CHUNKS), *expected);
    }
    for spelled in NAMES {
        for (name, value) in [("Content-Length", "5"), ("Transfer-Encoding", "chunked"), ("X-A", "a")] {
            add(post(&format!("{}: {value}\r\n", spelled.replace("NAME", name)), ""), Refused(400));
        }
    }
    for (lines, expected) in LINES {
        add(post(lines, ""), *expected);
    }
    for control in (0_u8..0x20).filter(|byte| !b"\t\n\r".contains(byte)).chain([0x7f]) {
        add(post(&format!("X-A: a{}b\r\n", char::from(control)), ""), Refused(400));
    }
    for (line, expected) in FIRST_LINES {
        add(format!("{line}\r\nHost: localhost\r\n\r\n"), *expected);
    }
    for (lines, expected) in HOSTS {
        add(format!("GET / HTTP/1.1\r\n{lines}\r\n"), *expected);
    }
    for (before, expected) in BEFORE {
        add(format!("{before}{}", post("", "")), *expected);
    }
    for (lines, expected) in OLD {
        add(format!("POST / HTTP/1.0\r\nHost: localhost\r\n{lines}\r\nabcde"), *expected);
    }
    // `HEADERS_MAX`, `HEAD_BYTES_MAX`: with `Host`, the first case has 100 fields.
    add(post(&"X-B: c\r\n".repeat(99), ""), Read(b""));
    add(post(&"X-B: c\r\n".repeat(100), ""), Refused(431));
    add(post(&format!("X-B: {}\r\n", "c".repeat(60_000)), ""), Read(b""));
    add(post(&format!("X-B: {}\r\n", "c".repeat(66_000)), ""), Refused(431));
    add(post(&format!("{}: c\r\n", "X".repeat(66_000)), ""), Refused(431));
    add(format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(66_000)), Refused(431));
    add(format!("{} / HTTP/1.1\r\nHost: localhost\r\n\r\n", "A".repeat(66_000)), Refused(431));
    cases
}
