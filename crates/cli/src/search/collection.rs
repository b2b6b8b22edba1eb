//! Collection of real tools from published catalogues, keyed as in the judged questions.

use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};
use toolcrib_contract::Definition;
use toolcrib_engine::search::Text;

/// Minimum size of the collection; a measurement over fewer tools means nothing.
const TOOLS_MIN: usize = 500;

/// Servers of the registry that are left out: their tools are in another file with definitions, or twice in the
/// registry.
const TOLD_ELSEWHERE: [&str; 14] = [
    "atlassian-remote",
    "buildkite",
    "context7-remote",
    "everything",
    "github",
    "github-remote",
    "heroku-mcp-server",
    "neon",
    "notion-remote",
    "osv",
    "semgrep-remote",
    "sentry-remote",
    "stripe-remote",
    "toolhive-doc-mcp-remote",
];

/// Returns every tool of the data folder with its key, `file#tool` or `file#server/tool`.
pub(super) fn tools_of(data: &Path) -> anyhow::Result<Vec<(String, Text)>> {
    let mut tools = Vec::new();
    let github = "github-mcp-server/v0.33.0.tools.json";
    for tool in array(json_file(data, github)?.get("tools")) {
        add(&mut tools, github, "github", tool);
    }
    let mut docker: Vec<_> =
        std::fs::read_dir(data.join("docker-mcp-registry"))?.collect::<Result<_, _>>()?;
    docker.sort_by_key(std::fs::DirEntry::file_name);
    for file in docker {
        let name = file.file_name().to_string_lossy().into_owned();
        let path = format!("docker-mcp-registry/{name}");
        let server = name.trim_end_matches(".tools.json").to_owned();
        for tool in array(Some(&json_file(data, &path)?)) {
            add(&mut tools, &path, &server, tool);
        }
    }
    for (path, server) in [
        ("toolhive-catalog/osv@0.1.0.server.json", "osv"),
        ("toolhive-catalog/everything@2026.8.31.server.json", "everything"),
    ] {
        let file = json_file(data, path)?;
        let mut found = Vec::new();
        tool_definitions(&file, &mut found);
        found.into_iter().for_each(|tool| add(&mut tools, path, server, tool));
    }
    // The registry has only names. They make the other tools harder to find, as in practice.
    let path = "toolhive/registry-legacy-2026-02-18.json";
    let registry = json_file(data, path)?;
    for servers in ["servers", "remote_servers"].into_iter().filter_map(|key| registry.get(key)?.as_object())
    {
        for (server, about) in servers.iter().filter(|(name, _)| !TOLD_ELSEWHERE.contains(&name.as_str())) {
            for name in array(about.get("tools")).filter_map(Value::as_str) {
                let text = Text { name: name.into(), toolset: server.clone(), ..Text::default() };
                tools.push((format!("{path}#{server}/{name}"), text));
            }
        }
    }
    if tools.len() < TOOLS_MIN {
        bail!("only {} tools were found", tools.len());
    }
    Ok(tools)
}

fn json_file(data: &Path, path: &str) -> anyhow::Result<Value> {
    let path = data.join(path);
    let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
    serde_json::from_slice(&bytes).with_context(|| path.display().to_string())
}

fn array(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Collects the `tool_definitions` at any depth of a server's entry.
fn tool_definitions<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(members) => {
            found.extend(array(members.get("tool_definitions")));
            members.values().for_each(|value| tool_definitions(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| tool_definitions(value, found)),
        _ => {}
    }
}

fn add(tools: &mut Vec<(String, Text)>, path: &str, server: &str, tool: &Value) {
    if let Ok(definition) = Definition::from_value(&strict(tool)) {
        tools.push((format!("{path}#{}", definition.name()), Text::of(&definition, server)));
    }
}

/// Converts a declaration that has `arguments` as a list into a definition.
fn strict(tool: &Value) -> Value {
    let mut tool = tool.clone();
    let arguments = tool.as_object_mut().and_then(|members| members.remove("arguments"));
    if let Some(arguments) = arguments {
        let properties: Map<String, Value> = array(Some(&arguments))
            .filter_map(|argument| {
                let about = json!({"description": argument.get("desc").or(argument.get("description"))});
                Some((argument.get("name")?.as_str()?.to_owned(), about))
            })
            .collect();
        if let Some(members) = tool.as_object_mut() {
            members.insert("inputSchema".into(), json!({"type": "object", "properties": properties}));
        }
    }
    tool
}
