//! How well tools are found: judged questions over real tools, beside plain BM25 over the same text in the same run.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use serde::Deserialize;
use toolcrib_engine::search::eval::{Figures, Judged};
use toolcrib_engine::search::plain::PlainIndex;
use toolcrib_engine::search::{Hit, Index};

use super::collection::tools_of;
use crate::Outcome;
use crate::exit::{Exit, Failure, print};

/// Results of which a ranking is judged.
const JUDGED_MAX: usize = 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    query: String,
    right: Vec<String>,
}

pub(super) fn run(queries: &Path, data: &Path) -> Outcome {
    let unreachable = |error| Failure::new(Exit::Unreachable, error);
    let questions = questions(queries).map_err(unreachable)?;
    let tools = tools_of(data).map_err(|error| {
        let error =
            error.context("the tools that the questions are about could not be read; nothing was measured");
        unreachable(error).hint("they are no part of this repository: name their folder with --data")
    })?;
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
