//! A revoked credential: its open streams, sessions and running calls end (R12.5).

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_server::limits::REVOKED_LOOK_MS;
use toolcrib_testkit::http::{Request, Stream};

use crate::running::{Folder, Serving};

/// Maximum time until everything has ended, on a busy machine: a hundred checks.
const SOON: Duration = Duration::from_millis(100 * REVOKED_LOOK_MS);

fn listen(serving: &Serving, secret: &str) -> Stream {
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let request = serving.client().with_secret(secret).request("subscriptions/listen", filter);
    let mut stream = request.open(serving.address).unwrap();
    let first = stream.event().unwrap().unwrap();
    assert!(first.data.contains("acknowledged"), "{}", first.data);
    stream
}

/// Legacy session that was opened with a credential.
struct Session<'a> {
    serving: &'a Serving,
    id: String,
    authorization: String,
}

impl<'a> Session<'a> {
    fn open(serving: &'a Serving, secret: &str) -> Self {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "raw", "version": "0"}}});
        let authorization = format!("Bearer {secret}");
        let request = Request::post_json("/mcp", &hello.to_string()).header("Authorization", &authorization);
        let response = request.send(serving.address).unwrap();
        let id = response.header("mcp-session-id").unwrap().to_owned();
        let session = Self { serving, id, authorization };
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.status(&ready), 202);
        session
    }

    fn dressed(&self, request: Request) -> Request {
        request.header("Mcp-Session-Id", &self.id).header("Authorization", &self.authorization)
    }

    fn post(&self, body: &Value) -> Request {
        self.dressed(Request::post_json("/mcp", &body.to_string()))
    }

    fn status(&self, body: &Value) -> u16 {
        self.post(body).send(self.serving.address).unwrap().status
    }

    fn ping(&self) -> u16 {
        self.status(&json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}))
    }
}

/// Reads a stream to its end and returns its messages.
fn rest_of(mut stream: Stream) -> Vec<String> {
    let begun = Instant::now();
    let mut said = Vec::new();
    while let Some(event) = stream.event().unwrap() {
        said.push(event.data);
    }
    assert!(begun.elapsed() < SOON, "it ended after {:?}", begun.elapsed());
    said
}

/// R12.5, `REVOKED_LOOK_MS`: everything open under a credential ends when it is revoked: `subscriptions/listen`, the
/// GET stream and the session of a legacy client, and a call that waits for its person. Others go on.
#[test]
fn everything_open_under_a_revoked_credential_ends() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let (ann, bob) = (serving.credential(&folder, &["ann"]), serving.credential(&folder, &["bob"]));
    let (listening, other) = (listen(&serving, &ann), listen(&serving, &bob));
    let (session, others) = (Session::open(&serving, &ann), Session::open(&serving, &bob));
    let get = Request::get("/mcp").header("Accept", "text/event-stream");
    let news = session.dressed(get).open(serving.address).unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "launch_confetti", "arguments": {"count": 2}}});
    let mut waiting = session.post(&call).open(serving.address).unwrap();
    let question = loop {
        let event = waiting.event().unwrap().unwrap();
        if event.data.contains("elicitation/create") {
            break event.data;
        }
    };
    assert_eq!(session.ping(), 200);
    folder.does(&["credential", "revoke", "ann"]);
    let begun = Instant::now();
    for stream in [listening, news, waiting] {
        let said = rest_of(stream);
        assert!(!said.iter().any(|data| data.contains("launched")), "{said:?} after {question}");
    }
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(session.ping(), 401);
    assert_eq!(others.ping(), 200, "another's session goes on");
    // A new credential of the same name is a different one: the session is gone.
    let again = serving.credential(&folder, &["ann"]);
    let session = Session { authorization: format!("Bearer {again}"), ..session };
    assert_eq!(session.ping(), 404);
    assert_eq!(others.ping(), 200);
    folder.does(&["credential", "revoke", "bob"]);
    rest_of(other);
    serving.end();
    let listed = folder.does(&["audit", "list", "--format", "json"]);
    assert!(!listed.contains("\"intent\""), "nothing ran: {listed}");
}

/// R12.5: a credential that is revoked and created again at once is a different one too: the old streams end.
#[test]
fn a_credential_that_is_replaced_at_once_ends_its_streams() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let ann = serving.credential(&folder, &["ann"]);
    let stream = listen(&serving, &ann);
    folder.does(&["credential", "revoke", "ann"]);
    folder.does(&["credential", "add", "ann"]);
    rest_of(stream);
}

/// R12.5: a request with a slow body is authenticated again once the body is complete.
#[test]
fn a_request_whose_credential_is_revoked_while_its_body_comes_is_refused() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let ann = serving.credential(&folder, &["ann"]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "generate_fantasy_character", "arguments": {}}})
    .to_string();
    let mut connection = TcpStream::connect(serving.address).unwrap();
    connection.set_read_timeout(Some(SOON)).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, \
         text/event-stream\r\nAuthorization: Bearer {ann}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        serving.address,
        body.len()
    );
    let (first, second) = body.split_at(10);
    connection.write_all(format!("{head}{first}").as_bytes()).unwrap();
    folder.does(&["credential", "revoke", "ann"]);
    crate::running::until("it is known here", || serving.rest("GET", "stop", Some(&ann), None).status == 401);
    connection.write_all(second.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
}
