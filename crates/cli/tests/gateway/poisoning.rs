//! Servers that send more than one response on a kept connection. Left-over bytes are never taken as the answer to the
//! next call.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_testkit::nginx::Nginx;
use toolcrib_testkit::tls::{Certificate, Session};

use super::folder::Folder;
use super::running::Gateway;

/// Number of calls, alternating between poisoned and plain ones.
const TRIES: usize = 2_000;

/// Framings of a response, with poison behind it on the connection.
const SHAPES: [&str; 13] = [
    "{whole}{poison}",
    "{whole}\r\n{poison}",
    "HTTP/1.1 100 Continue\r\n\r\n{whole}{poison}",
    "{chunked}{poison}",
    "{chunked-with-trailers}{poison}",
    "{short}{poison}",
    "{long}{poison}",
    "{closing}{poison}",
    "{both}{poison}",
    "{chunked-twice}{poison}",
    "{signed-chunk}{poison}",
    "{no-content}{poison}",
    "{full}{poison}",
];

/// Bytes of a `{full}` response: as many as the client reads at once and as fit into a TLS record, so that one read ends
/// at the poison, which TLS may have decrypted already.
const FULL_BYTES: usize = 16 * 1024;

/// Returns a response with these header lines and this body.
fn response(status: &str, lines: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{lines}\r\n{body}")
}

fn with_length(body: &str, length: usize) -> String {
    response("200 OK", &format!("Content-Length: {length}\r\n"), body)
}

/// Returns a response of `FULL_BYTES`, padded with white space.
fn full(body: &str) -> String {
    let length = FULL_BYTES - with_length("", FULL_BYTES).len();
    with_length(&format!("{body:length$}"), length)
}

fn chunks(body: &str, size: &str, trailers: &str) -> String {
    format!("{size}{:x}\r\n{body}\r\n0\r\n{trailers}\r\n", body.len())
}

/// Returns a response to `body` in this framing, and a full response that nobody requested.
fn poisoned(shape: &str, body: &str, poison: &str) -> [String; 2] {
    let coded = "Transfer-Encoding: chunked\r\n";
    let shaped = [
        ("{whole}", with_length(body, body.len())),
        ("{full}", full(body)),
        ("{chunked}", response("200 OK", coded, &chunks(body, "", ""))),
        ("{chunked-with-trailers}", response("200 OK", coded, &chunks(body, "", "X: y\r\n"))),
        ("{short}", with_length(body, body.len() - 3)),
        ("{long}", with_length(body, body.len() + 3)),
        (
            "{closing}",
            response("200 OK", &format!("Connection: x, close\r\nContent-Length: {}\r\n", body.len()), body),
        ),
        (
            "{both}",
            response("200 OK", &format!("{coded}Content-Length: {}\r\n", body.len()), &chunks(body, "", "")),
        ),
        ("{chunked-twice}", response("200 OK", &coded.repeat(2), &chunks(body, "", ""))),
        ("{signed-chunk}", response("200 OK", coded, &chunks(body, "+", ""))),
        ("{no-content}", response("204 No Content", &format!("Content-Length: {}\r\n", body.len()), body)),
    ];
    let answer = shape.strip_suffix("{poison}").unwrap();
    let answer = shaped.iter().fold(answer.to_owned(), |text, (name, shaped)| text.replace(name, shaped));
    [answer, with_length(poison, poison.len())]
}

/// Connection of a client to the poisoner.
trait Client: Read {
    /// Sends all messages at once.
    fn send_all(&mut self, messages: &[String]) -> std::io::Result<()>;
}

impl Client for TcpStream {
    fn send_all(&mut self, messages: &[String]) -> std::io::Result<()> {
        self.write_all(messages.concat().as_bytes())
    }
}

/// Every message has a record of its own.
impl Client for Session {
    fn send_all(&mut self, messages: &[String]) -> std::io::Result<()> {
        let messages: Vec<&[u8]> = messages.iter().map(String::as_bytes).collect();
        self.send(&messages)
    }
}

/// Returns the request's body; `None` if the client disconnected.
fn read_request(reader: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn result_of(request: &Value) -> Value {
    let schema =
        json!({"type": "object", "properties": {"token": {"type": "string"}}, "required": ["token"]});
    match request["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "poisoner", "version": "1"}
        }),
        Some("tools/list") => json!({"tools": [
            {"name": "say", "inputSchema": schema, "annotations": {"readOnlyHint": true}}
        ]}),
        Some("tools/call") => {
            json!({"content": [{"type": "text", "text": request["params"]["arguments"]["token"]}]})
        }
        _ => Value::Null,
    }
}

/// Answers every call in the framing its token names, followed by poison with the id of the next call.
fn serve(client: impl Client) {
    let mut reader = BufReader::new(client);
    while let Some(request) = read_request(&mut reader) {
        let Some(id) = request.get("id") else {
            let accepted = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned();
            let _ = reader.get_mut().send_all(&[accepted]);
            continue;
        };
        let result = result_of(&request);
        let body = if result.is_null() {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}})
        } else {
            json!({"jsonrpc": "2.0", "id": id, "result": result})
        };
        let token = request["params"]["arguments"]["token"].as_str().unwrap_or_default();
        let answer = match token.split_once('-').and_then(|(shape, _)| shape.parse::<usize>().ok()) {
            None => vec![with_length(&body.to_string(), body.to_string().len())],
            Some(shape) => {
                let next = id.as_u64().map_or_else(|| id.clone(), |id| json!(id + 1));
                let content = json!([{"type": "text", "text": "poison"}]);
                let poison = json!({"jsonrpc": "2.0", "id": next, "result": {"content": content}});
                poisoned(SHAPES[shape], &body.to_string(), &poison.to_string()).to_vec()
            }
        };
        if reader.get_mut().send_all(&answer).is_err() {
            return;
        }
    }
}

/// Starts a server for connections that `accept` makes of TCP's; returns its address.
fn start<C: Client + 'static>(accept: impl Fn(TcpStream) -> C + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, accept) = (client.unwrap(), accept.clone());
            std::thread::spawn(move || serve(accept(client)));
        }
    });
    address
}

/// R14.1: in 2,000 tries no call is answered with the left-over bytes of another one.
#[test]
fn no_call_is_answered_with_what_an_earlier_answer_left_behind() {
    let address = start(|client| client);
    let answered = poison(&Gateway::start(&[&format!("http://{address}/mcp")]), TRIES);
    // The framings with a single valid reading are answered, the others refused.
    assert_eq!(answered, [0, 1, 2, 3, 4, 7, 12]);
}

/// R14.1: the same over TLS, where the left-over is a record of its own, decrypted and not yet read.
#[test]
fn a_reused_tls_connection_delivers_no_leftover_answer() {
    let certificate = Arc::new(Certificate::new().unwrap());
    let folder = Folder::new("poisoning");
    folder.file("ca.pem", &certificate.pem());
    let address = start(move |client| certificate.accept(client).unwrap());
    let text = format!("[servers.p]\nca_file = \"ca.pem\"\nurl = \"https://{address}/mcp\"\n");
    let answered = poison(&Gateway::start(&["--config", &folder.file("toolcrib.toml", &text)]), TRIES);
    assert_eq!(answered, [0, 1, 2, 3, 4, 7, 12]);
}

/// R14.1: the same behind nginx, which keeps its connections on both sides.
#[test]
fn no_call_behind_nginx_is_answered_with_what_an_earlier_answer_left_behind() {
    // nginx waits for the rest of some answers; the server ends those connections soon.
    let address = start(|client| {
        client.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        client
    });
    let Some(nginx) = Nginx::start(address) else { return };
    let nginx = nginx.unwrap();
    poison(&Gateway::start(&[&format!("http://{}/mcp", nginx.address)]), TRIES / 10);
}

/// Calls the poisoner's tool; returns the framings in which a poisoned call was answered.
fn poison(gateway: &Gateway, tries: usize) -> Vec<usize> {
    let name = gateway.tools().into_iter().find(|name| name.ends_with("say")).unwrap();
    let mut answered = BTreeSet::new();
    for attempt in 0..tries {
        // Every second call is plain: it uses the connection of the poisoned answer before it.
        let shape = attempt / 2 % SHAPES.len();
        let token = if attempt % 2 == 0 { format!("{shape}-{attempt}") } else { format!("plain {attempt}") };
        let answer = gateway.ask("tools/call", &json!({"name": name, "arguments": {"token": token}}));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(!answer.to_string().contains("poison\""), "{} {answer}", SHAPES[shape]);
        if answer["result"]["isError"] == json!(true) || answer.get("error").is_some() {
            assert_ne!(attempt % 2, 1, "a plain call failed behind {}: {answer}", SHAPES[shape]);
            continue;
        }
        assert_eq!(text, token, "{answer}");
        if attempt % 2 == 0 {
            answered.insert(shape);
        }
    }
    answered.into_iter().collect()
}
