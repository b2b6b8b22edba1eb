//! Malformed chunked bodies of requests.

use crate::request_cases::Expected::{self, Read, Refused, Waits};
use crate::request_cases::{Case, post};

/// First chunk lines, without their ends, before a chunk of five bytes.
const SIZES: &[(&str, Expected)] = &[
    ("5", Read(b"abcde")),
    ("05", Read(b"abcde")),
    ("00000000000000000000000005", Read(b"abcde")),
    ("5 ", Read(b"abcde")),
    ("5\t", Read(b"abcde")),
    ("5;", Read(b"abcde")),
    ("5;x", Read(b"abcde")),
    ("5;x=y", Read(b"abcde")),
    ("5 ; x = y", Read(b"abcde")),
    ("5;x=\"y;z\"", Read(b"abcde")),
    ("5;;;", Read(b"abcde")),
    ("5;\u{e9}", Read(b"abcde")),
    ("5;\0", Read(b"abcde")),
    ("", Refused(400)),
    (" 5", Refused(400)),
    ("\t5", Refused(400)),
    ("+5", Refused(400)),
    ("-5", Refused(400)),
    ("-0", Refused(400)),
    ("0x5", Refused(400)),
    ("0X5", Refused(400)),
    ("5h", Refused(400)),
    ("5_", Refused(400)),
    ("0_5", Refused(400)),
    ("5,5", Refused(400)),
    ("5.", Refused(400)),
    ("5 5", Refused(400)),
    ("5 x", Refused(400)),
    ("g", Refused(400)),
    ("\"5\"", Refused(400)),
    ("\u{ff15}", Refused(400)),
    ("5\0", Refused(400)),
    ("5\u{b}", Refused(400)),
    ("5\u{c}", Refused(400)),
    ("5\r", Refused(400)),
    ("5\r5", Refused(400)),
    ("5;\r", Refused(400)),
    ("5;x\ry", Refused(400)),
    ("5\n", Refused(400)),
    (";x", Refused(400)),
    ("=5", Refused(400)),
    ("10001", Refused(400)),
    ("7fffffffffffffff", Refused(400)),
    ("ffffffffffffffff", Refused(400)),
    ("10000000000000005", Refused(400)),
    ("fffffffffffffffffffffffffffffffb", Refused(400)),
];

/// Whole chunked bodies.
const BODIES: &[(&str, Expected)] = &[
    ("0\r\n\r\n", Read(b"")),
    ("000\r\n\r\n", Read(b"")),
    ("5\r\nabcde\r\n00\r\n\r\n", Read(b"abcde")),
    ("1\r\na\r\n4\r\nbcde\r\n0\r\n\r\n", Read(b"abcde")),
    ("A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", Read(b"01234567890123456789")),
    ("2\r\n\r\n\r\n0\r\n\r\n", Read(b"\r\n")),
    ("5\r\nabcde\r\n0;last\r\n\r\n", Read(b"abcde")),
    ("5\nabcde\r\n0\r\n\r\n", Refused(400)),
    ("5;x\nabcde\r\n0\r\n\r\n", Refused(400)),
    ("5\r\nabcde\n0\r\n\r\n", Refused(400)),
    ("5\r\nabcde\r0\r\n\r\n", Refused(400)),
    ("5\r\nabcde0\r\n\r\n", Refused(400)),
    ("5\r\nabcdef\r\n0\r\n\r\n", Refused(400)),
    ("5\r\nabcd\r\n0\r\n\r\n", Refused(400)),
    ("5\r\nabcde\r\n\r\n0\r\n\r\n", Refused(400)),
    ("5\r\nabcde\r\n0\n\r\n", Refused(400)),
    ("5\r\nabcde\r\n0\r\n\n", Refused(400)),
    ("5\r\nabcde\r\n0\r\n\r", Refused(400)),
    ("5\r\nabcde\r\n-0\r\n\r\n", Refused(400)),
    ("\r\n5\r\nabcde\r\n0\r\n\r\n", Refused(400)),
    ("abcde", Refused(400)),
    ("{}", Refused(400)),
    ("100\r\nabcde\r\n0\r\n\r\n", Waits),
];

/// Trailers, behind the last chunk and before the empty line.
const TRAILERS: &[(&str, Expected)] = &[
    ("X: y\r\n", Read(b"")),
    ("X:\r\n", Read(b"")),
    ("X: y\r\nZ: z\r\n", Read(b"")),
    ("X: \u{e9}\r\n", Read(b"")),
    ("X: \ty\r\n", Read(b"")),
    ("Content-Length: 5\r\n", Read(b"")),
    ("Transfer-Encoding: chunked\r\n", Read(b"")),
    ("Host: other\r\n", Read(b"")),
    ("X: y\n", Refused(400)),
    ("X\r\n", Refused(400)),
    (": y\r\n", Refused(400)),
    ("X : y\r\n", Refused(400)),
    (" X: y\r\n", Refused(400)),
    ("X: y\r\n z\r\n", Refused(400)),
    ("X: y\r\n\tz\r\n", Refused(400)),
    ("X: y\rZ: z\r\n", Refused(400)),
    ("X: y\r\r\n", Refused(400)),
    ("X: \0\r\n", Refused(400)),
    ("X: \u{1}\r\n", Refused(400)),
    ("X: \u{7f}\r\n", Refused(400)),
    ("X(: y\r\n", Refused(400)),
    ("\u{e9}: y\r\n", Refused(400)),
    ("GET /other HTTP/1.1\r\n", Refused(400)),
    ("0\r\n", Refused(400)),
];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |body: String, expected| {
        cases.push(Case::new(post("Transfer-Encoding: chunked\r\n", &body), expected));
    };
    for (line, expected) in SIZES {
        add(format!("{line}\r\nabcde\r\n0\r\n\r\n"), *expected);
    }
    for (body, expected) in BODIES {
        add((*body).to_owned(), *expected);
    }
    for (trailers, expected) in TRAILERS {
        add(format!("0\r\n{trailers}\r\n"), *expected);
    }
    // `HEADERS_MAX`, `TRAILER_BYTES_MAX`, `CHUNK_LINE_BYTES_MAX`, `CHUNK_EXTENSION_BYTES_MAX`.
    add(format!("0\r\n{}\r\n", "X: y\r\n".repeat(100)), Read(b""));
    add(format!("0\r\n{}\r\n", "X: y\r\n".repeat(101)), Refused(400));
    add(format!("0\r\nX: {}\r\n\r\n", "y".repeat(17_000)), Refused(400));
    add(format!("{}\r\n\r\n", "0".repeat(5_000)), Refused(400));
    add(format!("0;{}\r\n\r\n", "x".repeat(5_000)), Refused(400));
    add(format!("{}0\r\n\r\n", format!("1;{}\r\na\r\n", "x".repeat(4_000)).repeat(5)), Refused(400));
    cases
}
