//! Fuzz target for server-sent events, and for the address in the first event of an HTTP+SSE server.
//!
//! Properties: the events do not depend on how the bytes were split. A decoded event is unchanged by encoding and
//! decoding. Messages are sent only to the operator's origin.

use std::time::Duration;

use toolcrib_protocol::sse::{DecodeError, Decoder, Event, encode};
use toolcrib_upstream::probe::sse_endpoint;

use crate::script::splits;
use crate::target::{Memory, Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "events",
    seeds,
    heavy,
    dictionary: DICTIONARY,
    bytes_max: 64 * 1024,
    cpu_max: Duration::from_millis(500),
    memory_max: Memory { factor: 200, constant: 64 * 1024 },
    run,
};

const DICTIONARY: &[&str] = &[
    "data: ",
    "data:\n",
    "data",
    "event: endpoint\n",
    "event: message\n",
    "id: 1\n",
    "id\n",
    "retry: 500\n",
    "retry: 99999999999999999999\n",
    ": comment\n",
    "\n\n",
    "\r\n\r\n",
    "\r\r",
    "\r",
    "\u{feff}",
    "\0",
    "{\"jsonrpc\":\"2.0\"}",
    "/messages?sessionId=1",
    "https://example.org/m",
    "//evil.example/",
    "\\",
];

/// Maximum bytes of an event, low enough to be reached.
const EVENT_BYTES_MAX: usize = 8_192;
const BASE: &str = "https://example.org/v1/sse?x=1";

fn seeds() -> Vec<Vec<u8>> {
    [
        "event: endpoint\ndata: /messages?sessionId=7\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n",
        "id: 1\ndata: a\ndata: b\n\nid: 2\nretry: 500\ndata:\n\n",
        "\u{feff}data: x\r\n\r\n:ping\r\n\r\ndata:  two\r\rdata: three\n\n",
        "data: no end",
        "data\n\nid\n\nevent: x\n\nretry: x\n\nfoo: bar\n\n",
        "event: endpoint\ndata: https://example.org/m\n\n",
        "event: endpoint\ndata: https://example.org.evil.example/\n\n",
        "data: \u{e9}\u{1f600}\n\nid: a\0b\ndata: x\n\n",
    ]
    .map(|seed| seed.as_bytes().to_vec())
    .to_vec()
}

fn heavy() -> Vec<Vec<u8>> {
    ["\n", "\r", "data\n", "data: x\n\n", ": x\n", "id: 1\n", "x"]
        .map(|part| part.repeat(60_000 / part.len()).into_bytes())
        .to_vec()
}

fn run(input: &[u8]) -> Shape {
    let mut results = splits(input).into_iter().map(|pieces| decode(&pieces));
    let (first, ended) = results.next().unwrap_or((Vec::new(), Ok(())));
    for (other, other_ended) in results {
        assert_eq!(first, other, "other events with another split");
        assert_eq!(ended, other_ended, "another end with another split");
    }
    for event in &first {
        again(event);
    }
    let endpoint = first.iter().find(|event| event.event.as_deref() == Some("endpoint"));
    let resolved = endpoint.map(|event| sse_endpoint(BASE, event.data.trim()));
    if let Some(Some(url)) = &resolved {
        own_origin(url);
    }
    let kinds = first.iter().take(4).map(|event| {
        let Event { event, id, retry_ms, data } = event;
        format!("{}{}{}{}", event.is_some(), id.is_some(), retry_ms.is_some(), data.is_empty())
    });
    let end = match ended {
        Ok(()) => "whole",
        Err(DecodeError::TooLong(_)) => "too long",
        Err(DecodeError::NotUtf8) => "not UTF-8",
    };
    let words: Vec<String> =
        kinds.chain([end.to_owned(), format!("{}", resolved.flatten().is_some())]).collect();
    Shape::of(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn decode(pieces: &[Vec<u8>]) -> (Vec<Event>, Result<(), DecodeError>) {
    let mut decoder = Decoder::with_limit(EVENT_BYTES_MAX);
    let mut events = Vec::new();
    for piece in pieces {
        if let Err(error) = decoder.feed(piece, &mut events) {
            return (events, Err(error));
        }
        assert!(decoder.held() <= EVENT_BYTES_MAX, "more is kept than the limit allows");
    }
    (events, Ok(()))
}

/// Asserts that an event's id and data are unchanged by encoding and decoding.
fn again(event: &Event) {
    let mut bytes = Vec::new();
    encode(&mut bytes, event.id.as_deref(), event.data.as_bytes());
    let (events, ended) = decode(&[bytes]);
    // An event close to the limit exceeds it by the names of its fields.
    if ended.is_ok() {
        let expected = Event { event: None, retry_ms: None, ..event.clone() };
        assert_eq!(events, [expected], "an event is another one once encoded");
    }
}

fn own_origin(url: &str) {
    let rest = url
        .get(.."https://example.org".len())
        .filter(|start| start.eq_ignore_ascii_case("https://example.org"));
    let behind = url.get("https://example.org".len()..).unwrap_or_default();
    let behind = behind.strip_prefix(":443").unwrap_or(behind);
    let is_own = rest.is_some() && (behind.is_empty() || behind.starts_with(['/', '?', '#']));
    assert!(is_own, "messages would be posted to {url:?}");
    assert!(
        url.bytes().all(|byte| byte.is_ascii_graphic() || !byte.is_ascii()),
        "{url:?} would break a request line"
    );
}
