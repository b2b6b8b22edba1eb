//! Fuzz target for responses of an HTTP server on one kept connection.
//!
//! Properties: the responses do not depend on how the bytes were split. A response ends where the plain parser and
//! hyper end it, so the rest is the start of the next response.

use std::time::Duration;

use toolcrib_testkit::oracle;
use toolcrib_upstream::probe::{Answered, answers};

use super::framing::Head;
use crate::script::{Script, block_on, splits};
use crate::target::{Memory, Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "http_answers",
    seeds,
    heavy,
    dictionary: DICTIONARY,
    bytes_max: 64 * 1024,
    cpu_max: Duration::from_millis(500),
    memory_max: Memory { factor: 16, constant: 512 * 1024 },
    run,
};

const DICTIONARY: &[&str] = &[
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.0 200 OK\r\n",
    "HTTP/1.1 103 Early Hints\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n",
    "HTTP/1.1 401 Unauthorized\r\n",
    "Content-Type: application/json\r\n",
    "Content-Type: text/event-stream\r\n",
    "Content-Length: 2\r\n",
    "Content-Length: 18446744073709551615\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Connection: close\r\n",
    "Connection: keep-alive, x\r\n",
    "Mcp-Session-Id: a\r\n",
    "WWW-Authenticate: Bearer scope=\"a\"\r\n",
    "\r\n\r\n",
    "2;x=y\r\nab\r\n",
    "0\r\n\r\n",
    "ffffffffffffffff\r\n",
    "X: y\r\n",
    "\n",
];

/// Number of requests that are sent over one connection.
const REQUESTS: usize = 12;

fn plain(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
}

fn chunked(parts: &[&str], trailers: &str) -> String {
    let parts: String = parts.iter().map(|part| format!("{:x}\r\n{part}\r\n", part.len())).collect();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{parts}0\r\n{trailers}\r\n"
    )
}

fn seeds() -> Vec<Vec<u8>> {
    let (one, two) = (plain("{}"), plain("{\"a\":1}"));
    let events = chunked(&["data: 1\n\n", "data: 2\n\n"], "");
    [
        one.clone(),
        format!("{one}{two}{one}"),
        format!("{one}{events}{two}"),
        format!("{}{one}", chunked(&["ab"], "X: y\r\nZ: z\r\n")),
        format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n{two}{one}"),
        format!("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n{one}"),
        format!("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer scope=\"a b\"\r\nContent-Length: 2\r\n\r\n{{}}{one}"),
        format!("HTTP/1.1 200 OK\r\nMcp-Session-Id: s\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{{}}{one}"),
        format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}{one}"),
        "HTTP/1.0 200 OK\r\n\r\nuntil the end".to_owned(),
        "HTTP/1.1 200 OK\nContent-Length: 2\nTransfer-Encoding: chunked\n\n1\nx\n0\n\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort".to_owned(),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+2\r\nab\r\n0\r\n\r\n".to_owned(),
    ]
    .map(String::into_bytes)
    .to_vec()
}

fn heavy() -> Vec<Vec<u8>> {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    [
        "HTTP/1.1 103 E\r\n\r\n".repeat(1_700),
        format!("{head}{}", "1\r\nx\r\n".repeat(5_000)),
        format!("{head}0\r\n{}", "X: y\r\n".repeat(5_000)),
        format!("{head}{}", "0".repeat(30_000)),
        format!("HTTP/1.1 200 OK\r\nX: {}\r\n", "x".repeat(30_000)),
        format!("HTTP/1.1 200 OK\r\n{}", "X: y\r\n".repeat(99)),
        plain("{}").repeat(400),
        format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(30_000)),
    ]
    .map(String::into_bytes)
    .to_vec()
}

fn run(input: &[u8]) -> Shape {
    let mut results = splits(input).into_iter().map(|pieces| {
        let script = Script::new(pieces);
        let seen = script.seen();
        block_on(answers(script, REQUESTS, || seen.unread()))
    });
    let (first, cause) = results.next().unwrap_or_default();
    for (other, other_cause) in results {
        same(&first, &other);
        let is_kept = |answers: &[Answered]| answers.last().is_none_or(|last| last.left.is_some());
        if first.len() == other.len() && is_kept(&first) == is_kept(&other) {
            assert_eq!(cause, other_cause, "another end with another split");
        }
    }
    follow(input, &first);
    let words: Vec<String> = first.iter().take(3).map(word).collect();
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let cause = cause.map(|cause| cause.to_string()).unwrap_or_default();
    words.extend(["then", cause.split(['0', '1', '2', '6']).next().unwrap_or_default()]);
    Shape::of(&words)
}

/// Asserts equal responses, as far as both sequences go. A connection may be closed earlier if bytes follow a body,
/// because the client cannot attribute them to a request.
fn same(one: &[Answered], other: &[Answered]) {
    for (at, (a, b)) in one.iter().zip(other).enumerate() {
        assert_eq!(without_rest(a), without_rest(b), "answer {at} is another one with another split");
        if let (Some(a), Some(b)) = (a.left, b.left) {
            assert_eq!(a, b, "answer {at} ends elsewhere with another split");
        }
    }
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    if short.len() < long.len() {
        let is_closed = short.last().is_some_and(|last| last.left.is_none());
        assert!(is_closed, "{} answers, and {} with another split", short.len(), long.len());
    }
}

fn without_rest(answer: &Answered) -> Answered {
    Answered { left: None, ..answer.clone() }
}

/// Asserts that each response with a kept connection ends where the plain parser ends it.
fn follow(input: &[u8], answered: &[Answered]) {
    let mut rest = input;
    for answer in answered {
        let Some(left) = answer.left else { return };
        let rest_of_answer = rest;
        let (head, after) = loop {
            let (head, after) = Head::read(rest).unwrap_or_else(|| panic!("an answer without a head"));
            if !status(&head).starts_with('1') {
                break (head, after);
            }
            rest = after;
        };
        assert_eq!(status(&head), answer.status.to_string(), "another status");
        let bodiless = matches!(answer.status, 204 | 304);
        let whole = if bodiless { Some((Vec::new(), after)) } else { head.body(after) };
        let Some((body, behind)) = whole else { panic!("kept behind a body without an end: {answer:?}") };
        assert_eq!(behind.len(), left, "an answer ends elsewhere: {answer:?}");
        match &answer.body {
            Ok(own) => assert_eq!(*own, body, "another body"),
            Err(_) => assert!(std::str::from_utf8(&body).is_err(), "a body was lost: {answer:?}"),
        }
        agree(rest_of_answer, answer, left);
        rest = behind;
    }
}

/// Asserts that hyper reads the same response from the same bytes and leaves the same rest.
fn agree(input: &[u8], answer: &Answered, left: usize) {
    let script = Script::new(vec![input.to_vec()]);
    let seen = script.seen();
    let (other, ahead, _) = match block_on(oracle::response(script)) {
        Ok(read) => read,
        Err(error) => panic!("hyper refuses {answer:?}: {error}"),
    };
    assert_eq!(answer.status, other.status, "another status than hyper's");
    assert_eq!(ahead.len() + seen.unread(), left, "hyper ends it elsewhere: {answer:?}");
    if let Ok(own) = &answer.body {
        assert_eq!(*own, other.body, "another body than hyper's");
    }
}

fn status(head: &Head<'_>) -> String {
    let word = head.start.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    String::from_utf8_lossy(word).into_owned()
}

fn word(answer: &Answered) -> String {
    let body = answer.body.as_ref().map_or("none", |body| if body.is_empty() { "empty" } else { "some" });
    let rare = (answer.session.is_some(), answer.challenge.is_some());
    format!("{} {body} {rare:?} {}", answer.status / 100, answer.left.is_some())
}
