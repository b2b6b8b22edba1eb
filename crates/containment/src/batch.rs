//! Batch mode: reads one `{"id","old","new","direction","dialect"?}` per line and writes one answer per line, in the
//! same order. A line that cannot be judged is answered *unknown* with its fault and counted as faulty, so that the
//! caller can fail without losing the other answers.

use std::io::{BufRead, Read as _, Write};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::dialect::Dialect;
use crate::error::SchemaError;
use crate::judge::{Direction, Judgement, Prover, Verdict};
use crate::limits::BATCH_LINE_BYTES_MAX;

/// Two versions of a schema to compare.
#[derive(Clone, Debug, Deserialize)]
pub struct Pair {
    /// Identifier, repeated in the answer; any JSON.
    #[serde(default)]
    pub id: Value,
    /// The old version.
    pub old: Value,
    /// The new version.
    pub new: Value,
    /// Use of the schema, which decides the direction of the comparison.
    #[serde(default)]
    pub direction: Direction,
    /// Name of the dialect for a schema without `$schema`.
    #[serde(default)]
    pub dialect: Option<String>,
}

/// Reason why a line could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum PairFault {
    /// The line is not a pair in JSON.
    #[error("not a pair: {0}")]
    NotAPair(#[from] serde_json::Error),
    /// The `dialect` is not one of the five names.
    #[error("unknown dialect {0:?}")]
    UnknownDialect(String),
    /// One of the schemas is unusable.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The line exceeds the limit.
    #[error("line over {BATCH_LINE_BYTES_MAX} bytes")]
    TooLong,
}

/// Line that could not be judged.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct LineFault {
    /// Line number, counted from one.
    pub line: usize,
    /// Reason.
    pub fault: PairFault,
}

impl Pair {
    /// Judges the pair on the current thread, whose stack must be large.
    ///
    /// # Errors
    /// The dialect is unknown or a schema is unusable.
    pub fn judge(&self, prover: &Prover) -> Result<Judgement, PairFault> {
        let dialect = match &self.dialect {
            None => Dialect::default(),
            Some(name) => Dialect::from_name(name).ok_or_else(|| PairFault::UnknownDialect(name.clone()))?,
        };
        let (producer, consumer) = match self.direction {
            Direction::Input => (&self.old, &self.new),
            Direction::Output => (&self.new, &self.old),
        };
        Ok(prover.judge_here(producer, consumer, (dialect, dialect))?)
    }
}

/// Returns the answer as one line of the batch.
pub fn answer(id: &Value, judgement: &Judgement) -> Value {
    let micros = judgement.micros;
    match &judgement.verdict {
        Verdict::Compatible(_) => json!({"id": id, "verdict": "compatible", "micros": micros}),
        Verdict::Breaking(witness) => {
            json!({"id": id, "verdict": "breaking", "witness": witness.value, "micros": micros,
                "reason": witness.refusal.message})
        }
        Verdict::Unknown(obstacle) => {
            json!({"id": id, "verdict": "unknown", "micros": micros, "reason": obstacle.to_string()})
        }
    }
}

/// Answers every line; returns the lines that could not be judged.
///
/// # Errors
/// Reading or writing fails.
pub fn run(
    mut input: impl BufRead + Send,
    mut output: impl Write + Send,
    prover: &Prover,
) -> std::io::Result<Vec<LineFault>> {
    prover.on_large_stack(|| {
        let mut faults = Vec::new();
        let mut line = Vec::new();
        for at in 0.. {
            let Some(is_whole) = next_line(&mut input, &mut line)? else { break };
            if is_whole && line.trim_ascii().is_empty() {
                continue;
            }
            let judged = if is_whole { judged(&line, prover) } else { Err(too_long()) };
            let written = match judged {
                Ok(written) => written,
                Err(faulty) => {
                    let (id, fault) = *faulty;
                    let written =
                        json!({"id": id, "verdict": "unknown", "micros": 0, "reason": fault.to_string()});
                    faults.push(LineFault { line: at + 1, fault });
                    written
                }
            };
            writeln!(output, "{written}")?;
        }
        output.flush()?;
        Ok(faults)
    })
}

/// Reads the next line, cut at the limit. Returns `None` at the end of input, else `true` if the line is complete.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<Option<bool>> {
    line.clear();
    let mut bounded = input.by_ref().take(BATCH_LINE_BYTES_MAX as u64 + 1);
    if bounded.read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    let is_whole = line.ends_with(b"\n") || line.len() <= BATCH_LINE_BYTES_MAX;
    if !is_whole {
        input.skip_until(b'\n')?;
    }
    Ok(Some(is_whole))
}

fn too_long() -> Box<(Value, PairFault)> {
    Box::new((Value::Null, PairFault::TooLong))
}

fn judged(line: &[u8], prover: &Prover) -> Result<Value, Box<(Value, PairFault)>> {
    let pair: Pair = serde_json::from_slice(line).map_err(|error| {
        let id = serde_json::from_slice::<Value>(line).ok().and_then(|value| value.get("id").cloned());
        Box::new((id.unwrap_or_default(), error.into()))
    })?;
    match pair.judge(prover) {
        Ok(judgement) => Ok(answer(&pair.id, &judgement)),
        Err(fault) => Err(Box::new((pair.id, fault))),
    }
}
