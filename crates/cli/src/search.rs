//! `toolcrib search FILE WORDS…` finds tools; `toolcrib search --eval` measures the ranking over judged questions,
//! beside plain BM25 over the same text in the same run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolcrib_contract::{Definition, signature};
use toolcrib_engine::search::eval::{Figures, Judged};
use toolcrib_engine::search::plain::PlainIndex;
use toolcrib_engine::search::{Hit, Index, Text};

use crate::exit::{Exit, Failure, print};
use crate::{Outcome, source};

/// Results of which a ranking is judged.
const JUDGED_MAX: usize = 10;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A file that holds definitions.
    #[arg(required_unless_present = "eval", conflicts_with = "eval")]
    file: Option<PathBuf>,
    /// What the tool should do.
    #[arg(conflicts_with = "eval")]
    words: Vec<String>,
    /// At most so many results.
    #[arg(long, default_value_t = 10)]
    limit: usize,
    /// Measure instead: hit@1, recall@5, recall@10 and MRR over judged questions.
    #[arg(long)]
    eval: bool,
    /// The judged questions: one `{"query", "right": ["file#tool", …]}` a line.
    #[arg(long, requires = "eval", default_value = "crates/engine/tests/search/queries.jsonl")]
    queries: PathBuf,
    /// The folder that the questions' files are in.
    #[arg(long, requires = "eval", default_value = "../shared/data")]
    data: PathBuf,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if args.eval {
        return evaluate(args);
    }
    let definitions = source::definitions(args.file.as_deref().unwrap_or(Path::new("")))?;
    let index = Index::build(definitions.iter().map(|definition| Text::of(definition, "")));
    let hits = index.search(&args.words.join(" "), args.limit, |_| true);
    let found = hits.iter().filter_map(|hit| definitions.get(hit.at));
    let lines: String = found.map(|definition| format!("{}\n", signature(definition))).collect();
    print(&lines)?;
    Ok(Exit::Nothing)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    query: String,
    right: Vec<String>,
}

fn evaluate(args: &Args) -> Outcome {
    let unreachable = |error| Failure::new(Exit::Unreachable, error);
    let questions = questions(&args.queries).map_err(unreachable)?;
    let tools = catalogue(&args.data).map_err(unreachable)?;
    let places: HashMap<&str, usize> = tools.iter().enumerate().map(|(at, (key, _))| (&**key, at)).collect();
    let mut right = Vec::with_capacity(questions.len());
    for question in &questions {
        let places: Option<Vec<usize>> =
            question.right.iter().map(|key| places.get(&**key).copied()).collect();
        right.push(places.ok_or_else(|| {
            let error = anyhow!("{:?} names a tool that is not there: {:?}", question.query, question.right);
            Failure::new(Exit::Usage, error)
        })?);
    }
    let texts = || tools.iter().map(|(_, text)| text.clone());
    let (index, plain) = (Index::build(texts()), PlainIndex::build(texts()));
    let figures = |search: &dyn Fn(&str) -> Vec<Hit>| {
        let rankings: Vec<Vec<usize>> =
            questions.iter().map(|it| search(&it.query).iter().map(|hit| hit.at).collect()).collect();
        Figures::of(rankings.iter().zip(&right).map(|(ranking, right)| Judged { ranking, right }))
    };
    let ours = figures(&|query| index.search(query, JUDGED_MAX, |_| true));
    let theirs = figures(&|query| plain.search(query, JUDGED_MAX));
    let mut out = format!("{} questions over {} tools\n", ours.questions, tools.len());
    out.push_str(&format!("{:<14} {:>7} {:>9} {:>10} {:>7}\n", "", "hit@1", "recall@5", "recall@10", "MRR"));
    for (name, figures) in [("search_tools", ours), ("plain BM25", theirs)] {
        let Figures { hit_1, recall_5, recall_10, mrr, .. } = figures;
        out.push_str(&format!("{name:<14} {hit_1:>7.3} {recall_5:>9.3} {recall_10:>10.3} {mrr:>7.3}\n"));
    }
    let beaten = ours.hit_1 > theirs.hit_1
        && ours.recall_5 > theirs.recall_5
        && ours.recall_10 > theirs.recall_10
        && ours.mrr > theirs.mrr;
    out.push_str(if beaten { "better by every figure\n" } else { "NOT better by every figure\n" });
    print(&out)?;
    Ok(if beaten { Exit::Nothing } else { Exit::Findings })
}

fn questions(path: &Path) -> anyhow::Result<Vec<Question>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            serde_json::from_str(line).with_context(|| format!("{}: line {}", path.display(), number + 1))
        })
        .collect()
}

/// Servers of the registry whose tools stand in another file with their definitions, or twice in the registry.
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

/// Every tool of the data folder with its key, `file#tool` or `file#server/tool`.
fn catalogue(data: &Path) -> anyhow::Result<Vec<(String, Text)>> {
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
    // The registry has only names: they are what makes the others hard to find.
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
    if tools.len() < 500 {
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

/// Definitions wherever a server's entry holds them.
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

/// A loose declaration, `arguments` as a list, as a definition.
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
