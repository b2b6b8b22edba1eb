//! Servers that answer a call with endless HTTP: heads, trailers, chunk lines, single bytes.

use std::io::{self, Write as _};
use std::net::TcpStream;

use anyhow::Result;
use serde_json::json;

use crate::case::{Attack, Case};
use crate::client::Post;
use crate::upstream::{Harm, Offer, Upstream};

pub(super) fn cases() -> Vec<Case> {
    let harms: [(&str, Harm); 10] = [
        ("endless-103-heads", |out| {
            forever(out, b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n")
        }),
        ("endless-100-heads", |out| forever(out, b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
        ("endless-trailers", |out| forever(out, &chunked(b"2\r\n{}\r\n0\r\n"), b"X-Trailer: more\r\n")),
        ("endless-chunk-extension", |out| forever(out, &chunked(b"2;x="), b"xxxxxxxxxxxxxxxx")),
        ("one-byte-chunks", |out| forever(out, &chunked(b""), b"1\r\n \r\n")),
        ("endless-chunk-zeros", |out| forever(out, &chunked(b""), b"0000000000000000")),
        ("endless-status-line", |out| forever(out, b"HTTP/1.1 200 ", b"OK OK OK OK OK ")),
        ("endless-spaces", |out| forever(out, &sized(1 << 40), b"                ")),
        ("endless-sse-comments", |out| forever(out, EVENTS, b": x\n\n")),
        ("endless-sse-notifications", |out| forever(out, EVENTS, NOTICE)),
    ];
    harms.into_iter().map(|(name, harm)| Case::new("wire", name, move |_| harmed(harm))).collect()
}

const EVENTS: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const NOTICE: &[u8] = b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n";

fn harmed(harm: Harm) -> Result<Attack> {
    let mut offer = Offer::tool("poke", &json!({"type": "object"}));
    offer.harm = Some(harm);
    let bad = Upstream::hostile(&offer)?;
    let post = Post::modern("tools/call", &json!({"name": "bad__poke", "arguments": {}}));
    Ok(Attack::poke(post).with_server(bad.entry("bad"), bad))
}

/// Writes `start`, then `again` endlessly.
fn forever(mut out: &TcpStream, start: &[u8], again: &[u8]) -> io::Result<()> {
    out.write_all(start)?;
    let many = again.repeat((1 << 16) / again.len());
    loop {
        out.write_all(&many)?;
    }
}

fn chunked(rest: &[u8]) -> Vec<u8> {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    [head, rest].concat()
}

fn sized(length: u64) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n")
        .into_bytes()
}
