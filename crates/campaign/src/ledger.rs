//! A server with one destructive tool, `spend`, that appends a line to a file for every execution.
//!
//! The file is the oracle of `campaign crash`. A line is one write to a file opened for appending, so `kill -9` leaves
//! either the whole line or none of it.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::upstream::{answer, request};

/// Working time of the tool before or after it writes its line, in the manners that take time.
const WORK: Duration = Duration::from_millis(30);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file that executions are appended to.
    #[arg(long)]
    file: PathBuf,
    /// A file for the process id, which another program kills.
    #[arg(long)]
    pid: Option<PathBuf>,
    /// Address to listen at; stdio without one.
    #[arg(long)]
    listen: Option<SocketAddr>,
}

/// Behaviour of one execution, chosen by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Executes and answers at once.
    Plain,
    /// Works, then executes and answers.
    WorksBefore,
    /// Executes, then works and answers.
    WorksAfter,
    /// Answers with `isError` and executes nothing.
    Refuses,
    /// Executes and answers with `isError`.
    FailsAfter,
}

impl Manner {
    pub(crate) const ALL: [Self; 5] =
        [Self::Plain, Self::WorksBefore, Self::WorksAfter, Self::Refuses, Self::FailsAfter];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::WorksBefore => "works-before",
            Self::WorksAfter => "works-after",
            Self::Refuses => "refuses",
            Self::FailsAfter => "fails-after",
        }
    }

    fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|manner| manner.word() == word)
    }

    /// Returns `true` if the tool itself reports that the call failed.
    pub(crate) const fn says_error(self) -> bool {
        matches!(self, Self::Refuses | Self::FailsAfter)
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(&args.file).context("opening the ledger")?;
    let ledger = Arc::new(Ledger(file));
    if let Some(path) = &args.pid {
        std::fs::write(path, std::process::id().to_string())?;
    }
    match args.listen {
        Some(address) => ledger.listen(address),
        None => ledger.read_stdin(),
    }
}

#[derive(Debug)]
struct Ledger(File);

impl Ledger {
    fn listen(self: &Arc<Self>, address: SocketAddr) -> Result<()> {
        let listener = TcpListener::bind(address).with_context(|| format!("listening at {address}"))?;
        println!("listening at {address}");
        for connection in listener.incoming().flatten() {
            let ledger = self.clone();
            std::thread::spawn(move || -> Result<()> {
                connection.set_nodelay(true)?;
                let mut reader = BufReader::new(&connection);
                while let Some(body) = request(&mut reader)? {
                    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
                    match ledger.respond(&message)? {
                        Some(reply) => answer(&connection, &reply.to_string())?,
                        None => {
                            (&connection).write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")?;
                        }
                    }
                }
                Ok(())
            });
        }
        Ok(())
    }

    /// Serves until standard input ends; each message on a thread of its own.
    fn read_stdin(self: &Arc<Self>) -> Result<()> {
        for line in std::io::stdin().lock().lines() {
            let message: Value = serde_json::from_str(&line?).unwrap_or_default();
            let ledger = self.clone();
            std::thread::spawn(move || -> Result<()> {
                if let Some(reply) = ledger.respond(&message)? {
                    // One write for the whole line.
                    let mut out = std::io::stdout().lock();
                    out.write_all(format!("{reply}\n").as_bytes())?;
                    out.flush()?;
                }
                Ok(())
            });
        }
        Ok(())
    }

    fn respond(&self, message: &Value) -> Result<Option<Value>> {
        let Some(id) = message.get("id") else { return Ok(None) };
        let complete = |mut result: Value| {
            if let Some(members) = result.as_object_mut() {
                members.insert("resultType".to_owned(), json!("complete"));
            }
            json!({"jsonrpc": "2.0", "id": id, "result": result})
        };
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
        Ok(Some(match method {
            "server/discover" => complete(json!({"supportedVersions": ["2026-07-28"], "ttlMs": 0,
                "cacheScope": "private", "capabilities": {"tools": {}}})),
            "tools/list" => complete(json!({"ttlMs": 0, "cacheScope": "private", "tools": [tool()]})),
            "tools/call" => {
                let arguments = message.pointer("/params/arguments").cloned().unwrap_or_default();
                complete(self.spend(&arguments)?)
            }
            _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}}),
        }))
    }

    fn spend(&self, arguments: &Value) -> Result<Value> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let manner = Manner::named(text("manner")).unwrap_or(Manner::Plain);
        let work = || std::thread::park_timeout(WORK);
        if manner == Manner::WorksBefore {
            work();
        }
        if manner != Manner::Refuses {
            (&self.0).write_all(format!("{}\n", text("call")).as_bytes())?;
        }
        if manner == Manner::WorksAfter {
            work();
        }
        let said = if manner.says_error() { "it failed" } else { "spent" };
        Ok(json!({"content": [{"type": "text", "text": said}], "isError": manner.says_error()}))
    }
}

fn tool() -> Value {
    json!({"name": "spend", "description": "Spends.", "annotations": {"destructiveHint": true, "readOnlyHint": false},
        "inputSchema": {"type": "object", "additionalProperties": false, "required": ["call", "manner"],
            "properties": {"call": {"type": "string"}, "manner": {"type": "string"}}}})
}
