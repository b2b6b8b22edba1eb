//! An MCP server (2026-07-28) over HTTP inside this program: lists the given items, gives every call the same answer,
//! and notifies its subscribers when the items change.
//!
//! Hostile ones run at the lowest priority, because CPU time that an attacker would use on a machine of its own must
//! not count against the gateway.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::gateway::Server;

/// Poll interval of a subscription stream for changes.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Writes arbitrary bytes until the gateway disconnects.
pub(crate) type Harm = fn(&TcpStream) -> std::io::Result<()>;

/// Lists and answers of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Offer {
    pub(crate) tools: Vec<Value>,
    pub(crate) templates: Vec<Value>,
    /// Replaces the answer to a call.
    pub(crate) harm: Option<Harm>,
    /// Members of the result of every call, such as `"structuredContent":{}`; if empty, the result has empty content.
    pub(crate) result: String,
}

impl Offer {
    pub(crate) fn tool(name: &str, input: &Value) -> Self {
        let tool = json!({"name": name, "inputSchema": input, "annotations": {"readOnlyHint": true}});
        Self { tools: vec![tool], ..Self::default() }
    }

    pub(crate) fn template(template: &str) -> Self {
        Self { templates: vec![json!({"uriTemplate": template, "name": "t"})], ..Self::default() }
    }
}

#[derive(Debug)]
struct Shared {
    lists: Mutex<Lists>,
    changes: AtomicU64,
    stopped: AtomicBool,
}

/// Serialised results.
#[derive(Debug, Clone)]
struct Lists {
    tools: Arc<str>,
    templates: Arc<str>,
    result: Arc<str>,
    harm: Option<Harm>,
}

impl From<&Offer> for Lists {
    fn from(offer: &Offer) -> Self {
        let complete = r#""resultType":"complete","ttlMs":0,"cacheScope":"private""#;
        let list = |member: &str, items: &[Value]| {
            format!("{{{complete},\"{member}\":{}}}", Value::Array(items.to_vec()))
        };
        let result = match offer.result.as_str() {
            "" => r#"{"resultType":"complete","content":[],"contents":[]}"#.to_owned(),
            members => format!("{{\"resultType\":\"complete\",\"content\":[],{members}}}"),
        };
        Self {
            tools: list("tools", &offer.tools).into(),
            templates: list("resourceTemplates", &offer.templates).into(),
            result: result.into(),
            harm: offer.harm,
        }
    }
}

/// Server on a port of its own, until it is dropped.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

impl Upstream {
    /// Starts a well-behaved server with one tool, `echo`.
    pub(crate) fn good() -> Result<Self> {
        let input = json!({"type": "object", "properties": {"text": {"type": "string"}, "number": {"type": "integer"}}});
        let mut offer = Offer::tool("echo", &input);
        offer.result = r#""structuredContent":{"text":"hello"}"#.to_owned();
        Self::start(&offer, false)
    }

    pub(crate) fn hostile(offer: &Offer) -> Result<Self> {
        Self::start(offer, true)
    }

    fn start(offer: &Offer, is_hostile: bool) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            lists: Mutex::new(offer.into()),
            changes: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        });
        let own = shared.clone();
        std::thread::spawn(move || {
            if is_hostile {
                lower_priority();
            }
            for connection in listener.incoming().flatten() {
                if own.stopped.load(Ordering::Relaxed) {
                    return;
                }
                let own = own.clone();
                std::thread::spawn(move || {
                    // The gateway may disconnect at any time.
                    let _ = own.serve(&connection);
                });
            }
        });
        Ok(Self { address, shared })
    }

    /// Returns the configuration entry for this server.
    pub(crate) fn entry(&self, name: &'static str) -> Server {
        Server::at(name, self.address)
    }

    /// Replaces the offered items and notifies subscribers.
    pub(crate) fn change(&self, offer: &Offer) {
        *self.shared.lists.lock().unwrap_or_else(PoisonError::into_inner) = offer.into();
        self.shared.changes.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
    }
}

/// Lets this thread, and those that it starts, run only while the core is otherwise idle. The program `chrt` sets the
/// scheduling class; without it the thread gets the lowest priority.
pub(crate) fn lower_priority() {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let set = Command::new("chrt").args(["--idle", "--pid", "0", &thread]).status();
    if !set.is_ok_and(|status| status.success()) {
        let _ = rustix::process::nice(19);
    }
}

impl Shared {
    fn serve(&self, connection: &TcpStream) -> Result<()> {
        connection.set_nodelay(true)?;
        let mut reader = BufReader::new(connection);
        let out = connection;
        while let Some(body) = request(&mut reader)? {
            let message: Value = serde_json::from_slice(&body).unwrap_or_default();
            let id = message.get("id").cloned().unwrap_or_default();
            let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
            let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let result = match method {
                "server/discover" => Arc::from(
                    r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0,"cacheScope":"private","capabilities":{"tools":{"listChanged":true},"resources":{}}}"#,
                ),
                "tools/list" => lists.tools,
                "resources/templates/list" => lists.templates,
                "resources/list" => {
                    Arc::from(r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","resources":[]}"#)
                }
                "subscriptions/listen" => return self.subscription(out, &id),
                "tools/call" | "resources/read" => match lists.harm {
                    Some(harm) => return Ok(harm(out)?),
                    None => lists.result,
                },
                _ => {
                    let error = json!({"code": -32601, "message": format!("no {method}")});
                    answer(out, &json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string())?;
                    continue;
                }
            };
            answer(out, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"))?;
        }
        Ok(())
    }

    /// Writes a stream of notifications about changes of the lists.
    fn subscription(&self, mut out: &TcpStream, id: &Value) -> Result<()> {
        let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
        let say = |mut out: &TcpStream, method: &str, params: Value| {
            let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
            write!(out, "data: {message}\n\n")
        };
        write!(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")?;
        let wanted = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
        say(out, "notifications/subscriptions/acknowledged", wanted)?;
        let mut seen = self.changes.load(Ordering::Relaxed);
        while !self.stopped.load(Ordering::Relaxed) {
            std::thread::park_timeout(LOOK_EVERY);
            let now = self.changes.load(Ordering::Relaxed);
            if now != seen {
                seen = now;
                say(out, "notifications/tools/list_changed", json!({"_meta": meta}))?;
            }
        }
        Ok(())
    }
}

/// Sends a JSON body with status 200.
pub(crate) fn answer(mut out: &TcpStream, text: &str) -> Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        text.len()
    );
    // One write: two would be two packets, and the second would be delayed.
    Ok(out.write_all((head + text).as_bytes())?)
}

/// Reads the body of the next request; `None` at the end of the connection.
pub(crate) fn request(reader: &mut BufReader<&TcpStream>) -> Result<Option<Vec<u8>>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(body))
}
