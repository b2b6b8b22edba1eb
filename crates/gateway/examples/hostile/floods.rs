//! Endless answers, and answers that arrive one byte at a time.
//!
//! A behaviour floods `tools/call`. With the suffix `@list` or `@start` it floods `tools/list` or the first request
//! instead; everything else is answered as usual.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

const JSON_CHUNKS: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const EVENTS_CHUNKS: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
const NOTICE: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
const STRAY: &str = r#"{"jsonrpc":"2.0","id":999999,"result":{}}"#;

/// Interval of the bytes of `drip`.
const DRIP: Duration = Duration::from_millis(100);

/// Minimum bytes per write.
const PIECE_BYTES: usize = 64 * 1024;

/// Returns the name of the flood that `behaviour` answers `method` with, if any.
fn flood_of<'a>(behaviour: &'a str, method: &str) -> Option<&'a str> {
    let (flood, phase) = behaviour.split_once('@').unwrap_or((behaviour, "call"));
    let is_due = match phase {
        "call" => method == "tools/call",
        "list" => method == "tools/list",
        "start" => matches!(method, "server/discover" | "initialize"),
        _ => false,
    };
    is_due.then_some(flood)
}

/// Floods the connection until the client closes it; returns `false` if this behaviour does not flood this method.
pub(crate) fn over_http(behaviour: &str, method: &str, out: &mut &TcpStream) -> bool {
    let Some(flood) = flood_of(behaviour, method) else { return false };
    let event = |message: &str| format!("data: {message}\n\n");
    let (head, repeated) = match flood {
        "endless-interim-heads" => {
            (String::new(), "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".to_owned())
        }
        "endless-empty-lines" => (String::new(), "\r\n".to_owned()),
        "endless-trailers" => (format!("{JSON_CHUNKS}2\r\n{{}}\r\n0\r\n"), "X-Trailer: x\r\n".to_owned()),
        "endless-chunk-line" => (format!("{JSON_CHUNKS}1;x="), "x".to_owned()),
        "endless-chunk-extensions" => (JSON_CHUNKS.to_owned(), "1;name=value\r\n \r\n".to_owned()),
        "one-byte-chunks" => (JSON_CHUNKS.to_owned(), "1\r\n \r\n".to_owned()),
        "one-byte-event-chunks" => (EVENTS_CHUNKS.to_owned(), "1\r\n:\r\n1\r\n\n\r\n".to_owned()),
        "endless-sse-comments" => (EVENTS.to_owned(), ":\n\n".to_owned()),
        "endless-sse-events" => (EVENTS.to_owned(), "data:\n\n".to_owned()),
        "endless-pings" => (EVENTS.to_owned(), event(PING)),
        "endless-notices" => (EVENTS.to_owned(), event(NOTICE)),
        "drip" => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n";
            return out.write_all(head.as_bytes()).is_ok() && drip(out, b" ");
        }
        "drip-head" => return drip(out, b"HTTP/1.1 200 OK\r\nX-Drip: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
        "drip-trailers" => {
            let head = format!("{JSON_CHUNKS}2\r\n{{}}\r\n0\r\n");
            return out.write_all(head.as_bytes()).is_ok() && drip(out, b"X-Drip: x\r\n");
        }
        _ => return false,
    };
    let piece = repeated.repeat(PIECE_BYTES.div_ceil(repeated.len()));
    let _ = out.write_all(head.as_bytes());
    while out.write_all(piece.as_bytes()).is_ok() {}
    true
}

/// Writes one byte at a time until the client closes the connection.
fn drip(out: &mut &TcpStream, bytes: &[u8]) -> bool {
    for byte in bytes.iter().cycle() {
        if out.write_all(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(DRIP);
    }
    true
}

/// Floods stdout or stderr until it is closed; returns at once if this behaviour does not flood this method.
pub(crate) fn over_stdio(behaviour: &str, method: &str) {
    let line = match flood_of(behaviour, method) {
        Some("endless-stderr") => {
            let piece = "a line of a log\n".repeat(PIECE_BYTES / 16);
            while std::io::stderr().lock().write_all(piece.as_bytes()).is_ok() {}
            return;
        }
        Some("endless-blank-lines") => "",
        Some("endless-pings") => PING,
        Some("endless-notices") => NOTICE,
        Some("endless-stray-answers") => STRAY,
        _ => return,
    };
    let piece = format!("{line}\n").repeat(PIECE_BYTES.div_ceil(line.len() + 1));
    let mut out = std::io::stdout().lock();
    while out.write_all(piece.as_bytes()).is_ok() {}
}
