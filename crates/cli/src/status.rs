//! `toolcrib status`: what runs at an address, as a client sees it, and the servers behind it where it is a gateway: how
//! they are, which of their tools are kept aside, and why.

use serde_json::{Value, json};
use toolcrib::Filter;
use toolcrib_upstream::Spec;

use crate::Outcome;
use crate::call::behind;
use crate::exit::{Exit, Failure, print};
use crate::form::{Form, Format};
use crate::terminal::{Style, Table};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where it serves; an address such as `--listen` takes will do.
    #[arg(default_value = "http://127.0.0.1:7420/mcp")]
    url: String,
    /// How long it may take to answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    patience: u64,
    #[command(flatten)]
    form: Form,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::new(Exit::Internal, error))?;
    let patience = std::time::Duration::from_secs(args.patience);
    runtime.block_on(async {
        let begun = std::time::Instant::now();
        let url = whole(&args.url);
        let (server, gateway) = behind(Spec::url(&url, &url), patience)
            .await
            .map_err(|failure| failure.hint("start it with `toolcrib serve`"))?;
        let answered_ms = begun.elapsed().as_millis();
        let status = gateway.status().into_iter().next();
        let tools: Vec<Value> = server
            .list(&Filter::default())
            .iter()
            .map(|entry| json!({"name": entry.name(), "effect": crate::show::badge(entry.contract().effect())}))
            .collect();
        let toolsets = match server.get("list_available_toolsets") {
            Some(_) => server.call("list_available_toolsets", json!({})).await.unwrap_or_default(),
            None => Value::Null,
        };
        gateway.stop().await;
        let servers = tokio::time::timeout(patience, behind_it(&url)).await.unwrap_or_default();
        let toolsets = toolsets.pointer("/structuredContent/toolsets").cloned().unwrap_or(json!([]));
        let status = status.and_then(|status| serde_json::to_value(status).ok()).unwrap_or_default();
        let report = json!({"url": url, "answered_ms": answered_ms as u64, "server": status,
            "servers": servers, "toolsets": toolsets, "tools": tools});
        print(&match args.form.format() {
            Format::Json => report.to_string(),
            Format::Terminal => spoken(&report),
        })?;
        Ok(Exit::Nothing)
    })
}

/// The URL of an address, or of a URL that names no path.
fn whole(given: &str) -> String {
    let with_scheme = if given.contains("://") { given.to_owned() } else { format!("http://{given}") };
    match with_scheme.split_once("://") {
        Some((_, rest)) if !rest.contains('/') => format!("{with_scheme}/mcp"),
        _ => with_scheme,
    }
}

/// What a gateway says of the servers behind it; nothing where it is none.
async fn behind_it(url: &str) -> Vec<Value> {
    let Some((scheme, rest)) = url.split_once("://") else { return Vec::new() };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let Ok(text) = toolcrib_upstream::fetch(&format!("{scheme}://{host}/readyz"), None).await else {
        return Vec::new();
    };
    let report: Value = serde_json::from_str(&text).unwrap_or_default();
    report.get("servers").and_then(Value::as_array).cloned().unwrap_or_default()
}

/// Servers in a table, and below it each tool that is not what its server meant, with the reason.
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
    let counted = |effect: &str| {
        let tools = report.get("tools").and_then(Value::as_array).into_iter().flatten();
        tools.filter(|tool| tool.get("effect").and_then(Value::as_str) == Some(effect)).count()
    };
    let mut text = format!(
        "{} is {}, MCP {}, answered in {} ms\n{} tools listed: {} read-only, {} writing, {} destructive\n",
        word("/url"),
        word("/server/state"),
        word("/server/revision"),
        word("/answered_ms"),
        word("/server/tools"),
        counted("read-only"),
        counted("writes"),
        counted("destructive"),
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
