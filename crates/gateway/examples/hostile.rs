//! MCP server (2025-11-25) for tests that behaves well, or misbehaves in one named way.
//!
//! `hostile stdio BEHAVIOUR` speaks on stdin and stdout. `hostile http BEHAVIOUR` prints its address and speaks
//! Streamable HTTP, one thread per connection. Every behaviour except those at the start serves the tools `echo` and
//! `poke`; `poke` does the harm. Behaviours that flood or drip are in `hostile/floods.rs`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::semicolon_if_nothing_returned,
    clippy::zombie_processes,
    clippy::write_with_newline,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a server that misbehaves on purpose"
)]

#[path = "hostile/floods.rs"]
mod floods;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// Sink for outgoing messages.
type Say<'a> = &'a mut dyn FnMut(&str);

fn main() {
    let mut words = std::env::args().skip(1);
    let (transport, behaviour) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let server = Arc::new(Server {
        behaviour,
        calls: AtomicU64::new(0),
        lists: AtomicU64::new(0),
        raw: Mutex::default(),
        questions: Mutex::default(),
    });
    match transport.as_str() {
        "stdio" => over_stdio(&server),
        "http" => over_http(&server),
        other => panic!("no transport {other:?}"),
    }
}

struct Server {
    behaviour: String,
    calls: AtomicU64,
    lists: AtomicU64,
    /// Text of the last message received.
    raw: Mutex<String>,
    /// Ids of calls that wait for an answer to a question.
    questions: Mutex<Vec<Value>>,
}

/// Tool with 250 patterns that are short in text and large once compiled.
fn costly_patterns(tool: u64) -> Value {
    let property = |number: u64| {
        let pattern = format!(r"^(\p{{L}}{{2}}|\p{{Lu}}{{3}}\p{{N}}{{2}}|t{tool}p{number})$");
        (format!("p{number}"), json!({"type": "string", "pattern": pattern}))
    };
    let properties: serde_json::Map<String, Value> = (0..250).map(property).collect();
    json!({"name": format!("costly_{tool}"), "inputSchema": {"type": "object", "properties": properties}})
}

/// Tool with 600 subschemas that no other tool has.
fn costly_schema(tool: u64) -> Value {
    let property =
        |number: u64| (format!("t{tool}p{number}"), json!({"type": ["string", "null"], "maxLength": number}));
    let properties: serde_json::Map<String, Value> = (0..600).map(property).collect();
    json!({"name": format!("costly_{tool}"), "inputSchema": {"type": "object", "properties": properties}})
}

fn forever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn over_stdio(server: &Server) {
    let mut say = |text: &str| {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{text}");
        let _ = out.flush();
    };
    if server.behaviour == "silent" {
        forever();
    }
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap_or_default();
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        *server.raw.lock().unwrap() = line;
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
        floods::over_stdio(&server.behaviour, method);
        server.take(&message, &mut say);
    }
    if server.behaviour == "deaf" {
        forever();
    }
}

impl Server {
    fn take(&self, message: &Value, say: Say<'_>) {
        let id = message.get("id").cloned().unwrap_or_default();
        let result = |value: Value| json!({"jsonrpc": "2.0", "id": id, "result": value}).to_string();
        match message.get("method").and_then(Value::as_str) {
            Some("initialize") => say(&result(json!({"protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": true}}, "serverInfo": {"name": "hostile", "version": "1"}}))),
            Some("tools/list") => self.list(message, &result, say),
            Some("tools/call") => self.call(message, say),
            Some("notifications/cancelled") => {
                if let Ok(mark) = std::env::var("HOSTILE_MARK") {
                    let _ = std::fs::write(mark, message["params"]["requestId"].to_string());
                }
            }
            Some(method) if message.get("id").is_some() => say(&json!({"jsonrpc": "2.0", "id": id,
                "error": {"code": -32601, "message": format!("no {method}")}})
            .to_string()),
            Some(_) => {}
            None => self.answered(message, say),
        }
    }

    fn list(&self, message: &Value, result: &dyn Fn(Value) -> String, say: Say<'_>) {
        self.lists.fetch_add(1, Ordering::Relaxed);
        let schema = json!({"type": "object"});
        let mut tools = vec![
            json!({"name": "echo", "inputSchema": schema, "annotations": {"readOnlyHint": true}}),
            json!({"name": "poke", "inputSchema": schema}),
            json!({"name": "safe_poke", "inputSchema": schema, "annotations": {"readOnlyHint": true}}),
        ];
        match self.behaviour.as_str() {
            "endless-cursor" | "slow-cursor" => {
                if self.behaviour == "slow-cursor" {
                    std::thread::sleep(Duration::from_millis(100));
                }
                return say(&result(json!({"tools": page(message, 1, 0), "nextCursor": next(message)})));
            }
            "many-pages" => return say(&result(json!({"tools": page(message, 1_000, 0), "nextCursor": next(message)}))),
            "heavy-pages" => {
                return say(&result(json!({"tools": page(message, 10, 1_000_000), "nextCursor": next(message)})));
            }
            "same-cursor" => return say(&result(json!({"tools": tools, "nextCursor": "x"}))),
            "million-tools" => {
                let id = message.get("id").cloned().unwrap_or_default();
                let mut text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"tools\":[");
                for number in 0..1_000_000 {
                    let comma = if number > 0 { "," } else { "" };
                    let _ = std::fmt::Write::write_fmt(
                        &mut text,
                        format_args!("{comma}{{\"name\":\"t{number}\",\"inputSchema\":{{}}}}"),
                    );
                }
                return say(&(text + "]}}"));
            }
            "one-bad-tool" => tools.extend([
                json!({"name": "no_schema"}),
                json!({"name": "bad_schema", "inputSchema": {"type": "object", "properties": {"a": {"type": "strin"}}}}),
                json!({"name": "echo", "inputSchema": schema}),
                json!(7),
                json!({"name": "with space", "inputSchema": schema}),
            ]),
            "changes" if self.calls.load(Ordering::Relaxed) > 0 => {
                tools.push(json!({"name": "new_tool", "inputSchema": schema}));
            }
            "strict-input" => tools.push(json!({"name": "strict", "inputSchema":
                {"type": "object", "properties": {"n": {"type": "integer"}}}})),
            "strict-output" => tools.push(json!({"name": "liar", "inputSchema": schema,
                "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}})),
            "long" => {
                let rows = json!({"type": "object", "required": ["rows", "total"], "properties": {"total": {"const": 2000},
                    "rows": {"type": "array", "items": {"type": "object", "required": ["n"]}}}});
                tools.push(json!({"name": "rows", "inputSchema": schema, "outputSchema": rows}));
                tools.push(json!({"name": "raw", "inputSchema": schema, "annotations": {"readOnlyHint": true}}));
            }
            // Names of the gateway's own tools.
            "own-names" => tools.extend(
                ["emergency_status", "search_tools"].map(|name| json!({"name": name, "inputSchema": schema})),
            ),
            "costly-patterns" => tools.extend((0..20).map(costly_patterns)),
            "costly-patterns-later" if self.calls.load(Ordering::Relaxed) > 0 => {
                tools.extend((0..40).map(costly_patterns));
            }
            "costly-schemas" => tools.extend((0..40).map(costly_schema)),
            "costly-schemas-later" => {
                // Another list each time, so that nothing of it was compiled before.
                let first = 100 * self.calls.load(Ordering::Relaxed);
                tools.extend((first..first + 40).map(costly_schema));
            }
            "hang-list" => return,
            _ => {}
        }
        say(&result(json!({"tools": tools})));
        if self.behaviour == "storm" {
            for _ in 0..20_000 {
                say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
            }
        }
    }

    fn call(&self, message: &Value, say: Say<'_>) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let id = message.get("id").cloned().unwrap_or_default();
        let name = message.pointer("/params/name").and_then(Value::as_str).unwrap_or_default();
        let text = |text: &str| {
            json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}})
                .to_string()
        };
        if name == "echo" || name == "strict" {
            let params = message.get("params").cloned().unwrap_or_default();
            return say(&text(&params.to_string()));
        }
        if name == "raw" {
            let raw = self.raw.lock().unwrap().clone();
            return say(&text(&raw));
        }
        if name == "rows" {
            return say(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}}}", rows()));
        }
        if name == "liar" {
            let lie = json!({"content": [], "structuredContent": {"n": "one"}});
            return say(&json!({"jsonrpc": "2.0", "id": id, "result": lie}).to_string());
        }
        match self.behaviour.as_str() {
            "hang" => {}
            "slow" => {
                std::thread::sleep(Duration::from_millis(1_500));
                say(&text("at last"));
            }
            "half" => {
                print!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[");
                let _ = std::io::stdout().flush();
            }
            "babble" => {
                (0..2_000).for_each(|number| say(&format!("line {number} of a log that went astray")))
            }
            "garbage" => say("%$§ this is no JSON"),
            "says-error" => say(&json!({"jsonrpc": "2.0", "id": id, "result":
                {"content": [{"type": "text", "text": "no gold left"}], "isError": true}})
            .to_string()),
            "wrong-id" => say(r#"{"jsonrpc":"2.0","id":999999,"result":{"content":[]}}"#),
            "string-id" => {
                say(&json!({"jsonrpc": "2.0", "id": id.to_string(), "result": {"content": []}}).to_string())
            }
            "depth-bomb" => {
                let bomb = "[".repeat(100_000) + &"]".repeat(100_000);
                say(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":{bomb}}}}}"));
            }
            "no-object" => say(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":[1]}}")),
            "huge" => huge(&id),
            "dies" => std::process::exit(3),
            "dies-once" => {
                // Remembered in a file, so that the next process behaves.
                let mark = std::env::var("HOSTILE_MARK").unwrap();
                if std::fs::metadata(&mark).is_err() {
                    std::fs::write(&mark, "x").unwrap();
                    std::process::exit(3);
                }
                say(&text("alive"));
            }
            "closes-mid-frame" => {
                print!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"resu");
                let _ = std::io::stdout().flush();
                std::process::exit(0);
            }
            "changes" | "costly-patterns-later" | "costly-schemas-later" => {
                say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
                say(&text("changed"));
            }
            "asks-forever" => {
                self.questions.lock().unwrap().push(id);
                self.ask(say);
            }
            "forks" => {
                let child = std::process::Command::new("sleep").arg("3600").spawn().unwrap();
                say(&text(&child.id().to_string()));
            }
            "storm" => say(&text(&self.lists.load(Ordering::Relaxed).to_string())),
            "deaf" => say(&text(&std::process::id().to_string())),
            "counts" => say(&text(&self.calls.load(Ordering::Relaxed).to_string())),
            "long" => say(&text(&"lorem ipsum ".repeat(10_000))),
            _ => say(&text("poked")),
        }
    }

    fn ask(&self, say: Say<'_>) {
        say(&json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {"message": "again?",
            "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}}}})
        .to_string());
    }

    /// Handles an answer to one of our questions by asking the next.
    fn answered(&self, _message: &Value, say: Say<'_>) {
        if self.behaviour == "asks-forever" {
            self.ask(say);
        }
    }
}

/// Tools of the page that a cursor names: `tools` of them, each with `prose` bytes of description.
fn page(message: &Value, tools: u64, prose: usize) -> Vec<Value> {
    let number = number_of(message);
    let prose = "x".repeat(prose);
    let tool = |tool: u64| json!({"name": format!("tool_{number}_{tool}"), "description": prose, "inputSchema": {"type": "object"}});
    (0..tools).map(tool).collect()
}

fn next(message: &Value) -> String {
    (number_of(message) + 1).to_string()
}

fn number_of(message: &Value) -> u64 {
    message.pointer("/params/cursor").and_then(Value::as_str).map_or(0, |page| page.parse().unwrap_or(0))
}

/// A long result with unusual formatting: spaces, trailing zeros, unknown members.
fn rows() -> String {
    let rows = vec![r#"{ "n": 1.50, "big": 9007199254740993 }"#; 2_000].join(", ");
    format!(
        r#"{{ "content": [ {{"type":"text","text":"2000 rows"}} ], "structuredContent": {{"rows": [{rows}], "total": 2000}}, "x-own": 0.10 }}"#
    )
}

/// Writes 1 GiB in one answer.
fn huge(id: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = write!(
        out,
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\""
    );
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..1024 {
        if out.write_all(&piece).is_err() {
            return;
        }
    }
    let _ = writeln!(out, "\"}}]}}}}");
}

fn over_http(server: &Arc<Server>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("listening on {}", listener.local_addr().unwrap());
    let sessions = Arc::new(Sessions::default());
    for connection in listener.incoming() {
        let (server, sessions) = (server.clone(), sessions.clone());
        std::thread::spawn(move || serve(&server, &sessions, &connection.unwrap()));
    }
}

#[derive(Default)]
struct Sessions {
    opened: AtomicU64,
    inits: AtomicU64,
    forgotten: AtomicU64,
    posts: AtomicU64,
}

/// Serves one connection; `None` ends it.
fn serve(server: &Server, sessions: &Sessions, connection: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(connection);
    loop {
        let (head, body) = request(&mut reader)?;
        let mut out = connection;
        if !head.starts_with("POST") {
            write!(out, "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n").ok()?;
            continue;
        }
        let message: Value = serde_json::from_str(&body).ok()?;
        server.raw.lock().unwrap().clone_from(&body);
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = sessions.posts.fetch_add(1, Ordering::Relaxed);
        if floods::over_http(&server.behaviour, &method, &mut out) {
            return None;
        }
        match (server.behaviour.as_str(), method.as_str()) {
            ("unauthorized", _) => {
                write!(out, "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n")
                    .ok()?;
                continue;
            }
            ("not-http", _) => {
                write!(out, "SSH-2.0-surprise\r\n").ok()?;
                return None;
            }
            ("endless-head", "tools/call") => loop {
                write!(out, "HTTP/1.1 200 OK\r\nX: {}", "x".repeat(1 << 16)).ok()?;
            },
            ("hang", "tools/call") => forever(),
            ("half-head", "tools/call") => {
                write!(out, "HTTP/1.1 200 OK\r\nContent-Ty").ok()?;
                forever();
            }
            ("half-body", "tools/call") => {
                write!(
                    out,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{\"jsonrpc\""
                )
                .ok()?;
                forever();
            }
            ("half-event", "tools/call") => {
                write!(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {{\"json")
                    .ok()?;
                forever();
            }
            ("status-500", "tools/call") => {
                write!(
                    out,
                    "HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\noops\n"
                )
                .ok()?;
                continue;
            }
            // Runs the call and answers that its session is gone.
            ("session-gone", "tools/call") if body.contains("safe_poke") => {
                let id = message.get("id").cloned().unwrap_or_default();
                let pokes = server.calls.load(Ordering::Relaxed);
                let result = json!({"content": [{"type": "text", "text": format!("{pokes} pokes")}]});
                let text = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
                write!(
                    out,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
                    text.len()
                )
                .ok()?;
                continue;
            }
            ("session-gone", "tools/call") => {
                server.calls.fetch_add(1, Ordering::Relaxed);
                write!(out, "HTTP/1.1 404 Gone\r\nContent-Length: 0\r\n\r\n").ok()?;
                continue;
            }
            ("closes", "tools/call") => return None,
            ("closes-body", "tools/call") => {
                write!(
                    out,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
                )
                .ok()?;
                return None;
            }
            ("huge", "tools/call") => {
                write!(
                    out,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1073741824\r\n\r\n"
                )
                .ok()?;
                for _ in 0..1024 {
                    out.write_all(&vec![b'x'; 1 << 20]).ok()?;
                }
                return None;
            }
            ("huge-chunks", "tools/call") => {
                write!(
                    out,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                )
                .ok()?;
                loop {
                    write!(out, "100000\r\n").ok()?;
                    out.write_all(&vec![b'x'; 1 << 20]).ok()?;
                    write!(out, "\r\n").ok()?;
                }
            }
            ("endless-sse" | "endless-event", "tools/call") => {
                write!(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n").ok()?;
                loop {
                    match server.behaviour.as_str() {
                        "endless-sse" => write!(out, ": still here {}\n\n", "x".repeat(1 << 16)).ok()?,
                        _ => write!(out, "data: {}\n", "x".repeat(1 << 16)).ok()?,
                    }
                }
            }
            ("forgets", "tools/call") if body.contains("safe_poke") => {
                let (opened, forgotten) =
                    (sessions.inits.load(Ordering::Relaxed), sessions.forgotten.load(Ordering::Relaxed));
                let id = message.get("id").cloned().unwrap_or_default();
                let result = json!({"content": [{"type": "text", "text": format!("{opened} {forgotten}")}]});
                let text = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
                write!(
                    out,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
                    text.len()
                )
                .ok()?;
                continue;
            }
            // Forgets the session at every fiftieth request.
            ("forgets", "tools/call") if number % 50 == 49 && is_current(&head, sessions) => {
                sessions.opened.fetch_add(1, Ordering::Relaxed);
                sessions.forgotten.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
        if method == "initialize" {
            sessions.inits.fetch_add(1, Ordering::Relaxed);
            let session = sessions.opened.fetch_add(1, Ordering::Relaxed) + 1;
            let mut answers = Vec::new();
            server.take(&message, &mut |text| answers.push(text.to_owned()));
            let text = answers.concat();
            write!(out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s{session}\r\nContent-Length: {}\r\n\r\n{text}", text.len()).ok()?;
            continue;
        }
        if method != "server/discover" && !is_current(&head, sessions) {
            write!(out, "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n").ok()?;
            continue;
        }
        let mut answers = Vec::new();
        server.take(&message, &mut |text| answers.push(text.to_owned()));
        match answers.as_slice() {
            [] => write!(out, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n").ok()?,
            [text] => write!(
                out,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
                text.len()
            )
            .ok()?,
            many => {
                let events: String = many.iter().map(|text| format!("data: {text}\n\n")).collect();
                write!(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n{events}", events.len()).ok()?;
            }
        }
    }
}

fn is_current(head: &str, sessions: &Sessions) -> bool {
    let current = format!("mcp-session-id: s{}\r\n", sessions.opened.load(Ordering::Relaxed));
    head.to_ascii_lowercase().contains(&current)
}

/// Reads the next request: its head and its body.
fn request(reader: &mut BufReader<&TcpStream>) -> Option<(String, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head
        .to_ascii_lowercase()
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).ok()?))
}
