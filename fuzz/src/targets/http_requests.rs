//! Fuzz target for requests on one kept connection: with lengths, in chunks, pipelined.
//!
//! Properties: requests and response statuses do not depend on how the bytes were split. A request ends where the
//! plain parser ends it. hyper reads every request that the server reads, with the same result.

use std::time::Duration;

use toolcrib_http1::server::observed::{Observed, REFUSED_PATH, observe};
use toolcrib_testkit::oracle;

use super::framing::Head;
use crate::script::{Script, block_on, splits};
use crate::target::{Memory, Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "http_requests",
    seeds,
    heavy,
    dictionary: DICTIONARY,
    bytes_max: 64 * 1024,
    cpu_max: Duration::from_millis(500),
    memory_max: Memory { factor: 64, constant: 512 * 1024 },
    run,
};

const DICTIONARY: &[&str] = &[
    "GET / HTTP/1.1\r\n",
    "POST /mcp HTTP/1.1\r\n",
    "HEAD / HTTP/1.0\r\n",
    "POST /refused HTTP/1.1\r\n",
    "Host: localhost\r\n",
    "Content-Length: 2\r\n",
    "Content-Length: 0\r\n",
    "Content-Length: 99999999999999999999999\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "Expect: 100-continue\r\n",
    "X-A: b\r\n",
    "\r\n\r\n",
    "2;x=y\r\nab\r\n",
    "+2\r\nab\r\n",
    "0\r\n\r\n",
    "0\r\nT: t\r\n\r\n",
    "\n",
];

/// Maximum bytes of a body, low enough to be reached.
const BODY_BYTES_MAX: usize = 4_096;

fn plain(body: &str) -> String {
    let length = body.len();
    format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{body}")
}

fn chunked(parts: &[&str], trailers: &str) -> String {
    let parts: String = parts.iter().map(|part| format!("{:x}\r\n{part}\r\n", part.len())).collect();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{parts}0\r\n{trailers}\r\n"
    )
}

fn seeds() -> Vec<Vec<u8>> {
    let (one, two) = (plain("{}"), plain("{\"a\":1}"));
    let get = "GET /a?b=c HTTP/1.1\r\nHost: localhost\r\n\r\n";
    [
        one.clone(),
        format!("{one}{two}{one}{get}"),
        format!("{one}{}{two}", chunked(&["{\"a\"", ":1}"], "")),
        format!("{}{one}", chunked(&["{}"], "X: y\r\nZ: z\r\n")),
        format!("{get}\r\n{get}{one}"),
        format!("POST /refused HTTP/1.1\r\nContent-Length: 2\r\n\r\n{{}}{one}"),
        format!("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{{}}{one}"),
        format!("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n{get}"),
        format!("POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}{one}"),
        format!("POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n{one}"),
        format!("POST / HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{one}"),
        "POST / HTTP/1.1\nTransfer-Encoding: chunked\n\n+1\r\nx\r\n0\r\n\r\n".to_owned(),
        "POST / HTTP/1.1\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 9\r\n\r\nshort".to_owned(),
    ]
    .map(String::into_bytes)
    .to_vec()
}

fn heavy() -> Vec<Vec<u8>> {
    let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    [
        "GET / HTTP/1.1\r\n\r\n".repeat(1_700),
        plain("{}").repeat(400),
        format!("{head}{}", "1\r\nx\r\n".repeat(5_000)),
        format!("{head}0\r\n{}", "X: y\r\n".repeat(5_000)),
        format!("{head}{}", "0".repeat(30_000)),
        format!("GET / HTTP/1.1\r\nX: {}\r\n", "x".repeat(30_000)),
        "\r\n".repeat(15_000),
        format!("GET / HTTP/1.1\r\n{}", "X-A: y\r\n".repeat(99)),
    ]
    .map(String::into_bytes)
    .to_vec()
}

fn run(input: &[u8]) -> Shape {
    // A head is parsed when another of its lines is complete; this makes sure that one is at the end of the input.
    let input = &[input, b"\r\n\r\n"].concat();
    let mut results = splits(input).into_iter().map(|pieces| {
        let script = Script::new(pieces);
        let seen = script.seen();
        let requests = block_on(observe(script, BODY_BYTES_MAX));
        (requests, statuses(&seen.written()))
    });
    let (first, said) = results.next().unwrap_or_default();
    for (other, other_said) in results {
        let shared = first.len().min(other.len());
        assert_eq!(first.get(..shared), other.get(..shared), "other requests with another split");
        // The body of a refused request is skipped only if it has already arrived; otherwise the connection ends.
        let ends_early = |requests: &[Observed]| requests.last().is_some_and(|last| last.body.is_none());
        if first.len() == other.len() {
            if !ends_early(&first) {
                assert_eq!(said, other_said, "other answers with another split");
            }
        } else {
            let short = if first.len() < other.len() { &first } else { &other };
            assert!(ends_early(short), "{} requests, and {} with another split", first.len(), other.len());
        }
    }
    follow(input, &first);
    agree(input, &first);
    let words: Vec<String> = first.iter().take(3).map(word).chain(said.into_iter().take(4)).collect();
    Shape::of(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns the statuses of the responses without interim ones, which depend on the split.
fn statuses(written: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(written);
    let statuses = text.split("HTTP/1.1 ").skip(1).map(|answer| answer.chars().take(3).collect::<String>());
    statuses.filter(|status| status != "100").collect()
}

/// Asserts that each request with a body ends where the plain parser ends it.
fn follow(input: &[u8], requests: &[Observed]) {
    let mut rest = input;
    for request in requests {
        let (head, after) = Head::read(rest).unwrap_or_else(|| panic!("a request without a head"));
        assert!(head.start.starts_with(request.method.as_bytes()), "another method: {request:?}");
        let has_body = head.value("content-length").is_some() || head.value("transfer-encoding").is_some();
        let Some(Ok(own)) = &request.body else {
            assert!(request.body.is_some() || request.path == REFUSED_PATH.as_bytes());
            return;
        };
        let (body, behind) = match has_body {
            false => (Vec::new(), after),
            true => head.body(after).unwrap_or_else(|| panic!("a body without an end: {request:?}")),
        };
        assert_eq!(*own, body, "another body");
        rest = behind;
    }
}

/// Asserts that hyper reads the requests that were read completely, up to the first that was not.
fn agree(input: &[u8], requests: &[Observed]) {
    let theirs = block_on(oracle::requests(Script::new(vec![input.to_vec()])));
    for (at, own) in requests.iter().enumerate() {
        let Some(Ok(body)) = &own.body else { return };
        let other = theirs.get(at).unwrap_or_else(|| panic!("hyper does not read {own:?}"));
        let path = if own.path.is_empty() { b"/" } else { own.path.as_slice() };
        assert_eq!(own.method, other.method, "another method");
        assert_eq!((path, &own.query), (other.path.as_bytes(), &other.query), "another target");
        assert_eq!(*body, other.body, "another body than hyper's");
    }
}

fn word(request: &Observed) -> String {
    let body = match &request.body {
        None => "refused".to_owned(),
        Some(Ok(body)) => if body.is_empty() { "empty" } else { "some" }.to_owned(),
        Some(Err(why)) => why.clone(),
    };
    format!("{} {body} {}", request.method.len(), request.fields.len().min(4))
}
