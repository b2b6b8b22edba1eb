//! `toolcrib status`: shows what runs at an address, as a client sees it. For a gateway it also shows the state of the
//! servers behind it, and which of their tools are quarantined and why.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcrib::{Filter, Server};
use toolcrib_contract::text::one_line;
use toolcrib_gateway::Source;
use toolcrib_server::UNIX_PREFIX;
use toolcrib_upstream::{Spec, Transport};

use crate::Outcome;
use crate::call::behind;
use crate::capture::headers;
use crate::data::since;
use crate::exit::{Exit, Failure, print};
use crate::form::{Form, Format};
use crate::terminal::{Style, Table, counted};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where it serves; an address such as `--listen` takes will do.
    #[arg(default_value = "http://127.0.0.1:7420/mcp")]
    url: String,
    /// How long it may take to answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    patience: u64,
    /// A header for the URL, as "Name: value"; ${VARIABLE} in it is read from the environment.
    #[arg(long, value_name = "HEADER")]
    header: Vec<String>,
    /// Certificates that are trusted besides the system's, in PEM form.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    #[command(flatten)]
    form: Form,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::new(Exit::Internal, error))?;
    let patience = std::time::Duration::from_secs(args.patience);
    runtime.block_on(async {
        let begun = std::time::Instant::now();
        let url = whole(&args.url);
        let mut spec = Spec::url(&url, &url);
        if let Transport::Http(endpoint) = &mut spec.transport {
            endpoint.headers.extend(headers(&args.header)?);
            endpoint.ca_file.clone_from(&args.ca_file);
        }
        let server = Server::new("toolcrib", env!("CARGO_PKG_VERSION"));
        let server = server.map_err(|error| Failure::new(Exit::Internal, error))?;
        let gateway = behind(&server, Source::new(spec, false), None, patience).await.map_err(unreached)?;
        let answered_ms = begun.elapsed().as_millis();
        let status = gateway.status().into_iter().next();
        let tools: Vec<Value> = server
            .list(&Filter::default())
            .iter()
            .map(|entry| json!({"name": entry.name(), "effect": crate::show::badge(entry.judged().effect)}))
            .collect();
        let toolsets = match server.get("list_available_toolsets") {
            Some(_) => server.call("list_available_toolsets", json!({})).await.unwrap_or_default(),
            None => Value::Null,
        };
        let ready =
            tokio::time::timeout(patience, ready(&url, args.ca_file.as_deref())).await.unwrap_or_default();
        // Only a gateway has `/readyz`; another server may have the tool `emergency_status`.
        let stops = match (ready.get("stops"), server.get("emergency_status")) {
            (None, Some(_)) => {
                let status = server.call("emergency_status", json!({})).await.unwrap_or_default();
                status.pointer("/structuredContent/stops").cloned()
            }
            (stops, _) => stops.cloned(),
        };
        gateway.stop().await;
        let stops = stops.unwrap_or(json!([]));
        let servers = ready.get("servers").cloned().unwrap_or(json!([]));
        let toolsets = toolsets.pointer("/structuredContent/toolsets").cloned().unwrap_or(json!([]));
        let status = status.and_then(|status| serde_json::to_value(status).ok()).unwrap_or_default();
        let report = json!({"url": url, "answered_ms": answered_ms as u64, "server": status,
            "servers": servers, "toolsets": toolsets, "tools": tools, "stops": stops,
            "audit": ready.get("audit").cloned().unwrap_or_default()});
        print(&match args.form.format() {
            Format::Json => report.to_string(),
            Format::Terminal => spoken(&report),
        })?;
        Ok(if is_stopped(&report) { Exit::Findings } else { Exit::Nothing })
    })
}

/// Adds a hint to the failure of an address that does not answer as expected.
fn unreached(failure: Failure) -> Failure {
    let said = failure.to_string();
    failure.hint(if said.contains("the server asks for ") {
        "it runs and asks for a credential: give one with --header 'Authorization: Bearer ${VARIABLE}'"
    } else if said.contains("an authority that is not trusted here") {
        "give the certificate of its authority with --ca-file"
    } else {
        "start it with `toolcrib serve`"
    })
}

/// Returns true if everybody is stopped. Stops of single callers do not count.
fn is_stopped(report: &Value) -> bool {
    let stops = report.get("stops").and_then(Value::as_array).into_iter().flatten();
    stops.into_iter().any(|stop| stop.get("caller").is_none_or(Value::is_null))
}

/// Completes an address, or a URL without a path, to a URL.
fn whole(given: &str) -> String {
    if let Some(socket) = given.strip_prefix(UNIX_PREFIX) {
        // Relative paths are those of `serve --listen`; the clients of servers take absolute ones only.
        let socket = std::path::absolute(socket).unwrap_or_else(|_| socket.into());
        return format!("{UNIX_PREFIX}{}", socket.display());
    }
    let with_scheme = if given.contains("://") { given.to_owned() } else { format!("http://{given}") };
    match with_scheme.split_once("://") {
        Some((_, rest)) if !rest.contains('/') => format!("{with_scheme}/mcp"),
        _ => with_scheme,
    }
}

/// Returns a gateway's report at `/readyz`, or null if there is none.
async fn ready(url: &str, ca_file: Option<&Path>) -> Value {
    let Some(page) = beside(url, "/readyz") else { return Value::Null };
    let page = toolcrib_upstream::fetch(&page, ca_file).await;
    page.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Returns the URL of another path of the same server.
fn beside(url: &str, path: &str) -> Option<String> {
    if let Some(socket) = url.strip_prefix(UNIX_PREFIX) {
        let socket = socket.split_once(":/").map_or(socket, |(socket, _)| socket);
        return Some(format!("{UNIX_PREFIX}{socket}:{path}"));
    }
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    Some(format!("{scheme}://{host}{path}"))
}

/// Formats the stops in force, and a broken audit.
fn warnings(report: &Value) -> String {
    let mut text = String::new();
    for stop in report.get("stops").and_then(Value::as_array).into_iter().flatten() {
        let word = |name: &str| one_line(stop.get(name).and_then(Value::as_str).unwrap_or_default());
        let began = stop.get("since_ms").and_then(Value::as_u64).map(since).unwrap_or_default();
        text.push_str(&format!(
            "emergency stop for {} since {began}, by {}: {}\n",
            word("who"),
            word("by"),
            word("reason")
        ));
    }
    if !text.is_empty() {
        text.push_str("an operator lifts it where it runs: toolcrib unlock, with the --data of the server\n");
    }
    if report.get("audit").and_then(Value::as_str) == Some("broken") {
        text.push_str("the audit is broken: destructive calls are refused\n");
    }
    text
}

/// Formats the servers as a table, followed by each quarantined or drifted tool with its reason.
fn servers(all: &[Value]) -> String {
    let word = |value: &Value, name: &str| match value.get(name) {
        Some(Value::String(text)) => toolcrib_contract::text::one_line(text),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let mut table = Table::new(&["SERVER", "STATE", "TOOLS", "ASIDE", "REMARK"]);
    let mut tools = String::new();
    for server in all {
        let listed = |name: &str| server.get(name).and_then(Value::as_array).into_iter().flatten();
        for (list, what) in [("quarantined", "quarantined"), ("drifted", "drifted, and served")] {
            for one in listed(list) {
                let (name, tool) = (word(server, "name"), word(one, "tool"));
                tools.push_str(&format!("  {what}: {name}/{tool}: {}\n", word(one, "reason")));
            }
        }
        let stale = if server.get("stale") == Some(&Value::Bool(true)) { "stale; " } else { "" };
        table.row([
            word(server, "name"),
            word(server, "state"),
            word(server, "tools"),
            listed("quarantined").count().to_string(),
            format!("{stale}{}", word(server, "reason")),
        ]);
    }
    format!("\n{}{tools}", table.render(Style::of_stdout()))
}

fn spoken(report: &Value) -> String {
    let word = |place: &str| match report.pointer(place) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let of_effect = |effect: &str| {
        let tools = report.get("tools").and_then(Value::as_array).into_iter().flatten();
        tools.filter(|tool| tool.get("effect").and_then(Value::as_str) == Some(effect)).count()
    };
    let state = if is_stopped(report) { "STOPPED".to_owned() } else { word("/server/state") };
    let tools = report.pointer("/server/tools").and_then(Value::as_u64).unwrap_or_default();
    let mut text = format!(
        "{} is {state}, MCP {}, answered in {} ms\n{}{} listed: {} read-only, {} writing, {} destructive\n",
        word("/url"),
        word("/server/revision"),
        word("/answered_ms"),
        warnings(report),
        counted(usize::try_from(tools).unwrap_or(usize::MAX), "tool"),
        of_effect("read-only"),
        of_effect("writes"),
        of_effect("destructive"),
    );
    if let Some(all) = report.get("servers").and_then(Value::as_array).filter(|all| !all.is_empty()) {
        text.push_str(&servers(all));
    }
    let sets: Vec<&Value> = report.get("toolsets").and_then(Value::as_array).into_iter().flatten().collect();
    if !sets.is_empty() {
        let mut table = Table::new(&["TOOLSET", "TOOLS", "LOADED", "WHAT FOR"]);
        for set in sets {
            let cell = |name: &str| match set.get(name) {
                Some(Value::String(text)) => toolcrib_contract::text::escaped(text).to_string(),
                Some(Value::Bool(truth)) => (if *truth { "yes" } else { "no" }).to_owned(),
                Some(other) => other.to_string(),
                None => String::new(),
            };
            table.row([cell("name"), cell("tool_count"), cell("loaded"), cell("description")]);
        }
        text.push_str(&format!("\n{}", table.render(Style::of_stdout())));
    }
    text
}
