//! The data folder under attack: filled once by real calls, restored before every change.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use toolcrib_store::rusqlite::Connection;
use toolcrib_testkit::process::Process;

use crate::client::{Post, Wire};

pub(super) const DATABASE: &str = "toolcrib.db";
pub(super) const ANCHOR: &str = "audit.anchor";
const WITHIN: Duration = Duration::from_secs(30);
const POLICY: &str = "[safety]\ntoken_ms = 3600000\ntokens_per_minute_max = 1000000\n\
                      repeats_max = 0\nrepeats_read_only_max = 0\n";
/// Number of older copies of the database.
const COPIES: usize = 4;

/// A signed link in the database.
#[derive(Debug, Clone)]
pub(super) struct Signed {
    pub(super) seq: i64,
    pub(super) link: Vec<u8>,
    pub(super) signature: Vec<u8>,
}

/// An unmodified folder with older copies of its database.
#[derive(Debug)]
pub(super) struct Original {
    binary: PathBuf,
    place: PathBuf,
    folder: PathBuf,
    pub(super) count: i64,
    pub(super) checkpoints: Vec<Signed>,
    pub(super) copies: Vec<PathBuf>,
    /// Folder of another installation with its own key.
    pub(super) other: PathBuf,
}

impl Original {
    /// Fills a folder by calls to `toolcrib serve`: read-only ones, confirmed ones, and one during which it is killed.
    pub(super) fn make(binary: &Path, place: &Path, records: usize) -> Result<Self> {
        let _ = std::fs::remove_dir_all(place);
        let (folder, other) = (place.join("original"), place.join("other"));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(place.join("policy.toml"), POLICY)?;
        let mut copies = Vec::new();
        // A confirmed call leaves three records.
        for part in 0..=COPIES {
            let mut serving = Serving::start(binary, place, &folder)?;
            for number in 0..records / (COPIES + 1) {
                match number % 10 {
                    0..3 => serving.confirmed(number)?,
                    _ => serving.read(number)?,
                }
            }
            if part == COPIES / 2 {
                serving.killed_in_mid_call()?;
            } else {
                serving.end()?;
            }
            if part < COPIES {
                let copy = place.join(format!("copy{part}.db"));
                std::fs::copy(folder.join(DATABASE), &copy)?;
                copies.push(copy);
            }
        }
        Serving::start(binary, place, &other)?.end()?;
        let db = Connection::open(folder.join(DATABASE))?;
        let count = db.query_row("SELECT max(seq) FROM audit", [], |row| row.get(0))?;
        let mut query = db.prepare("SELECT seq, link, signature FROM audit_checkpoints ORDER BY seq")?;
        let read = query.query_map([], |row| {
            Ok(Signed { seq: row.get(0)?, link: row.get(1)?, signature: row.get(2)? })
        })?;
        let checkpoints = read.collect::<Result<Vec<_>, _>>()?;
        ensure!(!checkpoints.is_empty(), "a log of {count} records has no checkpoint");
        drop(query);
        drop(db);
        let (binary, place) = (binary.to_path_buf(), place.to_path_buf());
        Ok(Self { binary, place, folder, count, checkpoints, copies, other })
    }
}

/// The copy that is modified.
#[derive(Debug)]
pub(super) struct Work<'a> {
    pub(super) original: &'a Original,
    pub(super) folder: PathBuf,
}

impl<'a> Work<'a> {
    pub(super) fn new(original: &'a Original) -> Result<Self> {
        Ok(Self { original, folder: original.place.join("work") })
    }

    /// Restores every file.
    pub(super) fn restore(&self) -> Result<()> {
        let _ = std::fs::remove_dir_all(&self.folder);
        std::fs::create_dir_all(&self.folder)?;
        for entry in std::fs::read_dir(&self.original.folder)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                std::fs::copy(entry.path(), self.folder.join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    pub(super) fn database(&self) -> Result<Connection> {
        Ok(Connection::open(self.folder.join(DATABASE))?)
    }

    fn run(&self, words: &[&str]) -> Result<Output> {
        let mut command = Command::new(&self.original.binary);
        command.args(words).arg("--data").arg(&self.folder);
        command.output().with_context(|| format!("running {words:?}"))
    }

    /// Runs `audit verify`; returns `true` if it detected a change, and its output.
    pub(super) fn verify(&self) -> Result<(bool, String)> {
        finding(&self.run(&["audit", "verify"])?)
    }

    /// Returns the lines of `audit export`.
    pub(super) fn export(&self) -> Result<Vec<String>> {
        let output = self.run(&["audit", "export"])?;
        ensure!(output.status.success(), "{output:?}");
        Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
    }

    /// Runs `audit verify` on an export with these lines.
    pub(super) fn verify_file(&self, lines: &[String]) -> Result<(bool, String)> {
        let file = self.folder.join("export.jsonl");
        std::fs::write(&file, lines.join("\n") + "\n")?;
        finding(&self.run(&["audit", "verify", &file.display().to_string()])?)
    }
}

fn finding(output: &Output) -> Result<(bool, String)> {
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    match output.status.code() {
        Some(0) => Ok((false, said)),
        Some(1) => Ok((true, said)),
        // The exit code has to be that of a finding; any other failure counts as not detected.
        code => Ok((false, format!("exit code {code:?}: {said}"))),
    }
}

/// A process that produces records.
#[derive(Debug)]
struct Serving {
    process: Process,
    wire: Wire,
}

impl Serving {
    fn start(binary: &Path, place: &Path, folder: &Path) -> Result<Self> {
        let mut command = Command::new(binary);
        command.args(["serve", "--demo", "workshop", "--listen", "127.0.0.1:0", "--data"]).arg(folder);
        command.arg("--policy").arg(place.join("policy.toml"));
        let mut process = Process::start(&mut command)?;
        let address = process.wait_for_line("its address", WITHIN, |line| {
            line.strip_prefix("toolcrib serves at http://")?.strip_suffix("/mcp")?.parse().ok()
        })?;
        Ok(Self { process, wire: Wire::open(address, std::net::Ipv4Addr::LOCALHOST, WITHIN)? })
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        let post = Post::modern("tools/call", &json!({"name": tool, "arguments": arguments}));
        let answer = self.wire.ask(&post)?;
        if !answer.is_success() {
            bail!("{tool}: {}", answer.text());
        }
        Ok(serde_json::from_slice(&answer.body)?)
    }

    fn read(&mut self, number: usize) -> Result<()> {
        self.call("generate_fantasy_character", &json!({"theme": number.to_string()})).map(drop)
    }

    /// Returns the arguments of a call with a token for them.
    fn with_token(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        let wish = json!({"action": tool, "params_summary": "a campaign", "arguments": arguments});
        let answer = self.call("get_confirmation_token", &wish)?;
        let token = answer.pointer("/result/structuredContent/token").and_then(Value::as_str);
        let mut shown = arguments.clone();
        let token = json!(token.context("no token")?);
        if let Some(members) = shown.as_object_mut() {
            members.insert("confirmation_token".to_owned(), token);
        }
        Ok(shown)
    }

    fn confirmed(&mut self, number: usize) -> Result<()> {
        let shown = self.with_token("launch_confetti", &json!({"count": number % 100 + 1}))?;
        self.call("launch_confetti", &shown).map(drop)
    }

    /// Kills the process with `kill -9` during a call, so that the next start finds a call with an unknown outcome.
    fn killed_in_mid_call(mut self) -> Result<()> {
        let shown = self.with_token("transfer_gold", &json!({"from": "a", "to": "b", "amount": 1}))?;
        let post = Post::modern("tools/call", &json!({"name": "transfer_gold", "arguments": shown}));
        self.wire.send(&post)?;
        // The tool takes 20 ms.
        std::thread::park_timeout(Duration::from_millis(8));
        self.process.kill();
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        let ended = self.process.terminate(WITHIN)?;
        ensure!(ended.success(), "{ended}: {}", self.process.said());
        Ok(())
    }
}
