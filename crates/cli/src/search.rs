//! `toolcrib search FILE WORDS…` finds tools; `toolcrib search --eval` measures the ranking over judged questions,
//! beside plain BM25 over the same text in the same run.

mod collection;
mod evaluation;

use std::path::{Path, PathBuf};

use toolcrib_contract::signature;
use toolcrib_engine::search::{Index, Text};

use crate::exit::{Exit, print};
use crate::{Outcome, source};

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
        return evaluation::run(&args.queries, &args.data);
    }
    let definitions = source::definitions(args.file.as_deref().unwrap_or(Path::new("")))?;
    let index = Index::build(definitions.iter().map(|definition| Text::of(definition, "")));
    let hits = index.search(&args.words.join(" "), args.limit, |_| true);
    let found = hits.iter().filter_map(|hit| definitions.get(hit.at));
    let lines: String = found.map(|definition| format!("{}\n", signature(definition))).collect();
    print(&lines)?;
    Ok(Exit::Nothing)
}
