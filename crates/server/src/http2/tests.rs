//! Tests with a raw client that sends frames: limits that the server announces and enforces.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use toolcrib_http1::server::Unreadable;
use toolcrib_http1::{RequestHead, Response};

use super::*;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

const END_STREAM_AND_HEADERS: u8 = 5;

/// `ENHANCE_YOUR_CALM` of RFC 9113.
const CALM_DOWN: u32 = 11;

/// Flow-control window of a connection before any update.
const FIRST_WINDOW_BYTES: u32 = 65_535;

/// HPACK encoding of `GET /` for `localhost`, without dynamic table entries.
const GET: &[u8] = b"\x82\x86\x84\x41\x09localhost";

/// Server that answers everything with an empty body.
struct Empty;

impl Service for Empty {
    type Admitted = ();
    type HeadRoom = ();

    fn head_room(&self, _: Option<&RequestHead>, _: Option<IpAddr>) -> Result<(), Response> {
        Ok(())
    }

    fn admit(&self, _: &RequestHead, _: Option<IpAddr>) -> Result<(), Response> {
        Ok(())
    }

    fn body_limits(&self) -> (usize, Duration) {
        (1024, Duration::from_secs(5))
    }

    fn reserve(&self, (): &mut (), _: usize) -> Result<(), Response> {
        Ok(())
    }

    fn unread(&self, (): (), _: Unreadable) -> Response {
        Response::empty(StatusCode::BAD_REQUEST)
    }

    async fn answer(self: &Arc<Self>, _: RequestHead, (): ()) -> Response {
        Response::empty(StatusCode::OK)
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Connects, sends the preface and these frames.
async fn greeted(frames: Vec<Vec<u8>>) -> DuplexStream {
    let (mut client, server) = duplex(1 << 20);
    tokio::spawn(async {
        let (_running, stopped) = watch::channel(false);
        serve(server, Arc::new(Empty), None, stopped, Duration::from_secs(60)).await;
    });
    client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    client.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
    client.write_all(&frames.concat()).await.unwrap();
    client
}

/// Returns the next frame: its kind, its stream and its payload; `None` at the end of the connection.
async fn next(client: &mut DuplexStream) -> Option<(u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    client.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; length as usize];
    client.read_exact(&mut payload).await.ok()?;
    Some((head[3], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload))
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().unwrap())
}

/// Returns the error code with which the server ends the connection.
async fn end_of(mut client: DuplexStream) -> Option<u32> {
    while let Some((kind, _, payload)) = next(&mut client).await {
        if kind == GOAWAY && number(&payload[4..8]) != 0 {
            return Some(number(&payload[4..8]));
        }
    }
    None
}

/// R5.6: `HTTP2_STREAMS_MAX`, `HTTP2_HEADER_LIST_BYTES_MAX`, `HTTP2_STREAM_WINDOW_BYTES` and
/// `HTTP2_CONNECTION_WINDOW_BYTES` are announced, so that a client can respect them.
#[tokio::test]
async fn limits_are_announced_to_the_client() {
    let mut client = greeted(vec![]).await;
    let (mut settings, mut window) = (Vec::new(), FIRST_WINDOW_BYTES);
    while settings.is_empty() || window == FIRST_WINDOW_BYTES {
        let (kind, stream, payload) = next(&mut client).await.unwrap();
        match kind {
            SETTINGS => settings.extend(
                payload.chunks(6).map(|pair| (u16::from_be_bytes([pair[0], pair[1]]), number(&pair[2..]))),
            ),
            WINDOW_UPDATE if stream == 0 => window += number(&payload),
            _ => {}
        }
    }
    for expected in [(3, HTTP2_STREAMS_MAX), (4, HTTP2_STREAM_WINDOW_BYTES), (6, HTTP2_HEADER_LIST_BYTES_MAX)]
    {
        assert!(settings.contains(&expected), "{expected:?} of {settings:?}");
    }
    assert_eq!(window, HTTP2_CONNECTION_WINDOW_BYTES);
}

/// R5.6: `HTTP2_STREAMS_MAX` is enforced for a client that ignores it.
#[tokio::test]
async fn a_stream_too_many_is_refused() {
    let post = b"\x83\x86\x84\x41\x09localhost";
    let open = |stream: u32| frame(HEADERS, 4, stream * 2 + 1, post);
    let mut client = greeted((0..=HTTP2_STREAMS_MAX).map(open).collect()).await;
    let (stream, reason) = loop {
        let (kind, stream, payload) = next(&mut client).await.unwrap();
        if kind == RST_STREAM {
            break (stream, number(&payload));
        }
    };
    // REFUSED_STREAM: the request was not processed and may be retried.
    assert_eq!((stream, reason), (HTTP2_STREAMS_MAX * 2 + 1, 7));
}

/// R5.6: `HTTP2_HEADER_LIST_BYTES_MAX` refuses the stream with 431 and keeps the connection.
#[tokio::test]
async fn a_header_list_too_long_is_refused() {
    // One entry of the HPACK table, referenced repeatedly: 4,096 bytes of header list per byte sent.
    let value = [b'v'; 4_000];
    let entry = [b"\x40\x01x\x7f\xa1\x1e".as_slice(), &value].concat();
    let again = vec![0xbe; HTTP2_HEADER_LIST_BYTES_MAX as usize / value.len() + 1];
    let long = [GET, &entry, &again].concat();
    let mut client = greeted(vec![frame(HEADERS, END_STREAM_AND_HEADERS, 1, &long), get(3)]).await;
    let mut answers = Vec::new();
    while answers.len() < 2 {
        let (kind, stream, payload) = next(&mut client).await.unwrap();
        assert_ne!(kind, GOAWAY, "{payload:?}");
        if kind == HEADERS {
            answers.push((stream, payload[0]));
        }
    }
    answers.sort_unstable();
    // 431 is written literally, 200 is entry 8 of HPACK's static table.
    assert_eq!((answers[0].0, answers[1]), (1, (3, 0x88)));
    assert_ne!(answers[0].1, 0x88);
}

fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_STREAM_AND_HEADERS, stream, GET)
}

/// R5.6: `HTTP2_PENDING_RESETS_MAX`: streams that are opened and reset at once end the connection.
#[tokio::test]
async fn rapid_resets_end_the_connection() {
    let pairs = |count: usize| {
        let opened = |at: u32| [get(at * 2 + 1), frame(RST_STREAM, 0, at * 2 + 1, &8_u32.to_be_bytes())];
        (0..u32::try_from(count).unwrap()).flat_map(opened).collect::<Vec<_>>()
    };
    let client = greeted(pairs(HTTP2_PENDING_RESETS_MAX * 2)).await;
    assert_eq!(end_of(client).await, Some(CALM_DOWN));
    let mut client = greeted([pairs(HTTP2_PENDING_RESETS_MAX / 2), vec![get(999)]].concat()).await;
    loop {
        let (kind, stream, _) = next(&mut client).await.unwrap();
        assert_ne!(kind, GOAWAY);
        if (kind, stream) == (HEADERS, 999) {
            break;
        }
    }
}

/// R5.6: `HTTP2_ERROR_RESETS_MAX`: streams that the server resets because of a client's errors end the connection.
#[tokio::test]
async fn streams_with_errors_end_the_connection() {
    // A body longer than its content-length: 1 declared, two bytes sent.
    let head = [b"\x83\x86\x84\x41\x09localhost".as_slice(), b"\x0f\x0d\x011"].concat();
    let wrong = |at: u32| [frame(HEADERS, 4, at * 2 + 1, &head), frame(DATA, 1, at * 2 + 1, b"xx")].concat();
    let streams = |count: usize| (0..u32::try_from(count).unwrap()).map(wrong).collect::<Vec<_>>();
    let mut client = greeted(vec![]).await;
    for wrong in streams(HTTP2_ERROR_RESETS_MAX + 2) {
        // One at a time, so that no other limit is hit.
        if client.write_all(&wrong).await.is_err() {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(end_of(client).await, Some(CALM_DOWN));
}
