//! Score of the prover on labelled pairs, beside the published figures of other provers. A witness counts as valid
//! only if two freshly compiled validators confirm it.

use std::fmt::Write as _;
use std::io::BufRead;

use serde::Deserialize;
use serde_json::Value;

use crate::batch::Pair;
use crate::dialect::Dialect;
use crate::document::{Document, Limits};
use crate::judge::{Direction, Prover, Verdict};

/// Pair with its true verdict.
#[derive(Debug, Deserialize)]
struct Labelled {
    #[serde(flatten)]
    pair: Pair,
    truth: String,
}

/// Pair that was not answered as labelled.
#[derive(Clone, Debug)]
pub struct Miss {
    /// Identifier of the pair.
    pub id: Value,
    /// Label of the pair.
    pub truth: String,
    /// Answer of the prover.
    pub answer: String,
}

/// Score of one file.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// File name without its extension.
    pub name: String,
    /// Number of pairs.
    pub pairs: usize,
    /// Pairs answered as labelled.
    pub right: usize,
    /// Breaking pairs that were answered *compatible*.
    pub false_compatible: usize,
    /// Compatible pairs that were answered *breaking*.
    pub false_breaking: usize,
    /// Pairs that were answered *unknown*.
    pub unknown: usize,
    /// *Breaking* answers whose witness was not confirmed by fresh validators.
    pub bad_witness: usize,
    /// Microseconds of each pair, sorted.
    pub micros: Vec<u64>,
    /// All pairs that were not answered as labelled.
    pub misses: Vec<Miss>,
}

impl Score {
    /// Returns the percentile of the time per pair, in microseconds; `share` is between 0 and 1.
    pub fn percentile(&self, share: f64) -> u64 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let at = ((self.micros.len() as f64 - 1.0).max(0.0) * share) as usize;
        self.micros.get(at).copied().unwrap_or(0)
    }

    fn add(&mut self, labelled: &Labelled, prover: &Prover) {
        self.pairs += 1;
        let mut miss = |answer: String| {
            self.misses.push(Miss { id: labelled.pair.id.clone(), truth: labelled.truth.clone(), answer });
        };
        let judgement = match labelled.pair.judge(prover) {
            Ok(judgement) => judgement,
            Err(fault) => {
                self.unknown += 1;
                miss(format!("fault: {fault}"));
                return;
            }
        };
        self.micros.push(judgement.micros);
        let breaks = labelled.truth == "breaking";
        match judgement.verdict {
            Verdict::Unknown(obstacle) => {
                self.unknown += 1;
                miss(format!("unknown: {obstacle}"));
            }
            Verdict::Compatible(proof) if breaks => {
                self.false_compatible += 1;
                miss(format!("compatible: {proof:?}"));
            }
            Verdict::Compatible(_) => self.right += 1,
            Verdict::Breaking(witness) => {
                if !confirmed(&labelled.pair, &witness.value, prover) {
                    self.bad_witness += 1;
                    miss(format!("unconfirmed witness {}", witness.value));
                }
                if breaks {
                    self.right += 1;
                } else {
                    self.false_breaking += 1;
                    self.misses.push(Miss {
                        id: labelled.pair.id.clone(),
                        truth: labelled.truth.clone(),
                        answer: format!("breaking: {}", witness.value),
                    });
                }
            }
        }
    }
}

fn confirmed(pair: &Pair, witness: &Value, prover: &Prover) -> bool {
    let dialect = pair.dialect.as_deref().and_then(Dialect::from_name).unwrap_or_default();
    let valid = |schema: &Value| {
        let document = Document::admit(schema, dialect, &Limits::default()).ok()?;
        let validator = document.validator(prover.options().assert_formats).ok()?;
        Some(validator.is_valid(witness))
    };
    let (old, new) = (valid(&pair.old), valid(&pair.new));
    match pair.direction {
        Direction::Input => old == Some(true) && new == Some(false),
        Direction::Output => new == Some(true) && old == Some(false),
    }
}

/// Scores the labelled pairs of one file.
///
/// # Errors
/// Reading fails, or a line is not a labelled pair.
pub fn score(name: &str, input: impl BufRead + Send, prover: &Prover) -> std::io::Result<Score> {
    prover.on_large_stack(|| {
        let mut score = Score { name: name.to_owned(), ..Score::default() };
        for line in input.lines() {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            let labelled: Labelled = serde_json::from_str(&line)?;
            score.add(&labelled, prover);
        }
        score.micros.sort_unstable();
        Ok(score)
    })
}

/// Name and published figures: right %, false-compatible, false-breaking, undecided.
type Published = (&'static str, [Option<(f64, u32, u32, u32)>; 4]);

/// Published figures of other provers for jsonsubschema, jsoncompat, containment-2020-12 and containment-draft7.
const PEERS: [Published; 5] = [
    (
        "jsonschema 0.60.2 covers",
        [Some((79.3, 0, 4, 110)), Some((88.0, 0, 0, 20)), Some((94.2, 0, 0, 180)), Some((95.7, 0, 0, 100))],
    ),
    (
        "jsoncompat 0.5.0",
        [Some((74.2, 2, 2, 138)), Some((88.6, 0, 0, 19)), Some((93.1, 0, 2, 212)), Some((85.5, 1, 2, 333))],
    ),
    ("subschema 0.1 (z3)", [Some((97.8, 1, 11, 0)), Some((84.9, 0, 2, 23)), Some((87.1, 24, 4, 371)), None]),
    (
        "jsonsubschema 0.0.8",
        [
            Some((99.6, 1, 1, 0)),
            Some((39.8, 15, 9, 76)),
            Some((21.5, 12, 10, 2405)),
            Some((24.2, 10, 10, 1734)),
        ],
    ),
    (
        "getsentry 0.1.8",
        [
            Some((66.7, 66, 81, 36)),
            Some((54.8, 35, 24, 16)),
            Some((28.0, 820, 287, 1117)),
            Some((28.4, 594, 249, 813)),
        ],
    ),
];

/// Formats the scores by file and in total, beside the published figures.
pub fn table(scores: &[Score]) -> String {
    let mut text = String::new();
    let head = "file                     pairs   right %  false-comp  false-break  unknown  bad-witn   median µs    p99 µs    max µs";
    let _ = writeln!(text, "{head}");
    let mut all = Score { name: "all".to_owned(), ..Score::default() };
    for score in scores {
        row(&mut text, score);
        all.pairs += score.pairs;
        all.right += score.right;
        all.false_compatible += score.false_compatible;
        all.false_breaking += score.false_breaking;
        all.unknown += score.unknown;
        all.bad_witness += score.bad_witness;
        all.micros.extend(&score.micros);
    }
    all.micros.sort_unstable();
    row(&mut text, &all);
    let _ = writeln!(text, "\npublished peers, right % / false-compatible / false-breaking / undecided:");
    let _ = writeln!(
        text,
        "{:<26}{:>22}{:>22}{:>22}{:>22}",
        "", "jsonsubschema 550", "jsoncompat 166", "2020-12 3,090", "draft-07 2,314"
    );
    let own = ["jsonsubschema", "jsoncompat", "containment-2020-12", "containment-draft7"].map(|name| {
        let mut sum = (0.0, 0u32, 0u32, 0u32, 0usize);
        for score in scores.iter().filter(|score| score.name.starts_with(name)) {
            sum.4 += score.pairs;
            sum.0 += score.right as f64;
            sum.1 += u32::try_from(score.false_compatible).unwrap_or(u32::MAX);
            sum.2 += u32::try_from(score.false_breaking).unwrap_or(u32::MAX);
            sum.3 += u32::try_from(score.unknown).unwrap_or(u32::MAX);
        }
        (sum.4 > 0).then(|| (100.0 * sum.0 / sum.4 as f64, sum.1, sum.2, sum.3))
    });
    for (name, figures) in [("toolcrib (this run)", own)].iter().chain(&PEERS) {
        let cells = figures.map(|figure| match figure {
            Some((right, compatible, breaking, open)) => format!("{right:.1}/{compatible}/{breaking}/{open}"),
            None => "–".to_owned(),
        });
        let _ = writeln!(text, "{name:<26}{:>22}{:>22}{:>22}{:>22}", cells[0], cells[1], cells[2], cells[3]);
    }
    text
}

fn row(text: &mut String, score: &Score) {
    let share = 100.0 * score.right as f64 / score.pairs.max(1) as f64;
    let _ = writeln!(
        text,
        "{:<22}{:>8}{:>10.2}{:>12}{:>13}{:>9}{:>10}{:>12}{:>10}{:>10}",
        score.name,
        score.pairs,
        share,
        score.false_compatible,
        score.false_breaking,
        score.unknown,
        score.bad_witness,
        score.percentile(0.5),
        score.percentile(0.99),
        score.percentile(1.0)
    );
}
