//! Differential test of requests: our server against hyper's.
//!
//! Property: every request that ours reads, hyper reads with the same method, path, fields, body and end. Ours may
//! refuse more.
//!
//! Known differences, none of them in where a request ends: hyper reports the empty path of an absolute target as `/`,
//! and reports one of several equal `Content-Length` fields.

use http::StatusCode;
use toolcrib_http1::server::observed::{Observed, observe};
use toolcrib_testkit::oracle::{self, ReadRequest};
use toolcrib_testkit::script::Script;

use crate::pieces::{arrivals, bytewise};
use crate::request_cases::{self, Case, Expected, INNOCENT};

/// Maximum bytes of a body.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;

/// Fields that are compared.
const FIELDS: [&str; 5] = ["host", "content-length", "transfer-encoding", "mcp-method", "x-a"];

/// Returns the requests that our server read completely, and its response statuses without interim ones.
pub(crate) async fn ours(pieces: Vec<Vec<u8>>) -> (Vec<Observed>, Vec<u16>) {
    let script = Script::new(pieces);
    let seen = script.seen();
    let mut read = observe(script, BODY_BYTES_MAX).await;
    read.retain(|request| matches!(request.body, Some(Ok(_))));
    let written = String::from_utf8(seen.written()).unwrap();
    let status = |answer: &str| answer[..3].parse::<StatusCode>().unwrap();
    let statuses = written.split("HTTP/1.1 ").skip(1).map(status);
    (read, statuses.filter(|status| !status.is_informational()).map(|status| status.as_u16()).collect())
}

/// Returns the requests that hyper's server read completely.
pub(crate) async fn theirs(pieces: Vec<Vec<u8>>) -> Vec<ReadRequest> {
    oracle::requests(Script::new(pieces)).await
}

pub(crate) fn body(request: &Observed) -> &[u8] {
    match &request.body {
        Some(Ok(body)) => body,
        _ => panic!("{request:?} was not read whole"),
    }
}

/// Asserts that hyper read each of our requests alike.
pub(crate) fn assert_agreed(ours: &[Observed], theirs: &[ReadRequest], of: &str) {
    for (at, own) in ours.iter().enumerate() {
        let Some(other) = theirs.get(at) else { panic!("{of}: hyper did not read {own:?}") };
        let path = if own.path.is_empty() { b"/" } else { own.path.as_slice() };
        assert_eq!((own.method.as_bytes(), path), (other.method.as_bytes(), other.path.as_bytes()), "{of}");
        assert_eq!(own.query, other.query, "{of}");
        assert_eq!(body(own), other.body, "{of}");
        for field in FIELDS {
            let mut values: Vec<&[u8]> =
                own.fields.iter().filter(|(name, _)| *name == field).map(|(_, value)| &**value).collect();
            if field == "content-length" {
                values.dedup();
            }
            let shown: Vec<&[u8]> =
                other.fields.get_all(field).iter().map(http::HeaderValue::as_bytes).collect();
            assert_eq!(values, shown, "{of}: {field}");
        }
    }
}

async fn check(case: &Case) {
    let of = &case.name();
    let input = [case.bytes.as_slice(), INNOCENT.as_bytes()].concat();
    let (read, statuses) = ours(vec![input.clone()]).await;
    let bodies: Vec<&[u8]> = read.iter().map(body).collect();
    let innocent = |request: &Observed| request.path == b"/innocent" && body(request).is_empty();
    match case.expected {
        Expected::Read(first) => {
            assert_eq!(
                (bodies.as_slice(), statuses.as_slice()),
                (&[first, b""][..], &[200, 200][..]),
                "{of}"
            );
            assert!(innocent(&read[1]), "{of}");
        }
        Expected::Last(only) => {
            assert_eq!((bodies.as_slice(), statuses.as_slice()), (&[only][..], &[200][..]), "{of}");
        }
        Expected::Refused(status) => assert_eq!((bodies.len(), statuses), (0, vec![status]), "{of}"),
        Expected::Waits => assert_eq!((bodies.len(), statuses), (0, vec![]), "{of}"),
    }
    for pieces in arrivals(&input) {
        let shown = format!("{of} in {} pieces, the first of {} bytes", pieces.len(), pieces[0].len());
        assert_eq!(ours(pieces).await, (read.clone(), statuses_of(case)), "{shown}");
    }
    assert_agreed(&read, &theirs(vec![input.clone()]).await, of);
    if input.len() < 2_000 {
        assert_agreed(&read, &theirs(bytewise(&input)).await, of);
    }
}

fn statuses_of(case: &Case) -> Vec<u16> {
    match case.expected {
        Expected::Read(_) => vec![200, 200],
        Expected::Last(_) => vec![200],
        Expected::Refused(status) => vec![status],
        Expected::Waits => vec![],
    }
}

/// R14.2: at least 200 ambiguous or malformed requests, each followed by an innocent one. Each is refused with its
/// status or read with one framing, however it arrives, and none is read that hyper refuses or ends elsewhere.
#[tokio::test(start_paused = true)]
async fn malformed_requests_are_refused_or_read_as_hyper_reads_them() {
    let cases = request_cases::all();
    assert!(cases.len() >= 200, "{} cases", cases.len());
    for case in &cases {
        check(case).await;
    }
    let refused = cases.iter().filter(|case| matches!(case.expected, Expected::Refused(_))).count();
    println!("{} requests, {refused} of them refused", cases.len());
}
