//! Searches the catalogue by words in names, prose and parameters, filtered by a tool's effect.

use serde_json::json;
use toolcrib_contract::{Definition, signature};
use toolcrib_store::StoreError;
use toolcrib_store::catalogue::ToolQuery;

use crate::Outcome;
use crate::catalogue::{Place, unreachable};
use crate::exit::{Exit, print};
use crate::form::{Form, Format};
use crate::show::badge;
use crate::table::{columns, table};

/// Filters of a search in the catalogue.
#[derive(Debug, clap::Args)]
pub(crate) struct Filters {
    /// Only tools that say they change nothing.
    #[arg(long)]
    read_only: bool,
    /// Only tools that may destroy; unannotated ones are among them.
    #[arg(long, conflicts_with = "read_only")]
    destructive: bool,
    /// Only tools with an output schema.
    #[arg(long)]
    has_output: bool,
    /// Only tools of servers with this in their names.
    #[arg(long)]
    server: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(words: &[String], limit: usize, form: Form, filters: &Filters) -> Outcome {
    let query = ToolQuery {
        words: words.to_vec(),
        server: filters.server.clone(),
        read_only: filters.read_only.then_some(true),
        destructive: filters.destructive.then_some(true),
        has_output: filters.has_output.then_some(true),
        limit: u32::try_from(limit).unwrap_or(u32::MAX),
        offset: 0,
    };
    let store = filters.place.open()?;
    let hits =
        store.read::<_, StoreError, _>(move |db| db.search(&query)).wait_blocking().map_err(unreachable)?;
    let found: Vec<(&str, Definition)> = hits
        .iter()
        .filter_map(|hit| Some((hit.server.as_str(), Definition::parse(&hit.definition).ok()?)))
        .collect();
    print(&match form.format() {
        Format::Terminal => {
            let rows: Vec<[String; 3]> = found
                .iter()
                .map(|(server, tool)| {
                    [(*server).to_owned(), badge(tool.annotations().effect()).to_owned(), signature(tool)]
                })
                .collect();
            table(["SERVER", "EFFECT", "TOOL"], &rows, columns())
        }
        Format::Json => {
            let tools: Vec<_> = found
                .iter()
                .map(|(server, tool)| json!({"server": server, "tool": tool.name(), "effect": badge(tool.annotations().effect()), "signature": signature(tool)}))
                .collect();
            json!({ "tools": tools }).to_string()
        }
    })?;
    Ok(Exit::Nothing)
}
