//! `toolcrib search [FILE] WORDS…` finds tools in a file or in the catalogue. `toolcrib search --eval` measures the
//! ranking on judged questions, with plain BM25 over the same text as the baseline.

mod catalogue;
mod collection;
mod evaluation;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use serde_json::{Value, json};
use toolcrib_contract::{Definition, signature};
use toolcrib_engine::search::{Index, Text};

use crate::exit::{Exit, Failure, print};
use crate::form::{Form, Format};
use crate::show::badge;
use crate::{Outcome, source};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Words that describe the tool, optionally after a file of definitions; without a file, the catalogue is searched.
    #[arg(conflicts_with = "eval")]
    words: Vec<String>,
    #[command(flatten)]
    filters: catalogue::Filters,
    /// At most so many results.
    #[arg(long, default_value_t = 10)]
    limit: usize,
    #[command(flatten)]
    form: Form,
    /// Measure instead: hit@1, recall@5, recall@10 and MRR over judged questions.
    #[arg(long, conflicts_with = "format")]
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
        return evaluation::run(&args.queries, &args.data);
    }
    let (file, words) = match args.words.split_first() {
        Some((first, rest)) if Path::new(first).is_file() || first.ends_with(".json") => (first, rest),
        _ => return catalogue::run(&args.words, args.limit, args.form, &args.filters),
    };
    if words.is_empty() {
        return Err(Failure::new(Exit::Usage, anyhow!("what should the tools of {file} do?")));
    }
    let definitions = source::definitions(Path::new(file))?;
    let index = Index::build(definitions.iter().map(|definition| Text::of(definition, "")));
    let hits = index.search(&words.join(" "), args.limit, |_| true);
    let found = hits.iter().filter_map(|hit| Some((definitions.get(hit.at)?, hit.score)));
    print(&match args.form.format() {
        Format::Terminal => found.map(|(definition, _)| format!("{}\n", line(definition))).collect(),
        Format::Json => {
            let found = found.map(|(definition, score)| {
                json!({"name": definition.name(), "signature": signature(definition), "score": score,
                    "description": definition.description(), "effect": badge(definition.annotations().effect())})
            });
            Value::Array(found.collect()).to_string()
        }
    })?;
    Ok(Exit::Nothing)
}

fn line(definition: &Definition) -> String {
    format!("{:<12} {}", badge(definition.annotations().effect()), signature(definition))
}
