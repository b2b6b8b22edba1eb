//! `toolcrib list [--show-tools]`: lists the servers of the catalogue (R8.2).

use serde_json::{Value, json};
use toolcrib_contract::Definition;
use toolcrib_store::StoreError;
use toolcrib_store::catalogue::{ListQuery, ServerRow, ToolRow};

use crate::Outcome;
use crate::catalogue::{Place, unreachable};
use crate::exit::{Exit, print};
use crate::form::{Form, Format};
use crate::show::badge;
use crate::table::{columns, table};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A part of the names of the servers to list.
    search: Option<String>,
    /// Every tool of every server, with its description.
    #[arg(long)]
    show_tools: bool,
    /// Every version, not only the latest.
    #[arg(long)]
    all_versions: bool,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let store = args.place.open()?;
    let query = ListQuery {
        search: args.search.clone(),
        version: (!args.all_versions).then(|| "latest".to_owned()),
        limit: u32::MAX,
        ..ListQuery::default()
    };
    let with_tools = args.show_tools;
    let rows = store
        .read::<_, StoreError, _>(move |db| {
            let servers = db.list(&query)?;
            servers
                .into_iter()
                .map(|server| {
                    let tools =
                        if with_tools { db.tools(&server.name, &server.version)? } else { Vec::new() };
                    Ok((server, tools))
                })
                .collect::<Result<Vec<_>, StoreError>>()
        })
        .wait_blocking()
        .map_err(unreachable)?;
    let is_empty = rows.is_empty();
    let text = match (args.form.format(), args.show_tools) {
        (Format::Json, _) => json_text(&rows, args.show_tools),
        (Format::Terminal, true) => with_tools_text(&rows),
        (Format::Terminal, false) => {
            let rows: Vec<[String; 4]> = rows
                .into_iter()
                .map(|(row, _)| [row.name, row.version, row.tool_count.to_string(), row.description])
                .collect();
            table(["NAME", "VERSION", "TOOLS", "DESCRIPTION"], &rows, columns())
        }
    };
    print(&text)?;
    if is_empty && !args.form.is_json() {
        eprintln!("{}", args.nothing());
    }
    Ok(Exit::Nothing)
}

impl Args {
    /// Returns a hint for an empty list.
    fn nothing(&self) -> String {
        match &self.search {
            Some(part) => format!("no server has {part:?} in its name; `toolcrib search` looks at tools"),
            None => "the catalogue is empty: `toolcrib registry import FILE` fills it".to_owned(),
        }
    }
}

/// Formats the servers with their tools: the first tool on the server's row, the others below with a blank name.
fn with_tools_text(servers: &[(ServerRow, Vec<ToolRow>)]) -> String {
    let mut rows: Vec<[String; 2]> = Vec::new();
    for (server, tools) in servers {
        let mut name = server.name.clone();
        for tool in tools {
            let description = Definition::parse(&tool.definition)
                .ok()
                .and_then(|own| own.description().map(std::borrow::Cow::into_owned));
            let shown = match description.filter(|text| !text.trim().is_empty()) {
                Some(description) => format!("{} ({})", tool.name, description.trim()),
                None => tool.name.clone(),
            };
            rows.push([std::mem::take(&mut name), shown]);
        }
        if tools.is_empty() {
            rows.push([name, String::new()]);
        }
    }
    table(["NAME", "TOOLS"], &rows, columns())
}

fn json_text(rows: &[(ServerRow, Vec<ToolRow>)], with_tools: bool) -> String {
    let servers: Vec<Value> = rows
        .iter()
        .map(|(row, tools)| {
            let mut server = json!({"name": row.name, "version": row.version, "title": row.title, "description": row.description,
                "status": row.status.name(), "tool_count": row.tool_count});
            if with_tools && let Some(members) = server.as_object_mut() {
                let tools: Vec<Value> = tools
                    .iter()
                    .map(|tool| {
                        let definition = Definition::parse(&tool.definition).ok();
                        let effect = definition.as_ref().map(|own| badge(own.annotations().effect()));
                        let description = definition.as_ref().and_then(|own| own.description().map(std::borrow::Cow::into_owned));
                        json!({"name": tool.name, "description": description, "effect": effect, "digest": tool.digest})
                    })
                    .collect();
                members.insert("tools".to_owned(), Value::from(tools));
            }
            server
        })
        .collect();
    json!({ "servers": servers }).to_string()
}
