//! Evaluation of the ranking: judged questions over real tools, with plain BM25 over the same text as the baseline.

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

/// Number of results per question that are judged.
const JUDGED_MAX: usize = 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    query: String,
    right: Vec<String>,
    /// Held-out question: written after the ranking was settled and never used to tune it.
    #[serde(default)]
    held_out: bool,
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
    let figures = |search: &dyn Fn(&str) -> Vec<Hit>, held_out_only: bool| {
        let judged = questions.iter().zip(&right).filter(|(it, _)| it.held_out || !held_out_only);
        let rankings: Vec<(Vec<usize>, &[usize])> = judged
            .map(|(it, right)| (search(&it.query).iter().map(|hit| hit.at).collect(), right.as_slice()))
            .collect();
        Figures::of(rankings.iter().map(|(ranking, right)| Judged { ranking, right }))
    };
    let rank = |query: &str| index.search(query, JUDGED_MAX, |_| true);
    let rank_plainly = |query: &str| plain.search(query, JUDGED_MAX);
    let described = tools.iter().filter(|(_, text)| !text.description.is_empty()).count();
    let mut out = format!("{} tools, {described} of them with a description\n", tools.len());
    let mut beaten = false;
    for (title, held_out_only) in [("all questions", false), ("those held out", true)] {
        let (ours, theirs) = (figures(&rank, held_out_only), figures(&rank_plainly, held_out_only));
        out.push_str(&table(title, ours, theirs));
        if !held_out_only {
            beaten = is_better(ours, theirs);
        }
    }
    out.push_str(if beaten { "\nbetter by every figure\n" } else { "\nNOT better by every figure\n" });
    print(&out)?;
    Ok(if beaten { Exit::Nothing } else { Exit::Findings })
}

fn table(title: &str, ours: Figures, theirs: Figures) -> String {
    let heading = format!("{title}, {}", ours.questions);
    let mut out =
        format!("\n{heading:<22} {:>7} {:>9} {:>10} {:>7}\n", "hit@1", "recall@5", "recall@10", "MRR");
    for (name, figures) in [("search_tools", ours), ("plain BM25", theirs)] {
        let Figures { hit_1, recall_5, recall_10, mrr, .. } = figures;
        out.push_str(&format!("{name:<22} {hit_1:>7.3} {recall_5:>9.3} {recall_10:>10.3} {mrr:>7.3}\n"));
    }
    out
}

fn is_better(ours: Figures, theirs: Figures) -> bool {
    ours.hit_1 > theirs.hit_1
        && ours.recall_5 > theirs.recall_5
        && ours.recall_10 > theirs.recall_10
        && ours.mrr > theirs.mrr
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
